"""Tables as they are written: their rows, and the manifest that describes each file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from anonymize.errors import Caution
from anonymize.meaning.manifest import FORMAT, TABLES, VERSION
from anonymize.records import dataclass
from anonymize.spec.tabulation import TabulatedMeasure, Tabulation
from anonymize.tabulating.cells import Bools, Floats, TableGrid

MANIFEST = TABLES
MARGIN = "margin_95"
"""The column of how far noise has moved a figure, either way, with a probability of 95 %, before totals are made to
agree and negative counts are set to 0, which may move a total over many nearly empty groups farther."""
PUBLISHED, BLANK, EMPTY = "published", "suppressed", "empty"
"""What the `status` of a group says: its value stands there; it is left blank; there is nothing to take a mean of."""


@dataclass(frozen=True)
class ShownTable:
    """A table to be written. `values`: in the order of the grid's cells, None where there is none; `status`: the same,
    None of a mechanism that leaves nothing blank. `noise_sd`: the standard deviation of the noise of a figure as it was
    drawn, before totals are made to agree; of a mean at most that, times the people that it is of. `margins`: half of
    the 95 % interval of each figure, None where there is none. `digits`: the decimals of its figures, if these are
    rounded."""

    measured: TabulatedMeasure
    values: Sequence[float | int | None]
    status: Sequence[str] | None = None
    noise_sd: float | None = None
    margins: Sequence[float | None] | None = None
    digits: int | None = None

    @property
    def accuracy(self) -> dict[str, float | int]:
        """`noise_sd`, where noise was drawn, and `digits`, where figures are rounded."""
        given = {"noise_sd": self.noise_sd, "digits": self.digits}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def _whole(self) -> bool:
        """Whether figures are written as whole numbers: of counts and sums all that stand there are, whatever those
        that are left blank would be."""
        known = [each for each in self.values if each is not None]
        added = self.measured.measure in ("count", "sum") and self.digits in (None, 0)
        exact = added and all(abs(each) < 2**53 for each in known)
        return all(isinstance(each, int) or (exact and each.is_integer()) for each in known)

    def frame(self, grid: TableGrid, decimal: str = ".") -> pl.DataFrame:
        """Its rows: the groups, the value, its status, and its margin where there is noise that says one. `decimal`:
        the sign before fractions, with which numbers are texts unless it is a point."""
        labels = grid.labels(self.measured.by)
        columns = [pl.Series(name, texts, dtype=pl.String) for name, texts in labels.items()]
        columns.append(self._figures.alias(self.measured.measure))
        status = [EMPTY if each is None else PUBLISHED for each in self.values] if self.status is None else self.status
        columns.append(pl.Series("status", status, dtype=pl.String))
        if self.margins is not None:
            columns.append(pl.Series(MARGIN, self.margins, dtype=pl.Float64, strict=False))
        frame = pl.DataFrame(columns)
        figures = [name for name in (self.measured.measure, MARGIN) if decimal != "." and name in frame.columns]
        return frame.with_columns(pl.col(figures).cast(pl.String).str.replace(".", decimal, literal=True))

    @property
    def _figures(self) -> pl.Series:
        """The values: texts of as many decimals each, where they are rounded, else numbers."""
        if self._whole or self.digits is None:
            kind = pl.Int64 if self._whole else pl.Float64
            return pl.Series(self.values, dtype=kind, strict=False)
        texts = [None if each is None else f"{each:.{self.digits}f}" for each in self.values]
        return pl.Series(texts, dtype=pl.String)


def with_blanks(values: Sequence[float | int], blank: Bools, empty: Bools | None = None) -> tuple[list[Any], list[str]]:
    """Values without those that are blank, or of nobody; and the status of each."""
    none = np.zeros(len(blank), np.bool_) if empty is None else empty & ~blank
    values_shown = [None if lost or gone else each for each, lost, gone in zip(values, blank, none, strict=True)]
    status = [BLANK if lost else EMPTY if gone else PUBLISHED for lost, gone in zip(blank, none, strict=True)]
    return values_shown, status


def ratios(values: Floats, over: Floats | float, digits: int | None = None) -> list[float]:
    """Values over others, to so many decimals, or to twelve digits that count; 0 over 0 is 0."""
    divided = np.divide(values, over, out=np.zeros(len(values)), where=np.asarray(over) != 0)
    return [rounded(each, digits) for each in divided.tolist()]


def rounded(value: float, digits: int | None) -> float:
    """A figure to so many decimals, or to twelve digits that count."""
    return float(f"{value:.12g}") if digits is None else float(f"{value:.{digits}f}") + 0.0


def rounded_table(table: ShownTable, digits: int | None) -> ShownTable:
    """A table without noise that is known, its shares and means to so many decimals; None: to as many as a reader
    wants, by the figures that are shown, so that these tell nothing of those that are blank."""
    if table.measured.measure not in ("share", "mean"):
        return table
    if digits is None:
        sizes = [abs(each) for each in table.values if each] or [1.0]
        share = table.measured.measure == "share"
        digits = max(3, decimals_of(min(sizes), 2)) if share else decimals_of(max(sizes), 4)
    values = [None if each is None else rounded(each, digits) for each in table.values]
    return replace(table, values=values, digits=digits)


def supported(margins: Sequence[float | None]) -> int | None:
    """The decimals that the least of some margins leaves: one more than its first digit; None without any."""
    known = [each for each in margins if each]
    return decimals_of(min(known), 2) if known else None


def decimals_of(value: float, figures: int) -> int:
    """The decimals with which a value above 0 has so many digits that count, at least."""
    return max(0, figures - 1 - math.floor(math.log10(value)))


def file_name(number: int, measured: TabulatedMeasure) -> str:
    """The file of a table, counted from 1."""
    return f"table-{number}-{measured.measure}.csv"


def manifest(
    tabulate: Tabulation, grid: TableGrid, tables: Sequence[ShownTable], details: Mapping[str, Any], separator: str
) -> dict[str, Any]:
    """What a reader of the tables has to know: the mechanism, what each table is of, and how its totals are made.

    `details`: what else the mechanism says of itself.
    """
    files = [
        {
            "name": file_name(number, each.measured),
            "by": list(each.measured.by),
            "measure": each.measured.measure,
            **({} if each.measured.column is None else {"column": each.measured.column}),
            **each.accuracy,
            "columns": [
                *({"name": name, "meaning": "exact"} for name in each.measured.by),
                {"name": each.measured.measure, "meaning": "aggregate", "method": tabulate.mechanism},
            ],
        }
        for number, each in enumerate(tables, 1)
    ]
    parents = {
        column.name: {
            column.labels[node]: column.labels[parent]
            for node, parent in enumerate(column.parent.tolist())
            if parent >= 0
        }
        for column in grid.columns
    }
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": "tables",
        "separator": separator,
        "mechanism": tabulate.mechanism,
        **details,
        "total": tabulate.total,
        "groups": parents,
        "columns": [],
        "files": files,
    }


Charging: TypeAlias = Callable[[float], None]
"""Called with the rho of a run before its first draw, when all that can fail has been tried; may raise."""


@dataclass(frozen=True)
class Tabulated:
    """The tables of a run. `details`: what the mechanism says of itself in the manifest; `private`: what only a private
    report has."""

    tables: tuple[ShownTable, ...]
    details: Mapping[str, Any] = field(default_factory=dict)
    private: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[Caution, ...] = ()
