"""Twins of the steps that change values: what each of them promises, measured again from the input and the release.

A twin is a function from the settings of a step, what its manifest declares, and the columns before and after, row by
row, to figures, and to sentences about what is wrong. Numbers come as Float64, everything else as text, null where a
value is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from anonymize.claims import Result
from anonymize.verify.drawn import noise, pram
from anonymize.verify.moved import (
    BothColumns,
    MeasuredTreatment,
    Settings,
    Twin,
    date_shift,
    decimals_of,
    random_swap,
    rank_swap,
    record_swap,
    shuffle,
)
from anonymize.verify.verdict import Verdict

# --- microaggregation -------------------------------------------------------------------------------------------------
# Twin of microaggregation: rows that read the same are at least k, and show the means of what they had.

CLOSE = 1e-9
"""How far, relative to the largest number, sums may be from each other that are the same."""


def microaggregation(settings: Settings, declared: Settings, columns: BothColumns) -> MeasuredTreatment:
    """Rows that read the same are at least k; means are those of the rows that show them.

    Groups are found by what they show, so that two that show the same are one. Of columns that are grouped each by
    itself, each is looked at by itself.
    """
    names, wrong = list(columns.after), []
    figures: dict[str, Any] = {}
    after = pl.DataFrame({**columns.after, **{f"by {n}": columns.before[n] for n in settings["by"]}})
    pooled = settings["small"] == "pool"
    parts = [] if pooled else [f"by {name}" for name in settings["by"]]
    sets = [[name] for name in names] if settings["grouping"] == "individual-ranking" else [names]
    for own in sets:
        sizes = after.group_by([*own, *parts]).len()["len"]
        figures[", ".join(own)] = {"groups": len(sizes), "smallest": sizes.min(), "largest": sizes.max()}
        fewest = min(sizes.to_list(), default=0)
        if settings["small"] != "keep" and fewest < settings["k"]:
            wrong.append(f"{', '.join(own)}: a group has {fewest} rows")
        wrong += [each for name in own for each in _not_means(name, [*own, *parts], after, settings, columns)]
    figures["total_kept"] = {
        name: _same_total(columns, name, _half_step(settings, columns.before[name])) for name in names
    }
    return MeasuredTreatment(figures, wrong)


def _not_means(
    name: str, groups: list[str], after: pl.DataFrame, settings: Settings, columns: BothColumns
) -> list[str]:
    """Where a column does not show the means of its groups, as far as the settings say that it does."""
    if columns.missing_moved(name) and settings["missing"] == "refuse":
        return [f"{name}: missing values are not where they were"]
    if settings["show"] != "mean" or settings["weighted"]:
        return []
    both = after.with_columns(before=columns.before[name]).filter(pl.col(name).is_not_null())
    means = both.group_by(groups).agg(mean=pl.col("before").mean(), value=pl.col(name).first())
    scale = both.select(pl.col("before").abs().max()).item() or 1.0
    allowed = CLOSE * scale + _half_step(settings, columns.before[name])
    off = means.select(((pl.col("mean") - pl.col("value")).abs() > allowed).sum()).item()
    return [f"{name}: {off} groups do not show their mean"] if off else []


def _half_step(settings: Settings, before: pl.Series) -> float:
    """By how much rounding may change a mean: one decimal more is shown than the column has, unless the step says how
    many."""
    decimals = decimals_of(before)
    shown = settings["digits"] if settings["digits"] is not None else None if decimals is None else decimals + 1
    return 0.0 if shown is None else 0.5 * 10.0**-shown


def _same_total(columns: BothColumns, name: str, rounding: float) -> bool:
    """Whether a column adds up to what it did, but for what rounding each row may change."""
    before, after = float(columns.before[name].sum()), float(columns.after[name].sum())
    slack = rounding * len(columns.before[name])
    return abs(before - after) <= CLOSE * max(abs(before), abs(after), 1.0) + slack


# --- the registry -----------------------------------------------------------------------------------------------------


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
