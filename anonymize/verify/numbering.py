"""Numbers in place of what rows show, several columns of them as one; and sums of fractions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

import polars as pl

from anonymize.records import dataclass

# --- sums -------------------------------------------------------------------------------------------------------------
# A sum of fractions depends on the order in which they are added. The engine parts long columns among its threads and
# adds up what each of them has, so that last digits change with the number of threads, with where a group lies in its
# column, and from run to run. Fractions in ascending order, each group by itself, have one sum.


def summed(fractions: pl.Expr) -> pl.Expr:
    """The sum of a group's fractions, smallest first.

    For eager frames only: of a lazy query polars drops the sort, which it takes to change no sum, and its streaming
    engine parts a group wherever a piece of the column ends.
    """
    return fractions.sort().sum()


# --- numbering --------------------------------------------------------------------------------------------------------
# Two rows have the same number where they show the same, and nothing is hashed. What is done with all rows at once
# takes several times the memory of the numbers themselves; so columns are put together a piece at a time, and rows are
# counted by ranges of one column.

NUMBERS_BELOW = 2**63
"""What the numbers of several columns side by side have to be below."""
PIECE = 1 << 20
"""Rows that are looked at together."""


@dataclass(frozen=True)
class Numbering:
    """(rows,) numbers below `span`: two rows have the same one where what is numbered is the same.

    `counts` (span,): how many rows have each number, where that is known and none of them is 0.
    """

    of_row: pl.Series
    span: int
    counts: pl.Series | None = None

    @property
    def dense(self) -> Numbering:
        """The numbers in the same order, without gaps."""
        if self.counts is not None:
            return self
        ranks = self.of_row.rank("dense") - 1
        return Numbering(ranks, whole(ranks.max()) + 1 if len(ranks) else 1)

    @property
    def firsts(self) -> pl.Series:
        """The first row of each different number, in the order of numbers."""
        rows = self.of_row.to_frame("number").with_row_index("first")
        return rows.group_by("number").agg(pl.col("first").min()).sort("number")["first"]

    def runs(self) -> pl.DataFrame:
        """The different numbers, ascending (`value`), and how many rows have each (`len`)."""
        if self.counts is None:
            return self.of_row.sort().rle().struct.unnest()
        return pl.DataFrame({"value": pl.int_range(self.span, eager=True), "len": self.counts})


def pair(first: Numbering, second: Numbering, most: int = NUMBERS_BELOW) -> tuple[Numbering, int]:
    """Numbers of both together, ordered by the first, then the second; and what parts them: first * span + second.
    Gaps are closed where the numbers would not be below `most`."""
    if first.span * second.span >= most:
        first = first.dense
    if first.span * second.span >= most:
        second = second.dense
    joined = first.of_row.cast(pl.UInt64) * second.span + second.of_row
    return Numbering(joined, first.span * second.span), second.span


def paired(columns: Sequence[Numbering]) -> Numbering:
    """Numbers of several columns together, at least one, ordered by the first, then the second, and so on."""
    return reduce(lambda so_far, column: pair(so_far, column)[0], columns)


def together(columns: Sequence[Numbering], piece: int = PIECE, most: int = NUMBERS_BELOW) -> Numbering:
    """Dense numbers of all columns together, at least one, in the order in which `pair` would put them, with their
    counts. `piece` rows are looked at together; numbers side by side are below `most`."""
    columns = _packable(columns, piece, most)
    distinct = _counted(_runs(_key(columns, start, piece)) for start in _starts(columns, piece))
    values, counts = distinct["value"], distinct["len"]
    ranks = [_ranks(_key(columns, start, piece), values) for start in _starts(columns, piece)]
    of_row = pl.concat([pl.Series([], dtype=pl.UInt32), *ranks]).rechunk()
    return Numbering(of_row, max(len(values), 1), counts if len(values) else None)


def numbers_below(
    columns: Sequence[Numbering], limits: Sequence[int], piece: int = PIECE, most: int = NUMBERS_BELOW
) -> list[int]:
    """How many rows are in groups of fewer than each of `limits`: rows that agree in all columns, of which there is at
    least one.

    Rows that agree have the same number in every column: so rows are parted by ranges of the column of most numbers, of
    about `piece` rows each, and counted range by range.
    """
    counts = [0] * len(limits)
    for sizes in group_sizes(columns, piece, most):
        counts = [count + int(sizes.filter(sizes < limit).sum()) for count, limit in zip(counts, limits, strict=True)]
    return counts


def group_sizes(columns: Sequence[Numbering], piece: int = PIECE, most: int = NUMBERS_BELOW) -> Iterator[pl.Series]:
    """How many rows are in each group that agrees in all columns, in several pieces; see `numbers_below`."""
    leaders = sorted(range(len(columns)), key=lambda place: -columns[place].span)
    for own in _ranges(columns, leaders, piece):
        yield _key(_packable(own, piece, most)).sort().rle().struct.field("len")


def _ranges(columns: Sequence[Numbering], leaders: Sequence[int], piece: int) -> Iterator[list[Numbering]]:
    """The columns of the rows whose number in the first leading column is in a range, range by range; those of a range
    of too many rows by the next one."""
    if len(columns[0].of_row) <= piece or not leaders:
        yield list(columns)
        return
    leader, begin = columns[leaders[0]], 0
    runs = leader.runs()
    part = ((runs["len"].cast(pl.UInt64).cum_sum() - runs["len"]) // piece).alias("part")
    for end in runs.select("value", part).group_by("part", maintain_order=True).agg(pl.col("value").last())["value"]:
        inside = leader.of_row.is_between(begin, end)
        own = [Numbering(column.of_row.filter(inside), column.span) for column in columns]
        yield from _ranges(own, leaders[1:] if len(own[0].of_row) > 2 * piece else [], piece)
        begin = end + 1


def _packable(columns: Sequence[Numbering], piece: int, most: int) -> list[Numbering]:
    """Columns that say the same, and whose numbers fit into one of 64 bits: where they do not, those so far are put
    together."""
    packed, span = [columns[0]], columns[0].span
    for column in columns[1:]:
        if span * column.span >= most:
            packed = [together(packed, piece, most)]
            span = packed[0].span
        if span * column.span >= most:
            column = column.dense
        packed.append(column)
        span *= column.span
    return packed


def _starts(columns: Sequence[Numbering], piece: int) -> range:
    return range(0, len(columns[0].of_row), piece)


def _key(columns: Sequence[Numbering], start: int = 0, length: int | None = None) -> pl.Series:
    """The numbers of some neighbouring rows side by side in one, of 32 bits as long as that is enough: it takes a third
    of the time."""
    key, span = columns[0].of_row.slice(start, length).cast(_type(columns[0].span)), columns[0].span
    for column in columns[1:]:
        span *= column.span
        kind = _type(span)
        key = key.cast(kind) * column.span + column.of_row.slice(start, length).cast(kind)
    return key


def _type(span: int) -> type[pl.UInt32 | pl.UInt64]:
    return pl.UInt32 if span < 1 << 32 else pl.UInt64


def _runs(key: pl.Series) -> pl.DataFrame:
    """Values of a key (`value`) and rows that have them (`len`); where neighbours are seldom alike, each value once."""
    runs = key.rle().struct.unnest()
    if _neighbours_differ(runs.height, len(key)):
        runs = key.sort().rle().struct.unnest()
    return runs.select(pl.col("value").cast(pl.UInt64), pl.col("len").cast(pl.UInt32))


def _neighbours_differ(runs: int, rows: int) -> bool:
    return runs * 2 > rows


def _counted(pieces: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Each value once, ascending. What has been put together is counted anew when as much has come again."""
    counted = pl.DataFrame(schema={"value": pl.UInt64, "len": pl.UInt32})
    waiting: list[pl.DataFrame] = []
    for piece in pieces:
        waiting.append(piece)
        if sum(each.height for each in waiting) > max(counted.height, 4 * PIECE):
            counted, waiting = _summed([counted, *waiting]), []
    return _summed([counted, *waiting]).sort("value")


def _summed(runs: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(runs).group_by("value").agg(pl.col("len").sum())


def _ranks(key: pl.Series, values: pl.Series) -> pl.Series:
    """The place of each number among the values."""
    runs = key.rle().struct.field("value")
    if _neighbours_differ(len(runs), len(key)):
        return values.search_sorted(key.cast(pl.UInt64)).cast(pl.UInt32)
    return values.search_sorted(runs.cast(pl.UInt64)).cast(pl.UInt32).gather(key.rle_id())


def whole(value: object) -> int:
    """A figure of polars that is a whole number."""
    assert isinstance(value, int)
    return value
