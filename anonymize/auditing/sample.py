"""Risk beyond the verdict: what subsets of the quasi-identifiers give away, what a sample says of its population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anonymize.auditing.table import Audited
from anonymize.errors import UsageError
from anonymize.risk import FrequencySet, analyse, estimate, population_uniques


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
    fill = None if table.null_missing and "" not in table.spec.input.missing else ""
    frequency = FrequencySet.of(
        table.source.scan(), list(table.shown.values()), fill=fill, weight=weight, units=table.units
    )
    found: dict[str, Any] = {}
    fraction = wanted.fraction
    if weight is not None:
        sample = estimate(frequency, threshold)
        found["sample"] = sample.as_dict()
        fraction = min(sample.rows / sample.population, 1.0) if fraction is None else fraction
    if fraction is not None:
        found["population"] = population_uniques(frequency.counts, fraction).as_dict()
    if wanted.subsets is not None:
        found |= _subsets(table, frequency, wanted.subsets)
    if weight is not None and table.spec.privacy.missing == "wildcard":
        found["wildcard"] = {"sample": _wildcard(table, weight, fill, threshold)}
    return found


def _subsets(table: Audited, frequency: FrequencySet, size: int) -> dict[str, Any]:
    try:
        return analyse(frequency, list(table.shown), size or None).as_dict()
    except ValueError as error:
        raise UsageError(f"--subsets: {error}") from None


def _wildcard(table: Audited, weight: str, fill: str | None, threshold: float) -> dict[str, Any]:
    """The sample's risks where a missing or suppressed cell matches anything; of bounds, each column by itself."""
    wild = [*table.spec.input.missing, table.spec.output.suppressed]
    frequency = FrequencySet.of(
        table.source.scan(), [[name] for name in table.columns], fill=fill, wild=wild, weight=weight, units=table.units
    )
    return estimate(frequency, threshold, wildcard=True).as_dict()


def merged(risk: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """The block `risk` with what was found."""
    block = {**risk, **found}
    if "wildcard" in found:
        block["wildcard"] = {**risk["wildcard"], **found["wildcard"]}
    return block
