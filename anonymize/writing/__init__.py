"""The rows of a release: how they read, in which order, and as frames or lines for the file that is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from itertools import pairwise, tee
from typing import Any, Protocol, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain.cells import CellFormat, numbers, read_cells
from anonymize.parallel import occurrences, scattered
from anonymize.records import dataclass

# --- order ------------------------------------------------------------------------------------------------------------
# `row_order: sorted`: the rows of a release in an order that follows from what they show, and from nothing else.
#
# Rows are compared column by column: first the columns of the quasi-identifiers, in the file's order, then all
# others, in the file's order. Rows that read the same are equal, so that there is nothing left by which the input's
# order, or the numbers that a search gave its classes, could show.
#
# A cell is compared by its text alone, so that whoever has only the file can recognize the order:
#
# - null comes first;
# - then numbers by value, and, in a quasi-identifier, intervals by their lower and then their upper end (a number
#   being an interval whose ends are equal, an end that is not shown being infinite), equal ones by their text;
# - then every other text, by the bytes of its UTF-8. Texts that mean missing or suppressed are texts like any other.

Ints: TypeAlias = NDArray[np.int64]

WORD = 64
SAMPLE = 50_000
"""Rows by which it is decided whether most texts of a column differ."""
TOGETHER = 1 << 20
"""Rows that are sorted at once, about; more where they have the same rank in the first column."""


class CodesOfRows(Protocol):
    """An array (rows,), or what else knows a whole number of every row."""

    def __getitem__(self, rows: Any, /) -> Any: ...


@dataclass(frozen=True)
class RankedColumn:
    """A column whose cells have been ranked: `ranks`, each below `size`, equal for equal texts. `codes` (rows,): whose
    rank each row has; None: that of its own number."""

    ranks: NDArray[Any]
    size: int
    codes: CodesOfRows | None = None

    @classmethod
    def of(cls, codes: CodesOfRows, texts: pl.Series, written: CellFormat | None = None) -> RankedColumn:
        """The ranks of cells (rows,) that show `texts[codes]`, of distinct texts; see `cell_ranks`."""
        return cls(cell_ranks(texts, written).astype(np.min_scalar_type(len(texts))), len(texts), codes)

    def of_rows(self, rows: slice | NDArray[np.uint32]) -> NDArray[Any]:
        """The ranks of some rows."""
        ranks: NDArray[Any] = self.ranks[rows if self.codes is None else self.codes[rows]]
        return ranks


@dataclass(frozen=True)
class ComparedTexts:
    """A column that is compared cell by cell, as most of its `texts` (rows,) differ. `written`: see `cell_ranks`."""

    texts: pl.Series
    written: CellFormat | None = None

    def of_rows(self, rows: NDArray[np.uint32]) -> ComparedTexts:
        """The column of some rows."""
        return ComparedTexts(self.texts.gather(rows), self.written)


SortColumn: TypeAlias = RankedColumn | ComparedTexts


def cell_ranks(texts: pl.Series, written: CellFormat | None = None) -> Ints:
    """(n,) the dense rank of each text among all: what reads the same has the same rank. `written`: how intervals read
    in a quasi-identifier; None in other columns, where there are none."""
    cells = _parts(texts, written)
    ranks = _ranks_by_ends(cells) if len(cells.columns) > 1 else None
    return _ranks_by_all(cells) if ranks is None else ranks


def _ranks_by_all(cells: pl.DataFrame) -> Ints:
    """(n,) the dense ranks of cells by all columns, the last of which is their `text`."""
    order = cells.select(pl.arg_sort_by(*cells.columns)).to_series()
    arranged = cells["text"].gather(order)
    changes = arranged.ne_missing(arranged.shift(1))[1:]
    ranks = np.empty(len(order), np.int64)
    ranks[order.to_numpy()] = np.append(0, np.cumsum(changes.to_numpy()))[: len(order)]
    return ranks


def _ranks_by_ends(cells: pl.DataFrame) -> Ints | None:
    """The ranks where no two numbers or intervals have the same ends, so that their texts need not be compared; else
    None. They come between nulls and other texts, which are sorted by themselves: most often there are few."""
    numeric = (~cells["other"]).fill_null(False)
    numeric_cells, others = cells.filter(numeric), cells.filter(~numeric)
    order = numeric_cells.select(pl.arg_sort_by("low", "high")).to_series()
    low, high = (numeric_cells[end].gather(order).to_numpy() for end in ("low", "high"))
    if ((low[1:] == low[:-1]) & (high[1:] == high[:-1])).any():
        return None
    ranks, shows = np.empty(len(cells), np.int64), numeric.to_numpy()
    null = others["text"].is_null().to_numpy()
    ranks[np.flatnonzero(shows)[order.to_numpy()]] = np.arange(len(numeric_cells)) + bool(null.any())
    ranks[~shows] = _ranks_by_all(others) + np.where(null, 0, len(numeric_cells))
    return ranks


def rows_ranked(columns: Iterable[NDArray[Any]]) -> Ints:
    """(n,) the dense rank of each of n rows by their ranks (n,) in all columns, of which there is at least one."""
    all_ranks = list(columns)
    keys = _Keys(np.zeros(len(all_ranks[0]), np.uint64), 0)
    for ranks in all_ranks:
        size = int(ranks.max(initial=0)) + 1
        keys = keys.with_room(_bits(size)).extended(ranks, size)
    return keys.condensed().keys.astype(np.int64)


def most_differ(texts: pl.Series) -> bool:
    """Whether most texts of a column differ, so that ranking the distinct ones would be as much work as the rows."""
    sample = texts.head(SAMPLE)
    return len(sample) > 1000 and sample.n_unique() * 2 > len(sample)


def sorted_rows(columns: Iterable[SortColumn], rows: int, together: int = TOGETHER) -> Iterator[NDArray[np.uint32]]:
    """The rows in order of the columns, piece by piece; no more columns are asked for than are needed to tell rows
    apart. `together`: see `TOGETHER`.

    What comes before everything else in the first column does so in all of them: rows are parted by ranges of its
    ranks, and each part is sorted by itself.
    """
    (shared,) = tee(columns, 1)  # never moved itself: its copies ask for columns, and share those that there are
    for part in _parted(next(copy(shared), None), rows, together):
        yield _sorted(copy(shared), part)


def _parted(first: SortColumn | None, rows: int, together: int) -> Iterator[NDArray[np.uint32]]:
    """The rows by ranges of the ranks in the first column, ascending within each."""
    if rows <= together or not isinstance(first, RankedColumn) or first.size > 2 * rows:
        yield np.arange(rows, dtype=np.uint32)
        return
    chunks = [slice(start, min(start + together, rows)) for start in range(0, rows, together)]
    counts = occurrences((first.of_rows(chunk) for chunk in chunks), first.size)
    part_of = (np.cumsum(counts) - counts) // together
    sizes = np.bincount(part_of, counts).astype(np.int64)
    order, starts = scattered((part_of[first.of_rows(chunk)] for chunk in chunks), sizes)
    for start, stop in pairwise(starts.tolist()):
        if stop > start:
            yield order[start:stop]


def _sorted(columns: Iterable[SortColumn], rows: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Some rows, ascending, in order of the columns; equal ones stay as they come."""
    keys = _Keys(np.zeros(len(rows), np.uint64), 0)
    for column in columns:
        bits = 0 if isinstance(column, ComparedTexts) else _bits(column.size)
        keys = keys.with_room(bits)
        if keys.all_different:
            break
        if isinstance(column, ComparedTexts):
            keys = keys.refined(column.of_rows(rows))
        else:
            keys = keys.extended(column.of_rows(rows), column.size)
    return rows[keys.argsort()]


@dataclass(frozen=True)
class _Keys:
    """What rows are sorted by: of each row a number, `keys` (rows,), of `width` bits. `all_different`: whether no two
    are known to be equal.

    The ranks of a row in several columns are put side by side in one number of 64 bits, so that one sort of numbers
    compares all of them. Where they do not fit, the dense rank of the number takes its place.
    """

    keys: NDArray[np.uint64]
    width: int
    all_different: bool = False

    def with_room(self, bits: int) -> _Keys:
        """The keys, or their dense ranks, with room for so many bits more, and for the number of a row."""
        fits = not self.width or self.width + bits + _bits(len(self.keys)) <= WORD
        return self if fits else self.condensed()

    def extended(self, ranks: NDArray[Any], size: int) -> _Keys:
        """With the ranks in a further column, each below `size`, by which rows of equal keys are told apart."""
        bits = _bits(size)
        return _Keys(self.keys << np.uint64(bits) | ranks.astype(np.uint64), self.width + bits)

    def condensed(self) -> _Keys:
        """The dense ranks of the keys."""
        order = self.argsort()
        arranged = self.keys[order]
        return _dense(order, arranged[1:] != arranged[:-1])

    def refined(self, column: ComparedTexts) -> _Keys:
        """The dense ranks of the rows by their keys, then by the cells of a column."""
        frame = _parts(column.texts, column.written).insert_column(0, pl.Series("keys", self.keys))
        order = frame.select(pl.arg_sort_by(*frame.columns)).to_series()
        arranged = frame.select(pl.col("keys", "text").gather(order))
        changes = arranged.select(pl.any_horizontal(pl.all().ne_missing(pl.all().shift(1)))).to_series()[1:]
        return _dense(order.to_numpy().astype(np.int64), changes.to_numpy())

    def argsort(self) -> Ints:
        """(rows,) the rows in order of their keys, equal ones as they come.

        Where there is room for the row's number behind its key, sorting the two as one number is several times as fast
        as sorting the numbers of rows by their keys.
        """
        shift = _bits(len(self.keys))
        if self.width + shift > WORD:
            return np.argsort(self.keys, kind="stable")
        packed = self.keys << np.uint64(shift) | np.arange(len(self.keys), dtype=np.uint64)
        packed.sort()
        return (packed & np.uint64((1 << shift) - 1)).astype(np.int64)


def _bits(size: int) -> int:
    """How many bits the numbers below `size` take."""
    return max(size - 1, 0).bit_length()


def _dense(order: Ints, changes: NDArray[np.bool_]) -> _Keys:
    """The dense rank of each row. `changes` (rows - 1,): whether each row in `order`, from the second, differs from the
    one before it."""
    ranks = np.append(0, np.cumsum(changes))[: len(order)].astype(np.uint64)
    keys = np.empty_like(ranks)
    keys[order] = ranks
    return _Keys(keys, _bits(int(changes.sum()) + 1), bool(changes.all()))


def _parts(texts: pl.Series, written: CellFormat | None) -> pl.DataFrame:
    """The cells of a column as the columns by which they are sorted: kind, ends, text."""
    text = texts.alias("text").cast(pl.String)
    if written is None:
        low = high = numbers(text)
        numeric = low.is_not_null()
    else:
        cells = read_cells(text, text, written, numeric=True)
        (low, high), numeric = cells.ends, pl.Series(cells.numeric)
    if not numeric.any():
        return text.to_frame()
    ends = {"low": low.fill_null(-np.inf), "high": high.fill_null(np.inf)}
    frame = pl.DataFrame({"text": text, "other": ~numeric, **ends})
    # Adding zero makes a negative zero the same number as zero.
    ends_of_numbers = (pl.when(~pl.col("other")).then(pl.col(end) + 0.0).otherwise(0.0).alias(end) for end in ends)
    kind = pl.when(pl.col("text").is_not_null()).then("other").alias("other")
    return frame.select(kind, *ends_of_numbers, "text")
