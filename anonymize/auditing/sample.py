"""Risk beyond the verdict: what subsets of the quasi-identifiers give away, what a sample says of its population."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from anonymize.auditing import Audited
from anonymize.declared import people
from anonymize.errors import DataError, Problem, UsageError
from anonymize.records import dataclass
from anonymize.risk import (
    Analysis,
    Text,
    TextFrequencySet,
    analyse,
    households,
    journalist,
    population_uniques,
    record_risks,
    sampled,
)
from anonymize.risk.population import TERMS, Terms, global_risk
from anonymize.table import OutputFile


@dataclass(frozen=True)
class Deeper:
    """What else is measured. `subsets`: the largest size of the subsets that are looked at (0: as many as are
    feasible; None: no subsets). `risky_cells`: a combination of at most so many rows is risky, in subsets of one
    attribute, two, and so on. `log_linear`: the terms of the model of population uniqueness. `fraction`: the share of
    the population that the table is a sample of. `population`: a table of the population, with the same
    quasi-identifiers."""

    subsets: int | None = None
    risky_cells: Sequence[int] = ()
    log_linear: Terms | None = None
    fraction: float | None = None
    population: str | Path | None = None

    def check(self) -> None:
        """Raises UsageError for a number that is not a fraction."""
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise UsageError("--sampling-fraction: must be above 0 and at most 1")
        if any(each < 1 for each in self.risky_cells):
            raise UsageError("--risky-cells: numbers of rows, from 1")
        if self.risky_cells and self.subsets is None:
            raise UsageError("--risky-cells: needs --subsets, whose cells they are")
        if self.log_linear not in (None, *TERMS):
            raise UsageError(f"--log-linear: must be one of {', '.join(TERMS)}")


def deeper(table: Audited, further: Deeper, threshold: float, records: OutputFile | None = None) -> dict[str, Any]:
    """Keys of the report's block `risk`: `sample` where there are weights, `journalist` with a population,
    `population` where the fraction is known, `household` with a unit, `log_linear`, `subsets` and `special_uniques` on
    request; under `wildcard`, `sample` in that meaning of missing. `records`: where the risk of every row is written.

    Raises UsageError for more subsets than can be looked at, DataError for a population that cannot be one.
    """
    weight = table.spec.weight_column
    if weight is None and further == Deeper() and records is None and table.units is None:
        return {}
    if not table.columns_of:
        _refuse_without(further, records)
        return {}
    text = Text(table.frame, list(table.columns_of.values()), table.spec, table.missing, table.units)
    frequency = text.frequency(by_row=records is not None or table.units is not None)
    risks = sampled(text, threshold, frequency)
    if further.population is not None:
        risks["journalist"] = _journalist(table, text, further.population, threshold)
    if table.units is not None:
        risks["household"] = households(frequency, table.units, threshold)
    analysis = _analysed(table, frequency, further, cells=records is not None)
    if records is not None:
        risk = record_risks(text, list(table.columns_of), frequency, analysis, further.fraction)
        records.write_text(risk.write_csv())
    fraction = further.fraction
    if fraction is None and "sample" in risks:
        fraction = min(frequency.rows / risks["sample"]["population"], 1.0)
    if fraction is not None:
        risks["population"] = population_uniques(frequency.counts, fraction).as_dict()
    if further.log_linear is not None:
        risks["log_linear"] = _log_linear(frequency, further.log_linear, fraction)
    if further.subsets is not None and analysis is not None:
        risks |= analysis.as_dict()
    return risks


def _refuse_without(further: Deeper, records: OutputFile | None) -> None:
    """Raises UsageError for what is measured of quasi-identifiers, of a table that has none."""
    wanted: dict[str, object] = {
        "subsets": further.subsets,
        "log-linear": further.log_linear,
        "population": further.population,
    }
    wanted |= {"sampling-fraction": further.fraction, "save-risk": records}
    names = [f"--{name}" for name, value in wanted.items() if value is not None]
    if names:
        raise UsageError(f"{', '.join(names)}: is measured of quasi-identifiers, and the spec has none")


def _journalist(table: Audited, text: Text, path: str | Path, threshold: float) -> dict[str, Any]:
    """Raises DataError for a population without a quasi-identifier, or without somebody whom the table has."""
    with ExitStack() as opened:
        measured = journalist(text, people(table.spec, path, table.columns_of, opened), threshold)
    if measured.absent:
        hint = "everybody who is in the table has to be in the population, with original values or with those shown"
        message = f"has nobody under what {measured.absent} rows of {table.source.name} show"
        raise DataError(Problem(message, file=str(path), hint=hint))
    return {name: value for name, value in measured.as_dict().items() if name != "absent"}


def _log_linear(frequency: TextFrequencySet, terms: Terms, fraction: float | None) -> dict[str, Any]:
    """Raises UsageError without a sampling fraction, or for a table of too many cells."""
    if fraction is None:
        hint = "give --sampling-fraction, or sampling weights"
        raise UsageError(Problem("--log-linear: what share of the population the table is, is not known", hint=hint))
    try:
        return global_risk(frequency, terms, fraction).as_dict()
    except ValueError as error:
        raise UsageError(f"--log-linear: {error}") from None


def _analysed(table: Audited, frequency: TextFrequencySet, further: Deeper, *, cells: bool) -> Analysis | None:
    """The subsets of at most a size; None where they are not looked at. Raises UsageError for too many."""
    size = further.subsets
    if size is None and not cells:
        return None
    try:
        return analyse(frequency, list(table.columns_of), size or None, cells=cells, thresholds=further.risky_cells)
    except ValueError as error:
        raise UsageError(f"--subsets: {error}") from None
