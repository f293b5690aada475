"""Columns that are kept and follow from a quasi-identifier, or give it away: an age group beside the age.

However a quasi-identifier is generalized, such a column tells beside it what was to be hidden. Between a
quasi-identifier X and a kept column Y, in either direction, in the original table, it is one of three:

- a copy: no group of X with two or more individuals holds two values of Y; there are ten such groups at least, they
  cover half of the table, and the most frequent value of Y has at most half of it;
- predicted: over the groups of X of at least max(k, 5) individuals, which cover half of the table, the most frequent
  value among the others of the group is right for A of the individuals, A being 0.95 at least and (A - B) / (1 - B) 0.9
  at least, B the share of the most frequent value of Y. Both by the lower end of Wilson's 95 % interval of A (E. B.
  Wilson, "Probable inference", JASA 22, 1927), so that chance does not decide. Asked where Y has two values of k each;
- in the same order: Spearman's rank correlation is 0.99 at least, or -0.99 at most, where both are numbers or dates.

Pairs of quasi-identifiers are tried where neither of them suffices. With units, what is counted are individuals: one
that has a value in several rows has it once. A missing value is a value; two values that are equally frequent among the
others count as a wrong guess.

Most pairs of columns have nothing to do with each other, which a sample of the rows shows: only what it does not rule
out by a wide margin is counted in all rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, reduce
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple

import polars as pl

from anonymize.records import dataclass
from anonymize.spec import FEWEST, POINT, Notation
from anonymize.verify.cells import with_point
from anonymize.verify.columns import NumberedColumn
from anonymize.verify.kept import Derivation, Rule
from anonymize.verify.numbering import NUMBERS_BELOW, PIECE, Numbering, group_sizes, pair
from anonymize.verify.table import TextTable, numbered, units_of

Rules = frozenset[Rule]

LEAST_GROUPS = 10
COVERED = 0.5
"""The share of the table that groups have to cover, and the largest share of the most frequent value of a copy."""
ACCURACY, GAIN, CORRELATION = 0.95, 0.9, 0.99
Z = 1.959963984540054
"""Of a 95 % interval."""
SAMPLE = 1 << 14
"""Rows in which is looked first, of a table of more than four times as many."""
MOST_PARTS = 16
"""Parts of a table in which groups are counted by themselves."""
MANY_GROUPS = 64
"""Groups of a sample of groups, at least."""
MARGIN = 0.1
"""How far below COVERED the share of some rows whose groups are large has to be to rule out that of all rows: 13 times
its standard error, of the 4,096 rows that are looked at."""
DOUBT = 3
"""So many times as many wrong guesses in the sample as are allowed rule a prediction out."""
DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%d-%b-%Y", "%d %b %Y", "%d%b%Y")
MOMENTS = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M")


def derivations(
    table: TextTable,
    quasi_identifiers: Sequence[str],
    kept: Sequence[str],
    k: int | None,
    notations: Mapping[str, Notation] = MappingProxyType({}),
) -> list[Derivation]:
    """What the kept columns of an original table have to do with its quasi-identifiers: of each column, in their order,
    the single quasi-identifiers, or, where there is none, pairs. `k`: the largest that is required of people.
    `notations`: how numbers are written."""
    if not kept or not quasi_identifiers:
        return []
    names = [*quasi_identifiers, *kept]
    texts = [_without_missing(column, table.missing) for column in numbered(table, names)]
    rows = len(texts[0].numbers.of_row)
    sample = pl.int_range(rows, eager=True).sample(SAMPLE, seed=0).sort() if rows > 4 * SAMPLE else None
    units = units_of(table, rows)
    search = _Search(None if units is None else units.of_row, max(k or 0, FEWEST), k or FEWEST, sample)
    columns = [
        search.column(name, column, notations.get(name, POINT)) for name, column in zip(names, texts, strict=True)
    ]
    return list(search.derivations(columns[: len(quasi_identifiers)], columns[len(quasi_identifiers) :]))


def _without_missing(column: NumberedColumn, missing: Sequence[str]) -> NumberedColumn:
    """The column with every missing value as a null, among its texts as well."""
    absent = column.texts.is_in(list(missing))
    if not absent.any():
        return column
    numbers = pl.int_range(1, len(absent) + 1, dtype=pl.UInt32, eager=True).set(absent, 0)
    of_row = pl.Series([0], dtype=pl.UInt32).append(numbers).gather(column.numbers.of_row)
    return NumberedColumn(Numbering(of_row, column.numbers.span), column.texts.set(absent, None))


# --- columns ---------------------------------------------------------------------------------------------------------


class _Sizes(NamedTuple):
    """How many individuals have each value of a column. `repeated`: the values that several have are ten at least, and
    cover half of the table; `crowded`: those of large groups cover it. `most`: the share of the most frequent value;
    `second`: how many have the next one; `values`: how many there are."""

    repeated: bool
    crowded: bool
    most: float
    second: int
    values: int

    @classmethod
    def of(cls, columns: Sequence[Numbering], units: pl.Series | None, group: int) -> _Sizes:
        """Those of the values of several columns together. Rows are parted by ranges of values, which a table of groups
        of all of them would take many times the memory of: into a few parts, each of which takes a pass."""
        piece = max(PIECE, len(columns[0].of_row) // MOST_PARTS)
        pieces = group_sizes(columns, piece) if units is None else [_people(columns, units)]
        total = several = groups = crowded = values = 0
        largest: list[int] = []
        for sizes in pieces:
            repeated = sizes.filter(sizes >= 2)
            total, values = total + int(sizes.sum()), values + len(sizes)
            several, groups = several + int(repeated.sum()), groups + len(repeated)
            crowded += int(sizes.filter(sizes >= group).sum())
            largest = sorted([*largest, *sizes.top_k(2)], reverse=True)[:2]
        covered, second = COVERED * total, largest[1] if values > 1 else 0
        copied = groups >= LEAST_GROUPS and several >= covered
        return cls(copied, crowded >= covered, largest[0] / total, second, values)

    def as_given(self) -> Rules:
        """The rules by which something may follow from the column."""
        return _rules(copy=self.repeated, predicted=self.crowded)

    def as_told(self, least: int) -> Rules:
        """The rules by which it may follow from something. `least`: individuals with each of two values."""
        return _rules(copy=self.most <= COVERED, predicted=self.second >= least)


def _people(columns: Sequence[Numbering], units: pl.Series) -> pl.Series:
    """How many individuals have each value of several columns together."""
    joined = reduce(lambda first, second: pair(first, second)[0], columns)
    frame = pl.DataFrame({"value": joined.of_row, "unit": units}).unique()
    return frame["value"].value_counts(name="n")["n"]


def _rules(*, copy: bool, predicted: bool) -> Rules:
    held: tuple[tuple[Rule, bool], ...] = (("copy", copy), ("predicted", predicted))
    return frozenset(rule for rule, holds in held if holds)


@dataclass(frozen=True)
class _SizedColumn:
    """A column by itself."""

    name: str
    numbers: Numbering
    sizes: _Sizes
    texts: pl.Series
    sampled: Numbering | None
    """The numbers in the sample, where there is one."""

    @property
    def names(self) -> tuple[str]:
        """The name alone."""
        return (self.name,)

    @property
    def as_given(self) -> Rules:
        """The rules by which something may follow from the column, without counting more."""
        return self.sizes.as_given()

    def gathered(self, rows: pl.Series) -> Numbering:
        """The numbers of some rows."""
        return _gathered(self.numbers, rows)

    def pieces(self) -> Iterator[pl.Series]:
        """The numbers of all rows, some at a time."""
        yield from (self.numbers.of_row.slice(start, PIECE) for start in range(0, len(self.numbers.of_row), PIECE))

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


def _read(texts: pl.Series) -> Iterator[pl.Series]:
    """Texts as numbers; and as days, and moments, of each form that the first of them has."""
    yield texts.cast(pl.Float64, strict=False)
    if not texts.head(1).str.contains("[0-9]").all():  # as every form has
        return
    for forms, kind in ((DAYS, pl.Date), (MOMENTS, pl.Datetime)):
        for form in forms:
            if texts.head(1).str.strptime(kind, form, strict=False).null_count() == 0:
                yield texts.str.strptime(kind, form, strict=False).to_physical().cast(pl.Float64)


class _Pair:
    """Two columns together, of which no more is worked out than is asked for."""

    def __init__(self, search: _Search, first: _SizedColumn, second: _SizedColumn) -> None:
        self.names, self._search, self._columns = (first.name, second.name), search, (first, second)

    @cached_property
    def numbers(self) -> Numbering:
        """Of both, in all rows."""
        first, second = self._columns
        return pair(first.numbers, second.numbers)[0]

    @property
    def _fits(self) -> bool:
        """Whether the numbers of both side by side fit into one, so that those of some rows are those of all."""
        first, second = self._columns
        return first.numbers.span * second.numbers.span < NUMBERS_BELOW

    def gathered(self, rows: pl.Series) -> Numbering:
        """The numbers of some rows."""
        if not self._fits:
            return _gathered(self.numbers, rows)
        first, second = (each.gathered(rows) for each in self._columns)
        return pair(first, second)[0]

    def pieces(self) -> Iterator[pl.Series]:
        """The numbers of all rows, some at a time: those of all would take eight bytes a row."""
        if not self._fits:
            yield self.numbers.of_row
            return
        first, second = (each.numbers for each in self._columns)
        for start in range(0, len(first.of_row), PIECE):
            some = (Numbering(each.of_row.slice(start, PIECE), each.span) for each in (first, second))
            yield pair(next(some), next(some))[0].of_row

    @cached_property
    def sampled(self) -> Numbering | None:
        """Of both, in the sample, where there is one."""
        first, second = (column.sampled for column in self._columns)
        return None if first is None or second is None else pair(first, second)[0]

    @cached_property
    def sizes(self) -> _Sizes:
        """How many individuals have each of their values."""
        return _Sizes.of([each.numbers for each in self._columns], self._search.units, self._search.group)

    @cached_property
    def as_given(self) -> Rules:
        """The rules by which something may follow from both: those that the groups of some rows, which are counted in
        all rows, do not rule out by a wide margin."""
        if self._search.sample is None or self._search.units is not None:
            return self.sizes.as_given()
        some = self.gathered(self._search.sample.gather_every(4)).of_row.alias("key")
        keys = some.unique().implode()
        alike = pl.concat([rows.filter(rows.is_in(keys)) for rows in self.pieces()])
        people = some.to_frame().join(alike.alias("key").value_counts(name="n"), on="key")["n"]
        repeated, crowded = (int((people >= least).sum()) / len(people) for least in (2, self._search.group))
        return _rules(copy=repeated >= COVERED - MARGIN, predicted=crowded >= COVERED - MARGIN)


# --- two columns together --------------------------------------------------------------------------------------------

_GROUP, _ROWS = pl.col("group"), pl.col("rows")
_SIZE, _VALUES = (pl.col(name).diff().fill_null(pl.col(name)) for name in ("size", "values"))
_SECOND = pl.when(_VALUES > 1).then("second").otherwise(0)
_RIGHT = pl.when(_SECOND < _ROWS - 1).then("rows").otherwise(0)
"""The figures of a group from its most frequent value, that before it, and sums up to there."""


def _groups(given: Numbering, target: Numbering, units: pl.Series | None) -> pl.DataFrame:
    """One row a value of `given`, in their order: its individuals (`people`), the values of `target` that they have
    (`values`), these counted with each individual's (`size`), and how many of them are guessed right from the others
    (`right`).

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


def _gathered(numbers: Numbering, rows: pl.Series) -> Numbering:
    return Numbering(numbers.of_row.gather(rows), numbers.span)


def _wilson(share: float, number: int) -> float:
    """The lower end of the interval of a share of so many."""
    square = Z * Z / number
    spread: float = Z * math.sqrt((share * (1 - share) + square / 4) / number)
    return (share + square / 2 - spread) / (1 + square)


# --- what is tried ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Search:
    """Which columns go together. `units`: whose rows they are, None: each is about somebody else. `group`: individuals
    of a group from which something is predicted, `least`: of each of two values of what is predicted. `sample`: the
    rows that are looked at first. `chosen`: see `_some_groups`, by names."""

    units: pl.Series | None
    group: int
    least: int
    sample: pl.Series | None
    chosen: dict[tuple[str, ...], pl.Series] = field(default_factory=dict)

    def column(self, name: str, column: NumberedColumn, notation: Notation) -> _SizedColumn:
        """A column, and what is known of it alone."""
        sizes = _Sizes.of([column.numbers], self.units, self.group)
        texts = column.texts
        if notation != POINT:
            texts = texts.to_frame("text").select(with_point(pl.col("text"), notation)).to_series()
        sampled = None if self.sample is None else _gathered(column.numbers, self.sample)
        return _SizedColumn(name, column.numbers, sizes, texts, sampled)

    def derivations(self, quasi: Sequence[_SizedColumn], kept: Sequence[_SizedColumn]) -> Iterator[Derivation]:
        """The derivations between each kept column and the quasi-identifiers."""
        of_column = {y.name: [each for x in quasi for each in self._single(x, y)] for y in kept}
        left = [y for y in kept if not of_column[y.name] and y.sizes.as_told(self.least)]
        for first, second in combinations(quasi, 2) if left else ():
            both = _Pair(self, first, second)
            for y in left:
                if held := self._held(both, y):
                    of_column[y.name].append(Derivation(y.name, both.names, True, *held))
        return (each for y in kept for each in of_column[y.name])

    def _single(self, x: _SizedColumn, y: _SizedColumn) -> Iterator[Derivation]:
        """The derivation of a column from one other, by the first rule that holds, in the first direction."""
        for given, target in ((x, y), (y, x)):
            if held := self._held(given, target):
                yield Derivation(y.name, (x.name,), given is x, *held)
                return
        figure = self._correlation(x, y)
        if figure is not None and abs(figure) >= CORRELATION:
            yield Derivation(y.name, (x.name,), y.sizes.values <= x.sizes.values, "order", figure)

    def _held(self, given: _SizedColumn | _Pair, target: _SizedColumn) -> tuple[Rule, float | None] | None:
        """The rule by which one column follows from what is given, and its figure; None where it does not."""
        rules = target.sizes.as_told(self.least)
        if rules and self.sample is not None and given.sampled is not None and target.sampled is not None:
            rules = self._left(rules, given.sampled, target.sampled, target.sizes.most, self.sample)
        rules = rules and rules & given.as_given
        rules = rules and rules & given.sizes.as_given()
        some = self._some_groups(given, len(target.numbers.of_row)) if rules else None
        if some is not None:
            first, second = given.gathered(some), target.gathered(some)
            rules = self._left(rules, first, second, target.sizes.most, some)
        if not rules:
            return None
        groups = _groups(given.numbers, target.numbers, self.units)
        if "copy" in rules and _copied(groups):
            return "copy", None
        figure = self._predicted(groups, target) if "predicted" in rules else None
        return None if figure is None else ("predicted", figure)

    def _some_groups(self, given: _SizedColumn | _Pair, rows: int) -> pl.Series | None:
        """Some of so many rows: those of as many groups as have about those of a sample; None where all rows are few,
        or the groups."""
        if self.sample is None or given.sizes.most > COVERED:
            return None
        share = rows // len(self.sample)
        if given.sizes.values < MANY_GROUPS * share:
            return None
        if given.names not in self.chosen:
            self.chosen[given.names] = _rows_of_groups(given, share)
        return self.chosen[given.names]

    def _left(self, rules: Rules, given: Numbering, target: Numbering, most: float, some: pl.Series) -> Rules:
        """The rules that may hold of all rows by what some show: individuals with two values refute a copy. `most`: the
        share of the target's most frequent value."""
        groups = _groups(given, target, None if self.units is None else self.units.gather(some))
        people, size = pl.col("people"), pl.col("size")
        large = people >= FEWEST
        several, number, wrong, total = groups.select(
            several=((people > 1) & (pl.col("values") > 1)).any(),
            number=size.filter(large).sum(),
            wrong=(size - pl.col("right")).filter(large).sum(),
            total=size.sum(),
        ).row(0)
        telling = number >= COVERED * total
        allowed = DOUBT * (1 - _needed(most)) * number
        return rules & _rules(copy=not several, predicted=not telling or wrong <= allowed)

    def _predicted(self, groups: pl.DataFrame, target: _SizedColumn) -> float | None:
        """The accuracy with which values are predicted; None where it is too low, or of too few."""
        large = groups.filter(pl.col("people") >= self.group)
        number = int(large["size"].sum())
        if not number or number < COVERED * int(groups["size"].sum()):
            return None
        accuracy = int(large["right"].sum()) / number
        return accuracy if _wilson(accuracy, number) >= _needed(target.sizes.most) else None

    def _correlation(self, x: _SizedColumn, y: _SizedColumn) -> float | None:
        """Spearman's, of the rows that have both values; None where these are too few, or a column has no order."""
        if x.order is None or y.order is None:
            return None
        if x.sampled is not None and y.sampled is not None:
            figure = _spearman(x.sampled, y.sampled, x.order, y.order)
            if figure is None or abs(figure) < CORRELATION - 0.02:
                return None
        return _spearman(x.numbers, y.numbers, x.order, y.order)


def _rows_of_groups(given: _SizedColumn | _Pair, share: int) -> pl.Series:
    """The rows of one in so many groups."""
    chosen, before = [], 0
    for numbers in given.pieces():
        chosen.append((numbers.hash(seed=0) % share == 0).arg_true() + before)
        before += len(numbers)
    return pl.concat(chosen)


def _needed(most: float) -> float:
    """The accuracy from which something is predicted whose most frequent value has this share."""
    return max(ACCURACY, most + GAIN * (1 - most))


def _copied(groups: pl.DataFrame) -> bool:
    several = groups.filter(pl.col("people") >= 2)
    covered = int(several["size"].sum()) >= COVERED * int(groups["size"].sum())
    return covered and several.height >= LEAST_GROUPS and bool((several["values"] == 1).all())


def _spearman(x: Numbering, y: Numbering, order_of_x: pl.Series, order_of_y: pl.Series) -> float | None:
    both = pl.DataFrame({"x": order_of_x.gather(x.of_row), "y": order_of_y.gather(y.of_row)})
    rows, both = both.height, both.drop_nulls()
    if both.height < max(COVERED * rows, LEAST_GROUPS):
        return None
    figure = both.select(pl.corr(pl.col("x").rank(), pl.col("y").rank())).item()
    return figure if figure is not None and math.isfinite(figure) else None
