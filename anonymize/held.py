"""Columns that pass through, held in memory until the order of the rows is known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain.cells import CellFormat
from anonymize.order import ComparedTexts, RankedColumn, SortColumn, most_differ
from anonymize.table import Codes
from anonymize.table.lines import quoted, side_by_side
from anonymize.table.named import cells_at, unnamed

COMBINATIONS = 1 << 14
"""Of cells of columns that are written as one: at most so many, so that their texts stay in the cache."""


@dataclass(frozen=True)
class HeldColumn:
    """A column that passes through, of all rows: its `cells`, and where they are distinct texts `codes` (rows,), which
    of them each row has."""

    cells: pl.Series
    codes: Codes | None = None

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
class NeighbouringColumns:
    """Columns of a CSV that stand side by side, as one. `cells`: what each combination of their cells shows, those of
    the last column changing first."""

    columns: Sequence[HeldColumn]
    cells: pl.Series

    @classmethod
    def of(cls, columns: Sequence[HeldColumn], separator: str) -> NeighbouringColumns:
        """That of quoted columns, which have codes."""
        sizes = [len(column.cells) for column in columns]
        places = np.unravel_index(np.arange(math.prod(sizes)), sizes)
        cells = [cells_at(column.cells, own) for column, own in zip(columns, places, strict=True)]
        return cls(columns, side_by_side(cells, separator))

    def gather(self, rows: NDArray[np.integer[Any]]) -> pl.Series:
        """The cells of some rows."""
        combinations = np.zeros(len(rows), np.uint32)
        for column in self.columns:
            assert column.codes is not None
            combinations *= np.uint32(len(column.cells))
            combinations += column.codes[rows]
        return cells_at(self.cells, combinations)


def neighbours_as_one(
    columns: HeldColumns, neighbours: Iterable[Sequence[str]], separator: str | None
) -> dict[str, HeldColumn | NeighbouringColumns]:
    """Quoted columns of a CSV, `neighbours` of few texts as one under the name of the first: the writer copies one text
    in place of several."""
    made: dict[str, HeldColumn | NeighbouringColumns] = dict(columns)
    for names in _of_few_combinations(columns, neighbours):
        if separator is not None and len(names) > 1:
            made[names[0]] = NeighbouringColumns.of([columns[name] for name in names], separator)
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
