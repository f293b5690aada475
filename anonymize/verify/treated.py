"""Twins of the steps that change values: what each of them promises, measured again from the input and the release.

A twin is a function from the settings of a step, what its manifest declares, and the columns before and after, row by
row, to figures, and to sentences about what is wrong. Numbers come as Float64, everything else as text, null where a
value is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import polars as pl

from anonymize.claims import Result
from anonymize.verify.aggregated import microaggregation
from anonymize.verify.both import BothColumns, MeasuredTreatment, Settings, Twin
from anonymize.verify.exchanged import random_swap, rank_swap, record_swap, shuffle
from anonymize.verify.noised import noise
from anonymize.verify.shifted import date_shift
from anonymize.verify.transitions import pram
from anonymize.verify.verdict import Verdict


def with_changed(verdict: Verdict, quasi_identifiers: Collection[str], changed: Mapping[str, str]) -> Verdict:
    """A verdict on a table of which some columns do not hold what they held: `changed`, by name the method.

    What is required of a sensitive attribute that was changed is not shown by the table, and nothing that is required
    of classes where a quasi-identifier was changed by what leaves no rows alike.
    """
    strange = [name for name in quasi_identifiers if name in changed and changed[name] not in ALIKE]

    def judged(result: Result) -> Result:
        name = strange[0] if strange else result.attribute
        if name is None or name not in changed:
            return result
        return result.unshown(f"{name} was changed by {changed[name]}, and the table does not show what it was")

    return replace(verdict, results=tuple(map(judged, verdict.results))) if changed else verdict


ALIKE = ("microaggregation",)
"""Methods whose rows read the same: they count for k as those of any class do."""

TREATMENT_TWINS: dict[str, Twin] = {
    "microaggregation": microaggregation,
    "pram": pram,
    "rank-swap": rank_swap,
    "random-swap": random_swap,
    "record-swap": record_swap,
    "noise": noise,
    "shuffle": shuffle,
    "date-shift": date_shift,
}
"""By the name of the method."""


def measure_treatment(
    method: str,
    settings: Settings,
    declared: Settings,
    before: Mapping[str, pl.Series],
    after: Mapping[str, pl.Series],
) -> MeasuredTreatment:
    """What a step comes to in the release. `before`: its columns in the input, also those that it only looks at;
    `after`: those that it changed, row by row. Raises KeyError for a method without a twin."""
    return TREATMENT_TWINS[method](settings, declared, BothColumns(before, after))
