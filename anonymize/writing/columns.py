"""Columns that pass through: held in memory until the order of the rows is known, and read piece by piece in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain.cells import CellFormat
from anonymize.domain.numeric import Numeric
from anonymize.records import dataclass
from anonymize.request import Request
from anonymize.spec import Spec
from anonymize.table import Attribute, Codes, Table, named
from anonymize.table.forms import CSV, quoted, side_by_side
from anonymize.writing import ComparedTexts, RankedColumn, SortColumn, cell_ranks, most_differ, sorted_rows

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

    def rows(self, rows: slice | NDArray[np.integer[Any]]) -> pl.Series:
        """The cells of some rows, neighbouring ones or not."""
        if self.codes is not None:
            return named.cells_at(self.cells, self.codes[rows])
        return self.cells[rows] if isinstance(rows, slice) else named.cells_at(self.cells, rows)

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
        cells = [named.cells_at(column, column_places) for column, column_places in zip(spelled, places, strict=True)]
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
    column = named.unnamed(column)
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


# --- piece by piece ---------------------------------------------------------------------------------------------------


def null_text(spec: Spec, source: str, target: str) -> str | None:
    """What a null is written as, where it would not mean the same in the output as in the input; else None.

    In a typed file null is missing; in a CSV it is the empty text, which the spec may or may not take for missing.
    """
    missing = spec.missing(source)
    return None if missing.null == spec.missing(target).null else missing.null_text


def passing_column(column: pl.Series, null: str | None) -> pl.Series:
    """A column as it came, but for its nulls where they have to be a text."""
    return column if null is None else named.unnamed(column).cast(pl.String).fill_null(null).alias(column.name)


def with_dates(table: Table, form: str) -> Table:
    """The table, with dates in place of points in time that are all midnight, for a CSV: nothing but its text says
    what a cell is there."""
    if form not in CSV:
        return table
    kept = {name: replace(each, cells=_dates(each.cells)) for name, each in table.kept.items()}
    return replace(table, kept=kept)


def _dates(cells: pl.Series) -> pl.Series:
    if not isinstance(cells.dtype, pl.Datetime) or cells.dtype.time_zone is not None:
        return cells
    return cells.cast(pl.Date) if (cells.dt.truncate("1d") == cells).all() else cells


def cut_off(attribute: Attribute, column: pl.Series, rows: slice | NDArray[np.int64]) -> pl.Series:
    """Some rows of a quasi-identifier as they came, but for numbers at or beyond a bottom or top code, which read as
    that does, and for numbers that are rounded."""
    domain = attribute.domain
    rounds = isinstance(domain, Numeric) and domain.coding.step is not None
    if not isinstance(domain, Numeric) or not (rounds or domain.lowest_open or domain.highest_open):
        return column
    if rounds:
        texts = [*domain.leaf_text()[: len(domain.values)], *([] if domain.missing is None else [None])]
        return _with_texts(texts, attribute, column, rows)
    ends = {0: domain.lowest_open, len(domain.values) - 1: domain.highest_open}
    return _with_texts(
        [text if ends.get(code) else None for code, text in enumerate(domain.leaf_text())], attribute, column, rows
    )


def _with_texts(
    texts: Sequence[str | None], attribute: Attribute, column: pl.Series, rows: slice | NDArray[np.int64]
) -> pl.Series:
    """Some rows of a column, with the text of each code in place of what stands there; None: that stays."""
    codes = pl.Series(texts, dtype=pl.String).gather(attribute.codes[rows].astype(np.int64))
    return pl.select(pl.coalesce(codes, named.unnamed(column).cast(pl.String))).to_series().alias(column.name)


@dataclass(frozen=True)
class Piece:
    """Some rows of the input, by number, and their columns that pass through."""

    rows: slice | NDArray[np.uint32]
    frame: pl.DataFrame


Sorting: TypeAlias = Callable[[PassingColumns], Iterable[SortColumn]]
"""The columns of a release in the order in which they are compared, made from those that pass through, of
which `neighbours` (see `pieces`) may be there as one."""


def pieces(
    request: Request,
    table: Table,
    passing: Sequence[str],
    sorting: Sorting,
    null: str | None = None,
    separator: str | None = None,
    neighbours: Sequence[Sequence[str]] = (),
) -> Iterator[Piece]:
    """The input's rows in the order of the release. Unless that is the input's, the columns that pass through are held
    in memory. `sorting`: the columns of the release as they are compared; `null`: see `passing_column`. `separator`: of
    a CSV, for which the columns, which are texts, come quoted; None: as they are. `neighbours`: columns that stand side
    by side in it, and may come as one, under the name of the first."""
    in_memory = {
        name: HeldColumn(passing_column(column.cells, null), column.codes)
        for name, column in table.kept.items()
        if name in passing
    }
    further = [name for name in passing if name not in in_memory]
    if request.spec.output.row_order == "keep":
        starts = range(0, table.rows, PIECE)
        blank = (pl.DataFrame(height=min(PIECE, table.rows - start)) for start in starts)
        batches = _passing(table, further, null) if further else blank
        yield from _as_they_come(table, passing, in_memory, batches, separator)
        return
    read = hold(_passing(table, further, null)) if further else {}
    held = {name: in_memory[name] if name in in_memory else read[name] for name in passing}
    joined = neighbours_as_one(held, neighbours, None if table.in_files else table.rows)
    if request.spec.output.row_order == "sorted":
        arranged = sorted_rows(sorting(joined), table.rows)
    else:
        arranged = iter([np.random.default_rng(request.seed).permutation(np.arange(table.rows, dtype=np.uint32))])
    texts = {name: column.quoted(separator) for name, column in joined.items()}
    for order in arranged:
        for start in range(0, len(order), PIECE):
            rows = order[start : start + PIECE]
            places = rows.astype(np.int64)  # numpy's own type for places
            columns = [column.rows(places).alias(name) for name, column in texts.items()]
            yield Piece(rows, pl.DataFrame(columns) if columns else pl.DataFrame(height=len(rows)))


def _as_they_come(
    table: Table, passing: Sequence[str], in_memory: HeldColumns, batches: Iterable[pl.DataFrame], separator: str | None
) -> Iterator[Piece]:
    """Rows in the input's order, the columns that are kept along with those of the batches."""
    start, spelled = 0, {name: column.quoted(separator) for name, column in in_memory.items()}
    for frame in batches:
        rows = slice(start, start + frame.height)
        columns = [
            spelled[name].rows(rows).alias(name) if name in spelled else as_written(frame[name], separator)
            for name in passing
        ]
        yield Piece(rows, pl.DataFrame(columns) if columns else frame)
        start = rows.stop


def _passing(table: Table, names: Sequence[str], null: str | None) -> Iterator[pl.DataFrame]:
    """Columns as they are written, in the input's order: quasi-identifiers among them as far as their codes go, so that
    not even the order of rows is made from what lies beyond."""
    attributes, start = {attribute.name: attribute for attribute in table.attributes}, 0
    for frame in table.source.batches(names):
        rows, start = slice(start, start + frame.height), start + frame.height
        columns = [passing_column(column, null) for column in frame.iter_columns()]
        columns = [cut_off(attributes[each.name], each, rows) if each.name in attributes else each for each in columns]
        yield pl.DataFrame(columns) if columns else frame
