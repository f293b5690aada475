"""Columns that are kept and follow from a quasi-identifier, or give it away: an age group next to the age.

However a quasi-identifier is generalized, such a column discloses what was to be hidden. Between a
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

Most pairs of columns have nothing to do with each other, which some rows show: only what `dependence` does not rule out
by them is counted in all rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple

import polars as pl

from anonymize.records import dataclass
from anonymize.spec import FEWEST, Notation
from anonymize.verify import dependence
from anonymize.verify.kept import Derivation, Rule
from anonymize.verify.numbering import PIECE, Numbering, group_sizes, paired
from anonymize.verify.table import TextTable, units_of

LEAST_GROUPS = 10
Z = 1.959963984540054
"""Of a 95 % interval."""
MOST_PARTS = 16
"""Parts of a table in which groups are counted by themselves."""


def derivations(
    table: TextTable,
    quasi_identifiers: Sequence[str],
    kept: Sequence[str],
    rows: int,
    k: int | None,
    notations: Mapping[str, Notation] = MappingProxyType({}),
) -> list[Derivation]:
    """What the kept columns of an original table have to do with its quasi-identifiers: of each column, in their order,
    the single quasi-identifiers, or, where there is none, pairs. `rows`: how many it has, about; `k`: the largest that
    is required of people. `notations`: how numbers are written."""
    if not kept or not quasi_identifiers:
        return []
    units, group = units_of(table, 0 if table.units is None else len(table.units)), max(k or 0, FEWEST)
    people = None if units is None else units.of_row
    relations = dependence.relations_left(table, (quasi_identifiers, kept), rows, group, notations, people)
    if relations is not None:
        involved = {name for given, target in relations for name in (*given, target)}
        quasi_identifiers, kept = ([name for name in names if name in involved] for names in (quasi_identifiers, kept))
    search = _Search(people, group, k or FEWEST, relations)
    names = [*quasi_identifiers, *kept]
    columns = list(map(search.column, dependence.columns_of(table, names, notations) if names else ()))
    return list(search.derivations(columns[: len(quasi_identifiers)], columns[len(quasi_identifiers) :]))


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
        covered, second = dependence.COVERED * total, largest[1] if values > 1 else 0
        copied = groups >= LEAST_GROUPS and several >= covered
        return cls(copied, crowded >= covered, largest[0] / total, second, values)

    def as_given(self) -> dependence.Rules:
        """The rules by which something may follow from the column."""
        return dependence.rules_of(copy=self.repeated, predicted=self.crowded)

    def as_target(self, least: int) -> dependence.Rules:
        """The rules by which it may follow from something. `least`: individuals with each of two values."""
        return dependence.rules_of(copy=self.most <= dependence.COVERED, predicted=self.second >= least)


def _people(columns: Sequence[Numbering], units: pl.Series) -> pl.Series:
    """How many individuals have each value of several columns together."""
    frame = pl.DataFrame({"value": paired(columns).of_row, "unit": units}).unique()
    return frame["value"].value_counts(name="n")["n"]


@dataclass(frozen=True)
class _SizedColumn:
    """A column by itself."""

    column: dependence.OrderedColumn
    sizes: _Sizes

    @property
    def names(self) -> tuple[str]:
        return (self.column.name,)

    @property
    def numbers(self) -> Numbering:
        return self.column.numbers


class _Pair:
    """Two columns together, of which no more is worked out than is asked for."""

    def __init__(self, search: _Search, first: _SizedColumn, second: _SizedColumn) -> None:
        self.names, self._search, self._columns = (*first.names, *second.names), search, (first, second)

    @cached_property
    def numbers(self) -> Numbering:
        return paired([each.numbers for each in self._columns])

    @cached_property
    def sizes(self) -> _Sizes:
        return _Sizes.of([each.numbers for each in self._columns], self._search.units, self._search.group)


# --- what is tried ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Search:
    """Which columns go together. `units`: whose rows they are, None: each is about somebody else. `group`: individuals
    of a group from which something is predicted, `least`: of each of two values of what is predicted. `relations`: what
    is left of all of them; None: nothing has been ruled out."""

    units: pl.Series | None
    group: int
    least: int
    relations: dependence.Relations | None

    def column(self, column: dependence.OrderedColumn) -> _SizedColumn:
        """A column, and what is known of it alone."""
        return _SizedColumn(column, _Sizes.of([column.numbers], self.units, self.group))

    def derivations(self, quasi: Sequence[_SizedColumn], kept: Sequence[_SizedColumn]) -> Iterator[Derivation]:
        """The derivations between each kept column and the quasi-identifiers."""
        of_column = {y.column.name: [each for x in quasi for each in self._single(x, y)] for y in kept}
        left = [y for y in kept if not of_column[y.column.name] and y.sizes.as_target(self.least)]
        for first, second in combinations(quasi, 2) if left else ():
            both = _Pair(self, first, second)
            for y in left:
                if rule := self._rule(both, y):
                    of_column[y.column.name].append(Derivation(y.column.name, both.names, True, *rule))
        return (each for own in of_column.values() for each in own)

    def _single(self, x: _SizedColumn, y: _SizedColumn) -> Iterator[Derivation]:
        """The derivation of a column from one other, by the first rule that holds, in the first direction."""
        name = y.column.name
        for given, target in ((x, y), (y, x)):
            if rule := self._rule(given, target):
                yield Derivation(name, x.names, given is x, *rule)
                return
        figure = dependence.spearman(x.column, y.column) if "order" in self._left(x, y) else None
        if figure is not None and abs(figure) >= dependence.CORRELATION:
            yield Derivation(name, x.names, y.sizes.values <= x.sizes.values, "order", figure)

    def _left(self, given: _SizedColumn | _Pair, target: _SizedColumn) -> dependence.Rules:
        """The rules by which something may follow."""
        every: dependence.Rules = frozenset({"copy", "predicted", "order"})
        if self.relations is None:
            return every
        return self.relations.get((given.names, target.column.name), every - every)

    def _rule(self, given: _SizedColumn | _Pair, target: _SizedColumn) -> tuple[Rule, float | None] | None:
        """The rule by which one column follows from what is given, and its figure; None where it does not."""
        rules = self._left(given, target) & target.sizes.as_target(self.least)
        rules = rules and rules & given.sizes.as_given()
        if not rules:
            return None
        groups = dependence.groups_of(given.numbers, target.numbers, self.units)
        if "copy" in rules and _copied(groups):
            return "copy", None
        figure = self._predicted(groups, target) if "predicted" in rules else None
        return None if figure is None else ("predicted", figure)

    def _predicted(self, groups: pl.DataFrame, target: _SizedColumn) -> float | None:
        """The accuracy with which values are predicted; None where it is too low, or of too few."""
        large = groups.filter(pl.col("people") >= self.group)
        number = int(large["size"].sum())
        if not number or number < dependence.COVERED * int(groups["size"].sum()):
            return None
        accuracy = int(large["right"].sum()) / number
        return accuracy if _wilson(accuracy, number) >= dependence.needed(target.sizes.most) else None


def _wilson(share: float, number: int) -> float:
    """The lower end of the interval of a share of so many."""
    square = Z * Z / number
    spread: float = Z * math.sqrt((share * (1 - share) + square / 4) / number)
    return (share + square / 2 - spread) / (1 + square)


def _copied(groups: pl.DataFrame) -> bool:
    several = groups.filter(pl.col("people") >= 2)
    covered = int(several["size"].sum()) >= dependence.COVERED * int(groups["size"].sum())
    return covered and several.height >= LEAST_GROUPS and bool((several["values"] == 1).all())
