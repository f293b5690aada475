"""Risk beyond the verdict: what subsets of the quasi-identifiers give away, what a sample says of its population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anonymize.auditing.table import Audited
from anonymize.errors import UsageError
from anonymize.risk import FrequencySet, Text, analyse, population_uniques, sampled


@dataclass(frozen=True)
class Deeper:
    """What else is asked. `subsets`: the largest size of the subsets that are looked at (0: as many as are feasible;
    None: no subsets). `fraction`: the share of the population that the table is a sample of."""

    subsets: int | None = None
    fraction: float | None = None

    def check(self) -> None:
        """Raises UsageError for a fraction that is none."""
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise UsageError("--sampling-fraction: is above 0 and at most 1")


def deeper(table: Audited, wanted: Deeper, threshold: float) -> dict[str, Any]:
    """Keys of the report's block `risk`: `sample` where there are weights, `population` where the fraction is known,
    `subsets` and `special_uniques` where they are asked for; under `wildcard`, `sample` in that meaning of missing.

    Raises UsageError for more subsets than can be looked at.
    """
    weight = table.spec.sampling_weight
    if weight is None and wanted.subsets is None and wanted.fraction is None:
        return {}
    text = Text(table.source.scan(), list(table.shown.values()), table.spec, table.null_missing, table.units)
    frequency = text.frequency()
    found = sampled(text, threshold, frequency)
    fraction = wanted.fraction
    if fraction is None and "sample" in found:
        fraction = min(frequency.rows / found["sample"]["population"], 1.0)
    if fraction is not None:
        found["population"] = population_uniques(frequency.counts, fraction).as_dict()
    if wanted.subsets is not None:
        found |= _subsets(table, frequency, wanted.subsets)
    return found


def _subsets(table: Audited, frequency: FrequencySet, size: int) -> dict[str, Any]:
    try:
        return analyse(frequency, list(table.shown), size or None).as_dict()
    except ValueError as error:
        raise UsageError(f"--subsets: {error}") from None
