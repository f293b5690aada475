"""Rows as refinement sees them: numbers of which some are missing, and what requirements look at, as a few types, so
that whether rows may be a class is a matter of counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.feasibility import beyond_size, minimum_size
from anonymize.algorithms.refining import WHOLE_RANGES, BoxAxis, Places, Singles, TaxonomyAxis, axis_of, cube_of
from anonymize.classes import Bools, Floats, Integers, Ints, Runs
from anonymize.domain.numeric import Numeric
from anonymize.judging import Judge
from anonymize.privacy import MODELS, Groups, Histogram, Requirement, check
from anonymize.records import dataclass
from anonymize.spec.base import Means
from anonymize.table import Attribute, SensitiveColumn, Table

# --- missing numbers --------------------------------------------------------------------------------------------------
# Numbers of which some are missing, as refinement sees them.
#
# A class of numbers and missing values reads as the interval of its numbers, or missing: it loses the width of that
# interval and a leaf's share. Lowest and highest code alone do not tell it, for missing is the highest leaf, and the
# highest number below it is not known then. So such a column is three axes, whose costs add up to what the class loses:
#
# - `LowEnd`: the lowest number, missing ones lying at the upper end of the column, where they lower nothing;
# - `HighEnd`: the highest number, missing ones lying at the lower end;
# - a flat axis of two leaves, present and missing, which costs what a class of both loses beyond the width.
#
# By itself, each is only what the sum makes of it: a low end costs more the lower it is, and a class of missing values
# alone loses nothing.


def axes_of(attributes: Sequence[Attribute], codes: Sequence[Integers] | NDArray[Any]) -> list[BoxAxis]:
    """The axes of some attributes, whose codes are given; three of numbers of which some of these are missing."""
    axes: list[BoxAxis] = []
    for attribute, own in zip(attributes, codes, strict=True):
        domain = attribute.domain
        if isinstance(domain, Numeric) and domain.missing is not None and 0 < (own == domain.missing).sum() < len(own):
            axes += _three(domain, own, attribute.weight)
        else:
            axes.append(axis_of(domain, own, attribute.weight))
    return axes


def _three(domain: Numeric, codes: Integers, weight: float) -> list[BoxAxis]:
    missing = codes == domain.missing
    position = domain.cost(np.zeros(len(codes), np.int64), np.where(missing, 0, codes))
    low, high = (np.where(missing, beyond, position) for beyond in (1.0, 0.0))
    share, last = np.float32(weight / domain.size), np.float32(weight)
    table = np.array([[-last, share - last], [share - last, 0]], np.float32)
    levels = np.array([[0, 1], [0, 0]]), np.array([[0, 1], [1, 1]])
    present = TaxonomyAxis(missing.astype(np.int64), table.ravel(), cube_of(table), 2, *levels, rests=False)
    return [LowEnd((weight * low).astype(np.float32), last), HighEnd((weight * high).astype(np.float32)), present]


class _End(BoxAxis):
    """What both ends have in common."""

    rests = False

    def line(self, places: Places) -> Singles:
        """Half of what numbers are apart, as there are two ends."""
        return np.asarray(places, np.float32) * np.float32(0.5)

    def between(self, places: Places, others: Places) -> Singles:
        """The cost of the interval between two places: what the farther of the two ends costs."""
        return self.joined(places, places, others)


@dataclass(frozen=True)
class LowEnd(_End):
    """Costs how far the lowest number lies below the upper end of the column, `weight`."""

    places: Places
    weight: np.float32

    def cost(self, low: Places, high: Places) -> Singles:
        return np.asarray(self.weight - low)

    def joined(self, low: Places, high: Places, places: Places) -> Singles:
        return np.asarray(self.weight - np.minimum(low, places))

    def around(self, places: Places, low: Places, high: Places, rng: np.random.Generator) -> tuple[Places, Places]:
        """Open above, and below as an interval of numbers."""
        left = np.maximum(places - (high - low) * rng.random(places.shape, np.float32) ** np.float32(1.5), low)
        return np.where(rng.random(places.shape) < WHOLE_RANGES, low, left), np.broadcast_to(high, places.shape)


@dataclass(frozen=True)
class HighEnd(_End):
    """Costs how far the highest number lies above the lower end of the column."""

    places: Places

    def cost(self, low: Places, high: Places) -> Singles:
        return np.asarray(high).copy()

    def joined(self, low: Places, high: Places, places: Places) -> Singles:
        return np.asarray(np.maximum(high, places))

    def around(self, places: Places, low: Places, high: Places, rng: np.random.Generator) -> tuple[Places, Places]:
        """Open below, and above as an interval of numbers."""
        right = np.minimum(places + (high - low) * rng.random(places.shape, np.float32) ** np.float32(1.5), high)
        return np.broadcast_to(low, places.shape), np.where(rng.random(places.shape) < WHOLE_RANGES, high, right)


# --- types of rows ----------------------------------------------------------------------------------------------------
# What requirements look at in rows, as a few types: whether rows may be a class is then a matter of counts of types.
#
# Two rows are of one type where all sensitive attributes that requirements are about are equal; where nothing but a
# number of rows is required, all rows are of one. A class is given by how many rows of each type it has, so that many
# possible classes are judged without naming the rows of any.
#
# Where attributes have many values, types are of few values that stand for several. Values that follow each other
# become one, so that all have about as many rows: of numbers that is an interval, of texts what stands together in
# their order or under their hierarchy. What a class of such values meets, the class of its rows is likely to meet, and
# no more: whoever searches with them has to ask the rows in the end.

VALUES = 32
"""Values that are left, of all attributes together, about; missing ones are further ones."""
FEWEST_DRAWS, MOST_DRAWS = 4, 32
"""Draws of rows of each size that are tried, of large and of small ones; a quarter of them has to meet the
requirements."""
DRAWN_ROWS = 1 << 21
"""Rows that are drawn at once, about."""


def coarse_table(table: Table, requirements: Sequence[Requirement], rows: Integers) -> Table | None:
    """The table with few values in each sensitive attribute that requirements are about, by the rows that are released;
    None where single values are protected, or nodes of a hierarchy are compared, which would be lost."""
    for each in requirements:
        named = each.parameters.given(Means.PROTECTED) is not None
        if named or MODELS[each.model].needs(each.parameters) == "hierarchy":
            return None
    names = {each.attribute for each in requirements}
    columns = [column for column in table.sensitive if column.name in names]
    values = max(int(VALUES ** (1 / max(len(columns), 1)) + 1e-9), 2)
    return replace(table, sensitive=tuple(coarse_column(column, rows, values) for column in columns))


def coarse_column(column: SensitiveColumn, rows: Integers, values: int) -> SensitiveColumn:
    """The column with about so many values, and the missing one, which stays by itself. A number is the mean of those
    that it stands for, weighted by their rows.

    A value goes where the middle of its rows lies, in the order of all rows: one that many rows have is not parted.
    """
    counts = np.bincount(column.codes[rows], minlength=column.size).astype(np.float64)
    if column.missing is not None:
        counts[column.missing] = 0.0
    middle = (np.cumsum(counts) - counts / 2) / max(counts.sum(), 1.0)
    place = np.minimum((middle * values).astype(np.int64), values - 1)
    if column.missing is not None:
        place[column.missing] = values
    _, value_of = np.unique(place, return_inverse=True)
    size = int(value_of.max()) + 1
    return replace(
        column,
        codes=value_of.astype(np.uint32)[column.codes],
        size=size,
        missing=None if column.missing is None else int(value_of[column.missing]),
        values=None if column.values is None else _means(column.values, counts, value_of, size),
        texts=(),
        alike=False,
        hierarchy=None,
        everywhere=None if column.everywhere is None else _summed(column.everywhere, value_of, size),
    )


def least_rows(judge: Judge, k: int, rows: Integers) -> int:
    """The fewest rows, of k and its doubles, of which a quarter of random draws meets the requirements; all rows where
    none of these does. The draws are the same at every run."""
    rng, size = np.random.default_rng(0), max(k, 1)
    while size < len(rows):
        draws = min(max(DRAWN_ROWS // size, FEWEST_DRAWS), MOST_DRAWS)
        drawn = rows[rng.integers(len(rows), size=draws * size)].astype(np.uint32)
        of = np.repeat(np.arange(draws), size)
        if 4 * np.count_nonzero(judge.meets(of, draws, judge.pick(drawn))) >= draws:
            return size
        size *= 2
    return len(rows)


def _means(numbers: Floats, counts: Floats, value_of: Ints, size: int) -> Floats:
    """(size,) the mean of the numbers (n,) that each value stands for, weighted by their rows; nan where it stands for
    none."""
    known = ~np.isnan(numbers) & (counts > 0)
    sums, weights = (np.bincount(value_of[known], each[known], minlength=size) for each in (numbers * counts, counts))
    return np.asarray(np.divide(sums, weights, out=np.full(size, np.nan), where=weights > 0))


def _summed(counts: Ints, value_of: Ints, size: int) -> Ints:
    return np.bincount(value_of, counts, minlength=size).astype(np.int64)


EXACT_TYPES = 64
"""Types at most that are told apart by all their values."""


@dataclass(frozen=True)
class RowTypes:
    """`judge`: the requirements beyond size, of all rows that are released. `k`: the fewest rows of a class. `of`
    (rows,) type of each row; `codes` (types, sensitive attributes); `weights` (types,) in which relation a class had
    best have them: as in the table where it is compared with that, else all alike. `least`: the fewest rows of a class
    that is worth trying. `exact`: what counts of types meet, rows do."""

    judge: Judge
    k: int
    of: Ints
    codes: Ints
    weights: Floats
    least: int
    exact: bool = True

    @classmethod
    def made(cls, table: Table, requirements: Sequence[Requirement], rows: Integers) -> RowTypes | None:
        """The types of some rows of the table, which are released together; None where counts of types are not all that
        requirements look at, where sensitive values that they look at are all alike, and where there are more types
        than `EXACT_TYPES` and coarser ones would not do."""
        wanted = beyond_size(table, requirements)
        judge = Judge(table, wanted, rows.astype(np.uint32))
        if not wanted:
            of, none, k = np.zeros(len(rows), np.int64), np.zeros((1, 0), np.int64), minimum_size(requirements)
            return cls(judge, k, of, none, np.ones(1), k)
        apart = table.units is None or len(np.unique(table.units)) == table.rows
        counted = apart and not any(each.population for each in wanted)
        if not counted or not judge.columns:
            return None
        different, of = _told_apart(judge, rows)
        exact, k, least = len(different) <= EXACT_TYPES, minimum_size(requirements), minimum_size(requirements)
        if not exact:
            coarse = coarse_table(table, wanted, rows)
            if coarse is None:
                return None
            least, judge = least_rows(judge, k, rows), Judge(coarse, wanted, judge.rows)
            different, of = _told_apart(judge, rows)
        if len(different) < 2:
            return None
        compares = any(MODELS[each.model].compares for each in wanted)
        shares = np.bincount(of) / len(rows)
        weights = shares if compares else np.full(len(different), 1 / len(different))
        return cls(judge, k, of, different, weights, least, exact)

    @property
    def count(self) -> int:
        """Number of types."""
        return len(self.codes)

    @property
    def alike(self) -> bool:
        """Whether all rows are of one type: nothing but a number of rows is required."""
        return self.count == 1

    def among(self, rows: Ints) -> RowTypes:
        """The types of some of the rows, renumbered; what classes are compared with stays."""
        return replace(self, of=self.of[rows])

    def meet(self, counts: Ints) -> Bools:
        """(classes,) whether classes meet every requirement, given their rows of each type (classes, types)."""
        sizes = counts.sum(axis=1)
        met = np.asarray(sizes >= self.k)
        large = np.flatnonzero(met)
        of, kind = np.nonzero(counts[large])
        number = counts[large][of, kind]
        histograms = {
            column.name: Histogram.of(
                column,
                Runs.count_values(of, codes[kind], len(large), column.size, number),
                len(large),
                self.judge.wholes[column.name],
            )
            for column, codes in zip(self.judge.columns, self.codes.T, strict=True)
        }
        met[large] = check(Groups(sizes[large], histograms), self.judge.requirements)
        return met


def _told_apart(judge: Judge, rows: Integers) -> tuple[Ints, Ints]:
    """(types, sensitive attributes) the different codes of some rows, and (rows,) which of them each row has."""
    codes = np.stack([column.codes[rows].astype(np.int64) for column in judge.columns], axis=1)
    different, of = np.unique(codes, axis=0, return_inverse=True)
    return different, of.ravel()
