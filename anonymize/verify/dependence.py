"""How a column depends on others, over groups of rows that have the same values in these; and which dependences some
rows of a large table rule out, before any of its columns is held in memory.

Two things are drawn in one pass. Rows at random: what few values tell, they show. And of columns, or pairs of these, of
so many values that hardly two of those rows have the same one, all rows of some values, by the hash of their text:
groups that are whole. What is ruled out is far from what `derived` asks for; the rest is counted in all rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, reduce
from itertools import combinations
from operator import xor
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import polars as pl

from anonymize.records import dataclass
from anonymize.spec import FEWEST, POINT, Notation
from anonymize.verify.cells import with_point
from anonymize.verify.columns import BATCH, NumberedColumn
from anonymize.verify.kept import Rule
from anonymize.verify.numbering import Numbering, pair, paired
from anonymize.verify.table import TextTable, numbered

Rules: TypeAlias = frozenset[Rule]
Relations: TypeAlias = Mapping[tuple[tuple[str, ...], str], Rules]
"""By what is given, one column or two, and a column that may follow from it: the rules by which it may."""

COVERED = 0.5
"""The share of the table that groups have to cover, and the largest share of the most frequent value of a copy."""
ACCURACY, GAIN, CORRELATION = 0.95, 0.9, 0.99
LEAST_BOTH = 10
"""Rows that have both values of which a correlation is taken, at least."""
SAMPLE = 1 << 14
"""Rows that are drawn, and rows of groups that are, about, of a table of more than four times as many."""
FEW = 8
"""Rows that a group has in the sample, on average, where groups need not be drawn."""
MANY_GROUPS = 64
"""Groups that are drawn, at least."""
MOST_CELLS = 1 << 23
"""Cells of all groups that are drawn, about, in wide tables."""
MARGIN = 0.1
"""How far a share in what was drawn has to be from one that is asked for, to rule something out."""
DOUBT = 3
"""So many times as many wrong guesses in the sample as are allowed rule a prediction out."""
DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%d-%b-%Y", "%d %b %Y", "%d%b%Y")
MOMENTS = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M")


def rules_of(*, copy: bool, predicted: bool) -> Rules:
    """The rules that hold."""
    rules: tuple[tuple[Rule, bool], ...] = (("copy", copy), ("predicted", predicted))
    return frozenset(rule for rule, holds in rules if holds)


def needed(most: float) -> float:
    """The accuracy from which something is predicted whose most frequent value has this share."""
    return max(ACCURACY, most + GAIN * (1 - most))


# --- columns ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OrderedColumn:
    """A column as numbers of its `texts`, of which a missing one is null."""

    name: str
    numbers: Numbering
    texts: pl.Series

    @cached_property
    def order(self) -> pl.Series | None:
        """What each value stands for, by its number, null for a missing one; None where not all are numbers, or dates
        of one form."""
        present = self.texts.is_not_null().arg_true() + 1
        for values in _read(self.texts.gather(present - 1).str.strip_chars()):
            if values.is_finite().fill_null(False).all():
                missing = pl.repeat(None, self.numbers.span, dtype=pl.Float64, eager=True)
                return missing.scatter(present, values)
        return None


def columns_of(table: TextTable, names: Sequence[str], notations: Mapping[str, Notation]) -> list[OrderedColumn]:
    """Columns of a table. `notations`: how numbers are written."""
    columns = []
    for name, column in zip(names, numbered(table, names), strict=True):
        numbers, texts, notation = *_without_missing(column, table.missing), notations.get(name, POINT)
        if notation != POINT:
            texts = texts.to_frame("text").select(with_point(pl.col("text"), notation)).to_series()
        columns.append(OrderedColumn(name, numbers, texts))
    return columns


def _without_missing(column: NumberedColumn, missing: Sequence[str]) -> tuple[Numbering, pl.Series]:
    """The column with every missing value as a null, among its texts as well."""
    absent = column.texts.is_in(list(missing))
    if not absent.any():
        return column.numbers, column.texts
    numbers = pl.int_range(1, len(absent) + 1, dtype=pl.UInt32, eager=True).set(absent, 0)
    of_row = pl.Series([0], dtype=pl.UInt32).append(numbers).gather(column.numbers.of_row)
    return Numbering(of_row, column.numbers.span), column.texts.set(absent, None)


def _read(texts: pl.Series) -> Iterator[pl.Series]:
    """Texts as numbers; and as days, and moments, of each form that the first of them has."""
    yield texts.cast(pl.Float64, strict=False)
    if not texts.head(1).str.contains("[0-9]").all():  # as every form has
        return
    for forms, kind in ((DAYS, pl.Date), (MOMENTS, pl.Datetime)):
        for form in forms:
            if texts.head(1).str.strptime(kind, form, strict=False).null_count() == 0:
                yield texts.str.strptime(kind, form, strict=False).to_physical().cast(pl.Float64)


def spearman(x: OrderedColumn, y: OrderedColumn) -> float | None:
    """The rank correlation of the rows that have both values; None where these are too few, or a column has no
    order."""
    if x.order is None or y.order is None:
        return None
    both = pl.DataFrame({"x": x.order.gather(x.numbers.of_row), "y": y.order.gather(y.numbers.of_row)})
    rows, both = both.height, both.drop_nulls()
    if both.height < max(COVERED * rows, LEAST_BOTH):
        return None
    figure = both.select(pl.corr(pl.col("x").rank(), pl.col("y").rank())).item()
    return figure if figure is not None and math.isfinite(figure) else None


# --- groups -----------------------------------------------------------------------------------------------------------

_GROUP, _ROWS = pl.col("group"), pl.col("rows")
_SIZE, _VALUES = (pl.col(name).diff().fill_null(pl.col(name)) for name in ("size", "values"))
_SECOND = pl.when(_VALUES > 1).then("second").otherwise(0)
_RIGHT = pl.when(_SECOND < _ROWS - 1).then("rows").otherwise(0)
"""The figures of a group from its most frequent value, that before it, and sums up to there."""


def groups_of(given: Numbering, target: Numbering, units: pl.Series | None) -> pl.DataFrame:
    """One row a value of `given`, in their order: its individuals (`people`), the values of `target` that they have
    (`values`), these counted with each individual's (`size`), and how many of them are guessed right from the others
    (`right`). `units`: whose rows they are; None: each is about somebody else.

    Equal numbers of both lie side by side once they are sorted, and so do those of a group. The rows of the values of a
    group are sorted in their place, so that the most frequent one comes last.
    """
    joined, span = pair(given, target)
    rows = joined.of_row.to_frame("value")
    rows = rows if units is None else rows.with_columns(unit=units).unique()
    runs, group = rows["value"].sort().rle().struct.unnest(), pl.col("value") // span
    place, most = group.rle_id().cast(pl.UInt64), rows.height + 1
    counts = runs.select(group=place, rows=((place * most + pl.col("len")).sort() % most).cast(pl.Int64))
    summed = counts.with_columns(size=_ROWS.cum_sum(), second=_ROWS.shift(1), values=pl.int_range(1, pl.len() + 1))
    last = summed.filter(_GROUP.ne_missing(_GROUP.shift(-1)))
    groups = last.select(_VALUES, size=_SIZE, people=_SIZE, right=_RIGHT)
    if units is None:
        return groups
    people = rows.group_by(group.alias("group")).agg(people=pl.col("unit").n_unique()).sort("group")
    return groups.with_columns(people["people"])


# --- what is drawn ----------------------------------------------------------------------------------------------------

_Key: TypeAlias = tuple[str, ...]
"""The columns whose groups are drawn; none: rows are."""


class _GroupFigures(NamedTuple):
    """What groups have to do with values of a column: whether `several` individuals of one have several, and in groups
    that are large, how many values are counted (`number`), of `total`, and guessed `wrong`. `repeated`, `crowded`: the
    shares of the individuals who are in groups of two, and in large ones."""

    several: bool
    number: int
    wrong: int
    total: int
    repeated: float
    crowded: float

    def unrefuted(self, most: float, covered: float) -> Rules:
        """The rules that the groups do not refute, the large ones where they cover such a share. `most`: the share of
        the most frequent value."""
        telling, allowed = self.number and self.number >= covered * self.total, DOUBT * (1 - needed(most)) * self.number
        return rules_of(copy=not self.several, predicted=not telling or self.wrong <= allowed)


@dataclass(frozen=True)
class _DrawnRows:
    """Some rows of a table. `units`: whose they are, where several may be about one; `known`: columns that have been
    asked for."""

    table: TextTable
    units: pl.Series | None
    known: dict[str, OrderedColumn] = field(default_factory=dict)

    @classmethod
    def of(cls, table: TextTable, places: pl.Series, texts: pl.DataFrame, units: pl.Series | None) -> _DrawnRows:
        """Those at some places, whose texts are these; `units` of all rows."""
        own = None if units is None else units.gather(places)
        return cls(replace(table, frame=texts.lazy(), units=None, shared=None), own)

    def columns(
        self, names: Sequence[str], notations: Mapping[str, Notation] = MappingProxyType({})
    ) -> list[OrderedColumn]:
        """Some columns; see `columns_of`."""
        lacking = [name for name in names if name not in self.known]
        if lacking:
            self.known.update({each.name: each for each in columns_of(self.table, lacking, notations)})
        return [self.known[name] for name in names]

    def figures(self, given: Sequence[str], targets: Sequence[str], least: int) -> Iterator[_GroupFigures]:
        """The figures of each of several columns; groups of `least` individuals are large. All columns are counted at
        once, one below the other."""
        columns = [each.numbers for each in self.columns([*given, *targets])]
        numbers, followers = paired(columns[: len(given)]).dense, columns[len(given) :]
        own, span = numbers.of_row.cast(pl.UInt64), numbers.span
        below = Numbering(pl.concat([own + place * span for place in range(len(followers))]), len(followers) * span)
        values = pl.concat([each.of_row.cast(pl.UInt32) for each in followers])
        units = None if self.units is None else pl.concat([self.units] * len(followers))
        groups = groups_of(below, Numbering(values, max(each.span for each in followers)), units)
        people, size = pl.col("people"), pl.col("size")
        large, in_all = people >= least, people.sum()
        figures = groups.group_by(pl.int_range(pl.len()) // (groups.height // len(followers)), maintain_order=True).agg(
            ((people > 1) & (pl.col("values") > 1)).any().alias("several"),
            size.filter(large).sum().alias("number"),
            (size - pl.col("right")).filter(large).sum().alias("wrong"),
            size.sum().alias("total"),
            (people.filter(people >= 2).sum() / in_all).alias("repeated"),
            (people.filter(large).sum() / in_all).alias("crowded"),
        )
        return (_GroupFigures(*row[1:]) for row in figures.iter_rows())


def relations_left(
    table: TextTable,
    columns: tuple[Sequence[str], Sequence[str]],
    rows: int,
    group: int,
    notations: Mapping[str, Notation],
    units: pl.Series | None,
) -> Relations | None:
    """What is not ruled out between the `columns`, quasi-identifiers and those that are kept, of a table of so many
    rows; None where these are few, and nothing has been. `group`: individuals of a group from which something is
    predicted; `units`: whose the rows are, None: each is about somebody else."""
    if rows <= 4 * SAMPLE:
        return None
    names = [*columns[0], *columns[1]]
    drawn = dict(_drawn(table, names, len(columns[0]), rows))
    if len(drawn[()][0]) < SAMPLE // 2:  # the table has other rows than was said
        return None
    first = _DrawnRows.of(table, *drawn[()], units)
    coded = first.columns(names, notations)
    # Where several texts are compared as one, the hash of one draws a part of their group.
    merged = {each.name for each in coded if len(each.texts) < drawn[()][1][each.name].drop_nulls().n_unique()}
    of_groups = {
        key: _DrawnRows.of(table, places, texts, units)
        for key, (places, texts) in drawn.items()
        if merged.isdisjoint(key) and texts[list(key)].n_unique() >= MANY_GROUPS
    }
    return _Draws(first, of_groups, group).relations(*columns)


@dataclass(frozen=True)
class _Draws:
    """Rows of a table, and groups of it by columns of many values. `group`: see `relations_left`."""

    rows: _DrawnRows
    of_groups: Mapping[_Key, _DrawnRows]
    group: int

    @cached_property
    def _most(self) -> dict[str, float]:
        """The share of the most frequent value of each column."""
        counts = {name: each.numbers.of_row.value_counts(name="n")["n"] for name, each in self.rows.known.items()}
        return {name: int(each.top_k(1).sum()) / max(int(each.sum()), 1) for name, each in counts.items()}

    def relations(self, quasi_identifiers: Sequence[str], kept: Sequence[str]) -> Relations:
        """What they do not rule out."""
        left: dict[tuple[_Key, str], Rules] = {}
        sides = [((x,), kept) for x in quasi_identifiers] + [((y,), quasi_identifiers) for y in kept]
        for given, targets in (*sides, *((both, kept) for both in combinations(quasi_identifiers, 2))):
            left |= {(given, target): rules for target, rules in self._rules(given, targets).items()}
        for x, y in ((x, y) for x in quasi_identifiers for y in kept):
            figure = spearman(self.rows.known[x], self.rows.known[y])
            if figure is not None and abs(figure) >= CORRELATION - 0.02:
                left[(x,), y] = left.get(((x,), y), frozenset()) | {"order"}
        return left

    def _rules(self, given: _Key, targets: Sequence[str]) -> dict[str, Rules]:
        """The rules by which each column may follow from others, of those of which any is left: by rows, then by whole
        groups, which say nothing of the few large groups that there may be as well."""
        left: dict[str, Rules] = {}
        large = 0.0
        for target, rows in zip(targets, self.rows.figures(given, targets, FEWEST), strict=True):
            most, large = self._most[target], rows.crowded
            rules = rules_of(copy=most <= COVERED + MARGIN, predicted=True) & rows.unrefuted(most, COVERED)
            left |= {target: rules} if rules else {}
        drawn = next((each for key, each in self.of_groups.items() if set(key) <= set(given)), None)
        if not left or drawn is None or large >= COVERED - MARGIN:
            return left
        for target, groups in zip(list(left), drawn.figures(given, list(left), self.group), strict=True):
            repeated, crowded = (large + (1 - large) * share for share in (groups.repeated, groups.crowded))
            rules = rules_of(copy=repeated >= COVERED - MARGIN, predicted=crowded >= COVERED - MARGIN)
            left[target] &= rules & groups.unrefuted(self._most[target], COVERED / 2)
        return {target: rules for target, rules in left.items() if rules}


def _drawn(
    table: TextTable, names: Sequence[str], quasi: int, rows: int
) -> Iterator[tuple[_Key, tuple[pl.Series, pl.DataFrame]]]:
    """What is drawn by each key, in one pass: the places of rows, and the texts of all columns, the first `quasi` of
    which go in pairs as well."""
    texts = table.frame.select(table.text(name).alias(str(place)) for place, name in enumerate(names))
    pieces: dict[tuple[int, ...], list[tuple[pl.Series, pl.DataFrame]]] = {}
    start = below = 0
    for batch in texts.collect_batches(chunk_size=BATCH):
        row = pl.int_range(start, start + batch.height, dtype=pl.UInt32, eager=True)
        hashes = [each.hash(seed=place) for place, each in enumerate(batch.iter_columns())]
        if not start:
            pieces = {key: [] for key in [(), *_keys(hashes, quasi)]}
            below = 2**64 * min(SAMPLE, MOST_CELLS // (len(pieces) * len(names))) // rows
        for key, own in list(pieces.items()):
            hashed = [hashes[place] for place in key]
            chosen = reduce(xor, hashed) < below if hashed else row.hash(seed=0) < 2**64 * SAMPLE // rows
            some = batch.filter(chosen)  # new texts: the old ones are parts of the text of whole batches
            own.append((row.filter(chosen), some.select(pl.all() + "")))
            if key and sum(len(places) for places, _ in own) > 4 * SAMPLE:  # a value that many rows have
                del pieces[key]
        start += batch.height
    for key, own in pieces.items():
        places, frames = zip(*own, strict=True)
        frame = pl.concat(frames)
        frame.columns = list(names)
        yield tuple(names[place] for place in key), (pl.concat(places), frame)


def _keys(hashes: Sequence[pl.Series], quasi: int) -> list[tuple[int, ...]]:
    """The columns, and the pairs of the first `quasi` of them, of so many values in the first rows that a sample would
    have few rows of each, by their hashes. Whole groups of a pair are in those of one of it."""

    def many(hashed: pl.Series) -> bool:
        first = hashed.head(SAMPLE)
        return first.n_unique() * FEW >= len(first)

    singles = [(place,) for place, hashed in enumerate(hashes) if many(hashed)]
    others = [place for place in range(quasi) if (place,) not in singles]
    return [*singles, *(both for both in combinations(others, 2) if many(xor(*(hashes[place] for place in both))))]
