"""Risk beyond the verdict: what subsets of the quasi-identifiers give away, what a sample says of its population."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anonymize.auditing.table import Audited
from anonymize.errors import DataError, Problem, UsageError
from anonymize.people import people
from anonymize.risk import Text, TextFrequencySet, analyse, journalist, population_uniques, sampled


@dataclass(frozen=True)
class Deeper:
    """What else is measured. `subsets`: the largest size of the subsets that are looked at (0: as many as are
    feasible; None: no subsets). `fraction`: the share of the population that the table is a sample of. `population`:
    a table of the population, with the same quasi-identifiers."""

    subsets: int | None = None
    fraction: float | None = None
    population: str | Path | None = None

    def check(self) -> None:
        """Raises UsageError for a number that is not a fraction."""
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise UsageError("--sampling-fraction: is above 0 and at most 1")


def deeper(table: Audited, further: Deeper, threshold: float) -> dict[str, Any]:
    """Keys of the report's block `risk`: `sample` where there are weights, `journalist` with a population,
    `population` where the fraction is known, `subsets` and `special_uniques` on request; under `wildcard`, `sample`
    in that meaning of missing.

    Raises UsageError for more subsets than can be looked at, DataError for a population that cannot be one.
    """
    weight = table.spec.weight_column
    if weight is None and further == Deeper():
        return {}
    text = Text(table.frame, list(table.columns_of.values()), table.spec, table.missing, table.units)
    frequency = text.frequency()
    risks = sampled(text, threshold, frequency)
    if further.population is not None:
        risks["journalist"] = _journalist(table, text, further.population, threshold)
    fraction = further.fraction
    if fraction is None and "sample" in risks:
        fraction = min(frequency.rows / risks["sample"]["population"], 1.0)
    if fraction is not None:
        risks["population"] = population_uniques(frequency.counts, fraction).as_dict()
    if further.subsets is not None:
        risks |= _subsets(table, frequency, further.subsets)
    return risks


def _journalist(table: Audited, text: Text, path: str | Path, threshold: float) -> dict[str, Any]:
    """Raises DataError for a population without a quasi-identifier, or without somebody whom the table has."""
    with ExitStack() as opened:
        measured = journalist(text, people(table.spec, path, table.columns_of, opened), threshold)
    if measured.absent:
        hint = "everybody who is in the table has to be in the population, with original values or with those shown"
        message = f"has nobody under what {measured.absent} rows of {table.source.name} show"
        raise DataError(Problem(message, file=str(path), hint=hint))
    return {name: value for name, value in measured.as_dict().items() if name != "absent"}


def _subsets(table: Audited, frequency: TextFrequencySet, size: int) -> dict[str, Any]:
    try:
        return analyse(frequency, list(table.columns_of), size or None).as_dict()
    except ValueError as error:
        raise UsageError(f"--subsets: {error}") from None
