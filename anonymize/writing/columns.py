"""Columns that pass through, held in memory until the order of the rows is known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain.cells import CellFormat
from anonymize.records import dataclass
from anonymize.table import Codes
from anonymize.table.forms import quoted, side_by_side
from anonymize.table.named import cells_at, unnamed
from anonymize.writing import ComparedTexts, RankedColumn, SortColumn, cell_ranks, most_differ

PIECE = 1 << 17
"""Rows that are looked at, or written, together: as texts they take far more memory than as codes."""
COMBINATIONS = 1 << 14
"""Cells of columns that are written as one: at most so many, so that their texts stay in the cache."""


@dataclass(frozen=True)
class HeldColumn:
    """A column that passes through, of all rows: its `cells`, and where they are distinct texts `codes` (rows,), which
    of them each row has."""

    cells: pl.Series
    codes: Codes | CellCombinations | None = None

    def of(self, rows: NDArray[np.integer[Any]]) -> HeldColumn:
        """The column of some rows."""
        if self.codes is None:
            return HeldColumn(self.cells.gather(rows))
        return HeldColumn(self.cells, self.codes[rows])

    def quoted(self, separator: str | None) -> HeldColumn:
        """The column of texts as a CSV has it; None: as it is."""
        return HeldColumn(as_written(self.cells, separator), self.codes)

    def gather(self, rows: NDArray[np.integer[Any]]) -> pl.Series:
        """The cells of some rows."""
        return cells_at(self.cells, rows if self.codes is None else self.codes[rows])

    def part(self, rows: slice) -> pl.Series:
        """The cells of neighbouring rows."""
        return self.cells[rows] if self.codes is None else cells_at(self.cells, self.codes[rows])

    def rows(self, rows: slice | NDArray[np.integer[Any]]) -> pl.Series:
        """The cells of some rows, neighbouring ones or not."""
        return self.part(rows) if isinstance(rows, slice) else self.gather(rows)

    def sorting(self, written: CellFormat | None = None) -> SortColumn:
        """The column as it is compared; `written`: how intervals read, where it is a quasi-identifier."""
        if self.codes is not None:
            return RankedColumn.of(self.codes, self.cells, written)
        texts = self.cells.cast(pl.String)
        if most_differ(texts):
            return ComparedTexts(texts, written)
        coded = _coded(texts)
        assert coded.codes is not None
        return RankedColumn.of(coded.codes, coded.cells, written)


HeldColumns: TypeAlias = Mapping[str, HeldColumn]


@dataclass(frozen=True)
class CellCombinations:
    """(rows,) which combination of the cells of several columns each row has, those of the last column changing first:
    worked out for the rows that are asked for. The columns have codes."""

    columns: Sequence[HeldColumn]

    def __getitem__(self, rows: slice | NDArray[np.integer[Any]]) -> NDArray[np.uint32]:
        column_codes = [column.codes[rows] for column in self.columns if column.codes is not None]
        combinations = column_codes[0].astype(np.uint32)
        for column, codes in zip(self.columns[1:], column_codes[1:], strict=True):
            combinations *= np.uint32(len(column.cells))
            combinations += codes
        return combinations

    def of_rows(self, rows: int) -> Codes:
        """The combinations of all rows, in few bytes, worked out piece by piece."""
        most = math.prod(len(column.cells) for column in self.columns) - 1
        combinations = np.empty(rows, np.min_scalar_type(most))
        for start in range(0, rows, PIECE):
            combinations[start : start + PIECE] = self[start : start + PIECE]
        return combinations


@dataclass(frozen=True)
class NeighbouringColumns:
    """Columns that stand side by side, as one. `codes` (rows,): which combination of their cells each row has."""

    columns: Sequence[HeldColumn]
    codes: Codes | CellCombinations

    @classmethod
    def of(cls, columns: Sequence[HeldColumn], rows: int | None) -> NeighbouringColumns:
        """The columns that have codes. `rows`: how many there are, and the combinations are held in memory; None:
        they are worked out whenever they are asked for."""
        combinations = CellCombinations(columns)
        return cls(columns, combinations if rows is None else combinations.of_rows(rows))

    def quoted(self, separator: str | None) -> HeldColumn:
        """The column of texts as a CSV has it."""
        assert separator is not None
        sizes = [len(column.cells) for column in self.columns]
        places = np.unravel_index(np.arange(math.prod(sizes)), sizes)
        spelled = [column.quoted(separator).cells for column in self.columns]
        cells = [cells_at(column, column_places) for column, column_places in zip(spelled, places, strict=True)]
        return HeldColumn(side_by_side(cells, separator), self.codes)

    def sorting(self, written: CellFormat | None = None) -> SortColumn:
        """The columns as they are compared, one after the other. `written`: see `HeldColumn.sorting`."""
        ranks, size = np.zeros(1, np.int64), 1
        for column in self.columns:
            column_ranks = cell_ranks(column.cells, written)
            ranks = (ranks[:, np.newaxis] * len(column_ranks) + column_ranks).ravel()
            size *= len(column_ranks)
        return RankedColumn(ranks.astype(np.min_scalar_type(size)), size, self.codes)


PassingColumns: TypeAlias = Mapping[str, HeldColumn | NeighbouringColumns]


def neighbours_as_one(
    columns: HeldColumns, neighbours: Iterable[Sequence[str]], rows: int | None
) -> dict[str, HeldColumn | NeighbouringColumns]:
    """Columns of a CSV, `neighbours` of few texts as one under the name of the first: rows are compared by one number
    in place of several, and the writer copies one text. `rows`: see `NeighbouringColumns.of`."""
    made: dict[str, HeldColumn | NeighbouringColumns] = dict(columns)
    for names in _of_few_combinations(columns, neighbours):
        if len(names) > 1:
            made[names[0]] = NeighbouringColumns.of([columns[name] for name in names], rows)
            for name in names[1:]:
                del made[name]
    return made


def _of_few_combinations(columns: HeldColumns, neighbours: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    """The neighbours in groups of at most so many combinations of cells, as many side by side as that allows."""
    for names in neighbours:
        group, combinations = list[str](), 1
        for name in names:
            column = columns[name]
            size = COMBINATIONS + 1 if column.codes is None else len(column.cells)
            if combinations * size > COMBINATIONS:
                yield group
                group, combinations = [], 1
            group.append(name)
            combinations *= size
        yield group


def hold(batches: Iterable[pl.DataFrame]) -> HeldColumns:
    """The columns of all batches; of texts that repeat themselves each is held once."""
    whole = pl.concat(list(batches))
    return {column.name: hold_column(column) for column in whole.iter_columns()}


def hold_column(column: pl.Series) -> HeldColumn:
    """A column, in as little memory as it takes."""
    column = unnamed(column)
    return _coded(column) if column.dtype == pl.String and not most_differ(column) else HeldColumn(column)


def _coded(texts: pl.Series) -> HeldColumn:
    """A column of texts as its distinct ones, the last of which is null, and codes."""
    categories = pl.Categories.random()
    categorized = texts.cast(pl.Categorical(categories))  # the categories last as long as a column has them
    distinct = categories.to_series()
    cells = pl.concat([distinct, pl.Series([None], dtype=pl.String)])
    return HeldColumn(cells, categorized.to_physical().fill_null(len(distinct)).to_numpy())


def as_written(cells: pl.Series, separator: str | None) -> pl.Series:
    """Texts as a CSV has them; without a separator, of anything else, as they are."""
    return cells if separator is None else quoted(cells, separator)
