"""Refinement: rows change their classes for as long as less information is lost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Integers
from anonymize.domain import Domain
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.records import dataclass

# --- measure ----------------------------------------------------------------------------------------------------------
# Weighted NCP of boxes among some rows, in single precision and by small tables: what a local search asks for most.
#
# Every attribute is an axis. Numbers become positions, so that a cost is a difference; the leaves of a taxonomy that
# occur are renumbered, so that a cost is a look-up in a table of no more than they need.

Singles: TypeAlias = NDArray[np.float32]
Places: TypeAlias = NDArray[Any]
"""Places on one axis: float32 positions of numbers, or int64 numbers of leaves; they compare as codes do."""

TABLED_LEAVES = 1 << 11
"""With more leaves that occur, the cost of an interval is asked of the hierarchy: a table of all would not fit."""
CUBED_LEAVES = 1 << 6
"""With at most this many leaves, the cost of an interval that a leaf joins is looked up in a table of size cubed."""
TABLED_NUMBERS = 1 << 9
"""With more numbers that occur, what their intervals cost is taken for what it is without rounded ends."""
WHOLE_RANGES = 0.25
"""How often an interval of numbers that is drawn at random is all there is."""
PLACES_TABLED = 1 << 9
"""With at most this many different places on an axis, what each adds to a box is worked out once per place instead of
once per row."""


class BoxAxis(ABC):
    """One attribute, as far as it occurs among the rows, or what one of its ends costs (see `missing`).

    `rests`: whether rows that agree cost nothing; otherwise only the axes of an attribute together say what they cost.
    """

    rests: bool = True
    places: Places
    """(rows,)"""

    @abstractmethod
    def line(self, places: Places) -> Singles:
        """Where places lie on a line, for finding near ones: far apart where an interval of both costs much."""

    @abstractmethod
    def cost(self, low: Places, high: Places) -> Singles:
        """Weighted cost of each interval, of any shape."""

    def between(self, places: Places, others: Places) -> Singles:
        """What tells how far places lie apart, but for a share of those of the one: weighted cost of the interval of
        both; shapes are broadcast."""
        return self.cost(places, others)

    @abstractmethod
    def joined(self, low: Places, high: Places, places: Places) -> Singles:
        """Weighted cost of each interval once a place has joined it; shapes are broadcast."""

    def join(self, total: Singles, low: Places, high: Places, places: Places, work: Singles) -> None:
        """Adds `joined` to a total; `work` is as large as that, and overwritten."""
        total += self.joined(low, high, places)

    def spread(self, low: Places, high: Places, places: Places, scale: Singles, out: Singles, work: Singles) -> Singles:
        """`joined` times `scale`, of intervals (boxes,) and places (rows, 1); may be in `out` (rows, boxes)."""
        return np.multiply(self.joined(low, high, places), scale, out=out)

    @abstractmethod
    def around(self, places: Places, low: Places, high: Places, rng: np.random.Generator) -> tuple[Places, Places]:
        """The ends of intervals drawn at random, each around a place and within [low, high]; shapes are broadcast."""


@dataclass(frozen=True)
class NumericAxis(BoxAxis):
    """Positions of numbers: the cost of an interval is its length."""

    places: Places

    def line(self, places: Places) -> Singles:
        return np.asarray(places, np.float32)

    def cost(self, low: Places, high: Places) -> Singles:
        return np.asarray(high - low)

    def between(self, places: Places, others: Places) -> Singles:
        apart = places - others
        return np.asarray(np.abs(apart, out=apart))

    def joined(self, low: Places, high: Places, places: Places) -> Singles:
        length = np.maximum(high, places)
        length -= np.minimum(low, places)
        return np.asarray(length)

    def join(self, total: Singles, low: Places, high: Places, places: Places, work: Singles) -> None:
        total += np.maximum(high, places, out=work)
        total -= np.minimum(low, places, out=work)

    def spread(self, low: Places, high: Places, places: Places, scale: Singles, out: Singles, work: Singles) -> Singles:
        np.maximum(high, places, out=out)
        out -= np.minimum(low, places, out=work)
        out *= scale
        return out

    def around(self, places: Places, low: Places, high: Places, rng: np.random.Generator) -> tuple[Places, Places]:
        """Ranges of any length, short ones more often; and now and then the whole of [low, high]."""
        length = (high - low) * rng.random(places.shape, np.float32) ** np.float32(1.5)
        left = places - length * rng.random(places.shape, np.float32)
        whole = rng.random(places.shape) < WHOLE_RANGES
        ends = np.maximum(left, low), np.minimum(left + length, high)
        return np.where(whole, low, np.minimum(ends[0], places)), np.where(whole, high, np.maximum(ends[1], places))


class LeavesAxis(BoxAxis):
    """What axes of leaves have in common. `first`, `last` (height + 1, leaves): the leaves under the ancestor of each
    leaf, by level."""

    first: Places
    last: Places

    def around(self, places: Places, low: Places, high: Places, rng: np.random.Generator) -> tuple[Places, Places]:
        """The node above the leaf at a level drawn at random."""
        cells = rng.integers(0, len(self.first), places.shape)
        cells *= self.first.shape[1]
        cells += places
        return np.maximum(self.first.take(cells), low), np.minimum(self.last.take(cells), high)


@dataclass(frozen=True)
class TaxonomyAxis(LeavesAxis):
    """Leaves that occur, by number. `table` (size * size,) has the cost of each interval, at low x size + high. `cube`
    (size * size * size,), made where leaves are few, has the cost of each interval that a leaf has joined. `first`,
    `last`: see `LeavesAxis`."""

    places: Places
    table: Singles
    cube: Singles | None
    size: int
    first: Places
    last: Places
    rests: bool = True

    def line(self, places: Places) -> Singles:
        """From leaf to leaf it is as far as the lowest node above both costs."""
        leaves = np.arange(1, self.size)
        steps = self.table.take((leaves - 1) * self.size + leaves)
        return np.append(np.float32(0), np.cumsum(steps)).astype(np.float32)[places]

    def cost(self, low: Places, high: Places) -> Singles:
        cells = low * self.size
        cells += high
        return self.table.take(cells)

    def between(self, places: Places, others: Places) -> Singles:
        """The cost of the interval between two leaves; the table has both orders of the two."""
        return self.table.take(places * self.size + others)

    def joined(self, low: Places, high: Places, places: Places) -> Singles:
        if self.cube is None:
            return self.cost(np.minimum(low, places), np.maximum(high, places))
        cells = low * self.size
        cells += high
        cells *= self.size
        return self.cube.take(cells + places)


@dataclass(frozen=True)
class RoundedAxis(TaxonomyAxis):
    """Numbers that occur, by number, whose intervals are shown with rounded ends: the table has what these cost on
    average (see `Numeric.expected_cost`). `positions` (size,): of the numbers themselves. `first`, `last`: ranges of
    neighbours, of 0, 1, 2, 4, ... on either side, and all."""

    positions: Singles = field(kw_only=True)

    @classmethod
    def of(cls, domain: Numeric, codes: Integers, weight: float) -> RoundedAxis:
        """The axis of numbers whose codes (rows,) are given."""
        leaves, places = np.unique(codes, return_inverse=True)
        size, every = len(leaves), np.arange(len(leaves))
        low, high = np.triu_indices(size)
        table = np.zeros((size, size), np.float32)
        table[low, high] = table[high, low] = weight * domain.expected_cost(leaves[low], leaves[high])
        reach = np.array([0, *(1 << np.arange(size.bit_length())).tolist()])[:, None]
        extents = np.maximum(every - reach, 0), np.minimum(every + reach, size - 1)
        positions = (weight * domain.cost(np.zeros(size, np.int64), leaves)).astype(np.float32)
        cube = cube_of(table) if size <= CUBED_LEAVES else None
        return cls(places, table.ravel(), cube, size, *extents, positions=positions)

    def line(self, places: Places) -> Singles:
        return self.positions[places]


@dataclass(frozen=True)
class ManyLeavesAxis(LeavesAxis):
    """Leaves that occur, by number, where a table of their intervals would be too large. `leaves` (size,): the leaf of
    each number, ascending; `first`, `last`: see `LeavesAxis`."""

    places: Places
    domain: Taxonomy
    weight: float
    leaves: Places
    first: Places
    last: Places

    def line(self, places: Places) -> Singles:
        steps = self.weight * self.domain.cost(self.leaves[:-1], self.leaves[1:])
        return np.append(0, np.cumsum(steps)).astype(np.float32)[places]

    def cost(self, low: Places, high: Places) -> Singles:
        """The cost of each interval; of ends that cross, that of the interval between them."""
        ends = np.minimum(low, high), np.maximum(low, high)
        return (self.weight * self.domain.cost(*(self.leaves[end] for end in ends))).astype(np.float32)

    def joined(self, low: Places, high: Places, places: Places) -> Singles:
        return self.cost(np.minimum(low, places), np.maximum(high, places))


def axis_of(domain: Domain, codes: Integers, weight: float) -> BoxAxis:
    """The axis of an attribute whose codes (rows,) are given; of numbers all or none are missing."""
    if isinstance(domain, Numeric):
        missing = domain.missing is not None and bool((codes == domain.missing).any())  # then all are
        if domain.rounds and not missing and len(np.unique(codes)) <= TABLED_NUMBERS:
            return RoundedAxis.of(domain, codes, weight)
        return NumericAxis((weight * domain.cost(np.zeros(len(codes), np.int64), codes)).astype(np.float32))
    assert isinstance(domain, Taxonomy)
    leaves, places = np.unique(codes, return_inverse=True)
    size = len(leaves)
    if size > TABLED_LEAVES:
        return ManyLeavesAxis(places, domain, weight, leaves, *_extents(domain, leaves))
    low, high = np.meshgrid(leaves, leaves, indexing="ij")
    table = (weight * domain.cost(np.minimum(low, high), np.maximum(low, high))).astype(np.float32)
    cube = cube_of(table) if size <= CUBED_LEAVES else None
    return TaxonomyAxis(places, table.ravel(), cube, size, *_extents(domain, leaves))


def _extents(domain: Taxonomy, leaves: Integers) -> tuple[Places, Places]:
    """(height + 1, leaves) the first and the last of these leaves under the ancestor of each, at each level."""
    nodes = domain.levels[:, leaves]
    return np.searchsorted(leaves, domain.start[nodes]), np.searchsorted(leaves, domain.stop[nodes]) - 1


def cube_of(table: Singles) -> Singles:
    """(size * size * size,) from the table (size, size): cost of the interval from low to high and a third leaf."""
    leaves = np.arange(len(table))
    low, high, third = np.meshgrid(leaves, leaves, leaves, indexing="ij", sparse=True)
    return table[np.minimum(low, third), np.maximum(high, third)].ravel()


class BoxMeasure:
    """Weighted NCP of boxes of some rows.

    A box is the low and the high place on each axis: two lists of arrays of one shape. `size`: number of rows.
    """

    def __init__(self, axes: Sequence[BoxAxis]) -> None:
        self.axes = tuple(axes)
        self.places = [axis.places for axis in axes]
        self.size = len(self.places[0])

    @cached_property
    def _kinds(self) -> list[Kinds]:
        return _kinds(self.places)

    @cached_property
    def _many(self) -> list[int]:
        """The axes of no kind."""
        return sorted(set(range(len(self.axes))).difference(*(kinds.axes for kinds in self._kinds)))

    def cost(self, low: Sequence[Places], high: Sequence[Places]) -> Singles:
        """Penalty of one row of each box."""
        total = self.axes[0].cost(low[0], high[0])
        for axis, left, right in zip(self.axes[1:], low[1:], high[1:], strict=True):
            total += axis.cost(left, right)
        return total

    def joined(self, low: Sequence[Places], high: Sequence[Places], places: Sequence[Places]) -> Singles:
        """Penalty of one row of each box once the rows at the places have joined it; shapes are broadcast."""
        total = self.axes[0].joined(low[0], high[0], places[0])
        for axis, left, right, place in zip(self.axes[1:], low[1:], high[1:], places[1:], strict=True):
            total += axis.joined(left, right, place)
        return total

    def places_of(self, rows: Integers) -> list[Places]:
        """The places of some rows."""
        return [places[rows] for places in self.places]

    def crossing(
        self, low: Sequence[Places], high: Sequence[Places], scale: Singles, offset: Singles
    ) -> Callable[[Integers], Singles]:
        """A function of rows (n,): (n, boxes) the penalty of each box once the row has joined it, times `scale` less
        `offset` (boxes,). What it returns is overwritten by its next call.

        What is the same for all rows of one kind is worked out here, once.
        """
        tables = [(kinds.of, self._table(kinds, low, high, scale)) for kinds in self._kinds]
        if tables:
            tables[0][1][...] -= offset
        axes = [(self.axes[index], low[index], high[index]) for index in self._many]
        kept = np.empty((3, 0, len(scale)), np.float32)

        def cross(rows: Integers) -> Singles:
            nonlocal kept
            if kept.shape[1] < len(rows):
                kept = np.empty((3, len(rows), len(scale)), np.float32)
            total: Singles
            total, part, other = kept[:, : len(rows)]
            total[...] = -offset
            for number, (kind, table) in enumerate(tables):
                np.take(table, kind[rows], axis=0, out=part if number else total, mode="clip")
                if number:
                    total += part
            for axis, left, right in axes:
                total += axis.spread(left, right, axis.places[rows][:, None], scale, part, other)
            return total

        return cross

    def _table(self, kinds: Kinds, low: Sequence[Places], high: Sequence[Places], scale: Singles) -> Singles:
        """(kinds, boxes) what the axes of some kinds add to the penalty of each box, times `scale`."""
        total = np.zeros((len(kinds.rows), len(scale)), np.float32)
        for index in kinds.axes:
            place = self.places[index][kinds.rows][:, None]
            total += self.axes[index].joined(low[index], high[index], place)
        total *= scale
        return total


@dataclass(frozen=True)
class Kinds:
    """Rows that are alike on some axes: `axes`; `of` (rows,) the kind of each row; `rows` (kinds,) one of each."""

    axes: list[int]
    of: NDArray[np.intp]
    rows: NDArray[np.intp]


def _kinds(places: Sequence[Places]) -> list[Kinds]:
    """The axes put together, those of fewest different places first, as long as there are few kinds of rows."""
    alone = (_together([index], places, None) for index in range(len(places)))
    kept: list[Kinds] = []
    for kinds in sorted(alone, key=lambda kinds: len(kinds.rows)):
        both = _together([*kept[-1].axes, *kinds.axes], places, kept[-1]) if kept else kinds
        if kept and len(both.rows) <= PLACES_TABLED:
            kept[-1] = both
        elif len(kinds.rows) <= PLACES_TABLED:
            kept.append(kinds)
    return kept


def _together(axes: list[int], places: Sequence[Places], before: Kinds | None) -> Kinds:
    """The kinds of rows on axes of which all but the last have been put together before."""
    different, last = np.unique(places[axes[-1]], return_inverse=True)
    key = last if before is None else before.of * len(different) + last
    _, rows, of = np.unique(key, return_index=True, return_inverse=True)
    return Kinds(axes, of, rows)
