"""Tables as they are written: their rows, and the manifest that says what stands in which file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from anonymize.meaning.manifest import FORMAT, TABLES, VERSION
from anonymize.records import dataclass
from anonymize.spec.tabulation import TabulatedMeasure, Tabulation
from anonymize.tabulating.cells import Bools, Floats, TableGrid

MANIFEST = TABLES
PUBLISHED, BLANK, EMPTY = "published", "suppressed", "empty"
"""What the `status` of a group says: its value stands there; it is left blank; there is nothing to take a mean of."""


@dataclass(frozen=True)
class ShownTable:
    """A table to be written. `values`: in the order of the grid's cells, None where there is none; `status`: the same,
    None of a mechanism that leaves nothing blank. `noise_sd`: the standard deviation of the noise of a figure as it was
    drawn, before totals are made to agree; of a mean at most that, times the people that it is of."""

    measured: TabulatedMeasure
    values: Sequence[float | int | None]
    status: Sequence[str] | None = None
    noise_sd: float | None = None

    @property
    def accuracy(self) -> dict[str, float]:
        """`noise_sd`, where noise was drawn."""
        return {} if self.noise_sd is None else {"noise_sd": self.noise_sd}

    def frame(self, grid: TableGrid) -> pl.DataFrame:
        """Its rows: the groups, the value, and the status."""
        labels = grid.labels(self.measured.by)
        columns = [pl.Series(name, texts, dtype=pl.String) for name, texts in labels.items()]
        whole = all(isinstance(each, int) for each in self.values if each is not None)
        kind = pl.Int64 if whole else pl.Float64
        columns.append(pl.Series(self.measured.measure, self.values, dtype=kind, strict=False))
        if self.status is not None:
            columns.append(pl.Series("status", self.status, dtype=pl.String))
        return pl.DataFrame(columns)


def with_blanks(values: Sequence[float | int], blank: Bools, empty: Bools | None = None) -> tuple[list[Any], list[str]]:
    """Values without those that are blank, or of nobody; and the status of each."""
    none = np.zeros(len(blank), np.bool_) if empty is None else empty & ~blank
    values_shown = [None if lost or gone else each for each, lost, gone in zip(values, blank, none, strict=True)]
    status = [BLANK if lost else EMPTY if gone else PUBLISHED for lost, gone in zip(blank, none, strict=True)]
    return values_shown, status


def ratios(values: Floats, over: Floats | float) -> list[float]:
    """Values over others, to twelve digits; 0 over 0 is 0."""
    divided = np.divide(values, over, out=np.zeros(len(values)), where=np.asarray(over) != 0)
    return [float(f"{each:.12g}") for each in divided.tolist()]


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
