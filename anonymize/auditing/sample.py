"""Risk beyond the verdict: what subsets of the quasi-identifiers give away, what a sample says of its population."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anonymize.auditing.table import Audited
from anonymize.errors import DataError, Problem, UsageError
from anonymize.people import people
from anonymize.risk import (
    Analysis,
    Text,
    TextFrequencySet,
    analyse,
    journalist,
    population_uniques,
    record_risks,
    sampled,
)
from anonymize.table import OutputFile


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


def deeper(table: Audited, further: Deeper, threshold: float, records: OutputFile | None = None) -> dict[str, Any]:
    """Keys of the report's block `risk`: `sample` where there are weights, `journalist` with a population,
    `population` where the fraction is known, `subsets` and `special_uniques` on request; under `wildcard`, `sample`
    in that meaning of missing. `records`: where the risk of every row is written.

    Raises UsageError for more subsets than can be looked at, DataError for a population that cannot be one.
    """
    weight = table.spec.weight_column
    if weight is None and further == Deeper() and records is None:
        return {}
    text = Text(table.frame, list(table.columns_of.values()), table.spec, table.missing, table.units)
    frequency = text.frequency(by_row=records is not None)
    risks = sampled(text, threshold, frequency)
    if further.population is not None:
        risks["journalist"] = _journalist(table, text, further.population, threshold)
    analysis = _analysed(table, frequency, further.subsets, cells=records is not None)
    if records is not None:
        risk = record_risks(text, list(table.columns_of), frequency, analysis, further.fraction)
        records.write_text(risk.write_csv())
    fraction = further.fraction
    if fraction is None and "sample" in risks:
        fraction = min(frequency.rows / risks["sample"]["population"], 1.0)
    if fraction is not None:
        risks["population"] = population_uniques(frequency.counts, fraction).as_dict()
    if further.subsets is not None and analysis is not None:
        risks |= analysis.as_dict()
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


def _analysed(table: Audited, frequency: TextFrequencySet, size: int | None, *, cells: bool) -> Analysis | None:
    """The subsets of at most a size; None where they are not looked at. Raises UsageError for too many."""
    if size is None and not cells:
        return None
    try:
        return analyse(frequency, list(table.columns_of), size or None, cells=cells)
    except ValueError as error:
        raise UsageError(f"--subsets: {error}") from None
