"""The distinct regions of one attribute, over which rows are spread evenly; and which of many items lie below a
threshold, as bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Bools, Floats, Integers, Ints
from anonymize.domain import LeafSets
from anonymize.records import dataclass

# --- bits -------------------------------------------------------------------------------------------------------------
# 64 items are one word. The items of a range are those below its end without those below its begin; those of a box are
# the words of its ranges combined bit by bit. So a query takes some operations on rows / 64 words for each attribute
# that it restricts, whatever share of the rows it selects.
#
# The rank of an item is the number of thresholds at or below its value: it lies below threshold j exactly if its rank
# is at most j. Where there are many thresholds, a table of bits for each would be large, so ranks are written with two
# digits, and there is a table of bits for each digit alone: below (h, l) lies what has a lower first digit, or one of
# at most h and a second one of at most l.

Words = NDArray[np.uint64]
EVERY = slice(None)
WORD = 64
"""Items of a word."""
ONE_DIGIT = 128
"""Thresholds, up to which a table of bits for each is worth its memory."""


@dataclass(frozen=True)
class PrefixBits:
    """Items below each of some thresholds. `upper` (digits + 1, words): those whose first digit is below each;
    `lower` (base, words): those whose second digit is at most each, None where ranks have one digit."""

    upper: Words
    lower: Words | None

    @classmethod
    def of(cls, ranks: Ints, thresholds: int) -> PrefixBits:
        """The bits of items with these ranks (items,), which are at most the number of thresholds."""
        if thresholds < ONE_DIGIT:
            return cls(_table(ranks, thresholds + 2), None)
        base = math.isqrt(thresholds) + 1
        first, second = np.divmod(ranks, base)
        return cls(_table(first, thresholds // base + 2), _table(second, base + 1)[1:])

    def below(self, threshold: int, part: slice = EVERY) -> Words:
        """(words,) the items of some words below a threshold, by its position; not to be written to."""
        if self.lower is None:
            return np.asarray(self.upper[threshold + 1, part])
        first, second = divmod(threshold, len(self.lower))
        words = self.upper[first + 1, part] & self.lower[second, part]
        words |= self.upper[first, part]
        return np.asarray(words)


def _table(digits: Ints, count: int) -> Words:
    """(count, words) the items whose digit is below 0, 1, ..., count - 1."""
    words = -(-len(digits) // 64)
    table = np.zeros((count, words * 8), np.uint8)
    narrow = digits.astype(np.min_scalar_type(count))
    for digit in range(1, count):
        packed = np.packbits(narrow < digit, bitorder="little")
        table[digit, : len(packed)] = packed
    return table.view(np.uint64)


def positions(words: Words) -> Ints:
    """The items whose bits are set, ascending."""
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little").view(np.bool_))


def ranks(values: NDArray[Any], thresholds: NDArray[Any]) -> Ints:
    """(items,) how many of the ascending thresholds are at or below each value; whole numbers below the number of
    items are looked up once each."""
    if np.issubdtype(values.dtype, np.integer) and len(values) and values.min() >= 0 and values.max() < len(values):
        every = np.searchsorted(thresholds, np.arange(values.max() + 1), "right").astype(np.int64)
        return np.asarray(every.take(values))
    return np.searchsorted(thresholds, values, "right").astype(np.int64)


def thresholds_of(ends: NDArray[Any], used: Bools) -> tuple[NDArray[Any], Ints]:
    """The distinct ends (boxes,) of the boxes in which they are used, and (boxes,) the position of each among them."""
    thresholds = np.unique(ends[used])
    return thresholds, np.searchsorted(thresholds, ends).astype(np.int64)


FIRST: Words = np.packbits(np.tri(64, 64, -1, np.uint8), axis=1, bitorder="little").view(np.uint64).reshape(-1)
"""(64,) words of which the first 0, 1, ..., 63 bits are set."""


Ends = TypeVar("Ends", Floats, float)
PICKED_COST = 3
"""Times that a region costs more where it is picked by itself than where it follows the one before."""
PASSED_COST = 3
"""Times that a region costs more where it is picked than where it is passed on the way through all of them."""


def met_ends(low: Ends, high: Ends, whole: bool) -> tuple[Ends, Ends]:
    """A region meets [low, high] where it starts below the first and does not stop below the second of these. A whole
    number is as wide as 1: regions meet what is nearer than 1, or equal where numbers are further apart."""
    if whole:
        return np.maximum(high + 1, np.nextafter(high, np.inf)), np.minimum(np.nextafter(low - 1, np.inf), low)
    return np.nextafter(high, np.inf), low


@dataclass(frozen=True)
class Spreads:
    """Distinct regions, ascending. `start`, `stop` (distinct,): their ends, of missing numbers infinity.
    `scale` (distinct,): 1 / width, 0 of a region without any; `flat` (distinct,): 1 for such a region, which lies
    within whatever it meets, else 0. `rows` (distinct,): the rows of each. `number` (regions,): which one each region
    is. `whole`: whether ends are whole numbers."""

    start: Floats
    stop: Floats
    scale: Floats
    flat: Floats
    rows: Floats
    number: Integers
    whole: bool

    @classmethod
    def of(cls, start: Floats, stop: Floats, weights: Floats, whole: bool) -> Spreads:
        """The spread of regions (regions,) with so many rows; nan for a missing number."""
        absent = np.isnan(start)
        ends = np.stack([np.where(absent, np.inf, start), np.where(absent, np.inf, stop)])
        order = np.lexsort(ends[::-1])
        ordered = ends[:, order]
        begins = np.ones(len(order), np.bool_)
        begins[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
        number = np.empty(len(order), np.int64)
        number[order] = np.cumsum(begins) - 1
        low, high = ordered[:, begins]
        finite = np.isfinite(low)
        width = np.subtract(high, low, out=np.ones(len(low)), where=finite) + (1.0 if whole else 0.0)
        flat = width <= 0
        scale = np.divide(1.0, width, out=np.zeros(len(low)), where=~flat)
        rows = np.asarray(np.bincount(number, weights, minlength=len(low)), np.float64)
        return cls(low, high, scale, flat.astype(np.float64), rows, number, whole)

    @cached_property
    def points(self) -> bool:
        """Whether every region is a single point, or whole number: one that meets a range then lies in it, exactly."""
        whole = self.whole & (self.scale == 1.0) & (np.floor(self.start) == self.start)
        return bool((np.isinf(self.start) | (self.flat > 0) | whole).all())

    def shares(self, low: float, high: float, before: int, regions: Integers) -> Floats:
        """(chosen,) the share of some regions, which meet [low, high], that lies in it. Worked out for all distinct
        ones or for those that are chosen, whichever is less work. `before`: see there."""
        if before < PASSED_COST * len(regions):
            return np.asarray(self._spread(slice(before), low, high).take(self.number.take(regions)))
        start, stop, scale, flat = self._of_regions
        chosen_flat = flat.take(regions) if self._has_flat else None
        return self._shares(start.take(regions), stop.take(regions), scale.take(regions), chosen_flat, low, high)

    @cached_property
    def _of_regions(self) -> tuple[Floats, Floats, Floats, Floats]:
        """`start`, `stop`, `scale`, `flat` (regions,) of every region. Those that are chosen ascend, so that what is
        read of these is near each other, as it is not among the distinct ones."""
        start, stop, scale, flat = (each.take(self.number) for each in (self.start, self.stop, self.scale, self.flat))
        return start, stop, scale, flat

    @cached_property
    def _has_flat(self) -> bool:
        return bool(self.flat.any())

    def shares_along(self, low: float, high: float, span: slice) -> Floats:
        """(regions of the span,) the share of each of some regions that follow each other; of those that do not meet
        [low, high], anything, which may be infinite."""
        if PASSED_COST * len(self.start) < span.stop - span.start:
            return np.asarray(self._spread(EVERY, low, high).take(self.number[span]))
        start, stop, scale, flat = (each[span] for each in self._of_regions)
        return self._shares(start, stop, scale, flat if self._has_flat else None, low, high)

    def expected(self, low: float, high: float) -> float:
        """The rows that are expected in [low, high]. What starts in it meets it; of what starts before it, what does
        not stop before it."""
        until, begin = met_ends(low, high, self.whole)
        first, before = np.searchsorted(self.start, (begin, until)).tolist()
        across, within = np.flatnonzero(self.stop[:first] >= begin), slice(first, before)
        parts = [self._spread(some, low, high) * self.rows[some] for some in (across, within)]
        return float(np.concatenate(parts).sum())

    def before(self, low: Ends, high: Ends) -> Ints:
        """(boxes,) how many distinct regions start before [low, high] ends: sorted by their start, they are the first.
        One for two numbers."""
        return np.asarray(np.searchsorted(self.start, met_ends(low, high, self.whole)[0]), np.int64)

    def _spread(self, distinct: slice | Ints, low: float, high: float) -> Floats:
        """The share in [low, high] of some distinct regions; of those that do not meet it, anything."""
        flat = self.flat[distinct] if self._has_flat else None
        return self._shares(self.start[distinct], self.stop[distinct], self.scale[distinct], flat, low, high)

    def _shares(
        self, start: Floats, stop: Floats, scale: Floats, flat: Floats | None, low: float, high: float
    ) -> Floats:
        """The share in [low, high] of regions by their ends and the rest; `flat`: None where no region is."""
        common = np.minimum(stop, high)
        common -= np.maximum(start, low)
        if self.whole:
            common += 1.0
        common *= scale
        if flat is not None:
            common += flat
        return np.asarray(common)


@dataclass(frozen=True)
class GappedSpreads:
    """Distinct regions of a category, some with gaps. `below` (distinct, leaves + 1): the share of each before each
    leaf, and before the end. `rows` (distinct,): of each. `number` (regions,): which one each region is."""

    below: Floats
    rows: Floats
    number: Integers

    points: ClassVar[bool] = False
    """A region may lie between two of its leaves."""

    @classmethod
    def of(cls, cells: LeafSets, weights: Floats) -> GappedSpreads:
        """The spread of regions (regions,) with so many rows."""
        assert cells.gapped is not None
        ends = np.stack([cells.first, cells.last, cells.gapped.which])
        _, some, number = np.unique(ends, axis=1, return_index=True, return_inverse=True)
        distinct = cells.of_cells(some)
        leaves = distinct.holding(np.arange(cells.gapped.leaves.shape[1])[None, :])
        shares = leaves.cumsum(axis=1) / distinct.counts[:, None]
        rows = np.bincount(number.ravel(), weights, minlength=len(some))
        return cls(np.pad(shares, ((0, 0), (1, 0))), np.asarray(rows, np.float64), number.ravel())

    def _within(self, low: float, high: float) -> Floats:
        """(distinct,) the share of each that lies in [low, high]."""
        most = self.below.shape[1] - 1
        first, stop = (min(max(end, 0), most) for end in (math.ceil(low), math.floor(high) + 1))
        return np.asarray(self.below[:, stop] - self.below[:, first])

    def shares(self, low: float, high: float, before: int, regions: Integers) -> Floats:
        """(chosen,) the share of some regions that lies in [low, high]; `before` is not used."""
        return np.asarray(self._within(low, high).take(self.number.take(regions)))

    def shares_along(self, low: float, high: float, span: slice) -> Floats:
        """(regions of the span,) the same of regions that follow each other."""
        return np.asarray(self._within(low, high).take(self.number[span]))

    def expected(self, low: float, high: float) -> float:
        """The rows that are expected in [low, high]."""
        return float(self._within(low, high) @ self.rows)

    def before(self, low: Ends, high: Ends) -> Ints:
        """(boxes,) how many regions have to be looked at: all."""
        return np.full(np.shape(low), len(self.rows))


def rows_within(
    weights: Floats, met: Ints, within: Sequence[tuple[Spreads | GappedSpreads, float, float, int]]
) -> Floats:
    """(met,) the rows of the regions that a query meets (`met`, ascending), times the share of each in every [low,
    high] of `within`, which has how many distinct regions start before its end. Where those met lie close together, all
    between the first and the last are computed in their order, and these are picked."""
    if within and len(met) and PICKED_COST * len(met) > met[-1] + 1 - met[0]:
        span = slice(int(met[0]), int(met[-1]) + 1)
        expected = weights[span]
        with np.errstate(invalid="ignore"):
            for spreads, low, high, _ in within:
                expected = expected * spreads.shares_along(low, high, span)
        return np.asarray(expected.take(met - span.start))
    expected = weights.take(met)
    for spreads, low, high, before in within:
        expected *= spreads.shares(low, high, before, met)
    return np.asarray(expected)
