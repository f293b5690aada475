"""Answers to COUNT queries: counted in rows, expected of regions, summed from a joint table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Floats, Integers, Ints
from anonymize.metrics.queries.batch import Queries
from anonymize.metrics.queries.bits import PrefixBits, Words, positions, ranks, thresholds_of
from anonymize.metrics.queries.spreads import Spreads, met_ends

BLOCK = 1 << 18
"""Items whose bits are held at a time."""
REMEMBERED = 64
"""Ranges in an attribute, up to which the bits of each are kept."""


def counted(columns: Sequence[Integers], queries: Queries, block: int = BLOCK) -> Ints:
    """(queries,) rows of each. `columns`: (rows,) the leaves of the rows in each quasi-identifier."""
    of_boxes = np.zeros(len(queries.restricted), np.int64)
    if queries.count and len(columns):
        ends = [_Ends.of(codes, codes, queries, index) for index, codes in enumerate(columns)]
        for _, bits in _blocks(ends, len(columns[0]), block):
            for box, attributes in enumerate(_restricted(queries)):
                of_boxes[box] += int(np.bitwise_count(_meeting(bits, box, attributes)).sum(dtype=np.int64))
    return queries.totals(of_boxes.astype(np.float64)).astype(np.int64)


def estimated(start: Floats, stop: Floats, sizes: Ints, queries: Queries, block: int = BLOCK) -> Floats:
    """(queries,) rows that a recipient expects of each, who spreads the rows of a region evenly over it: over whole
    numbers where the attribute has nothing else, over the line between its ends, over the leaves of a category.

    `start`, `stop` (regions, attributes): the ends of regions, as numbers or positions of leaves, nan for a missing
    number. `sizes` (regions,): their rows. Only regions that a query meets are looked at, and of each attribute only
    its distinct regions.
    """
    of_boxes = np.zeros(len(queries.restricted))
    attributes = range(start.shape[1])
    weights = sizes.astype(np.float64)
    distinct = [
        Spreads.of(start[:, index], stop[:, index], weights, bool(queries.whole[index])) for index in attributes
    ]
    several = []
    for box, restricted in enumerate(_restricted(queries)):
        if len(restricted) > 1:
            several.append((box, restricted))
        else:
            index = restricted[0]
            of_boxes[box] = distinct[index].expected(queries.low[box, index], queries.high[box, index])
    ends = [_Ends.of_regions(start[:, index], stop[:, index], queries, index) for index in attributes]
    for begin, bits in _blocks(ends, len(sizes) if several else 0, block):
        for box, restricted in several:
            met = begin + positions(_meeting(bits, box, restricted))
            expected = weights[met]
            for index in restricted:
                expected *= distinct[index].shares(queries.low[box, index], queries.high[box, index], met)
            of_boxes[box] += expected.sum()
    return queries.totals(of_boxes)


def summed(table: Floats, queries: Queries) -> Floats:
    """(queries,) sums of a joint table with an axis for each quasi-identifier, by its sums from the first cell on."""
    sums = np.zeros([size + 1 for size in table.shape])
    sums[tuple(slice(1, None) for _ in table.shape)] = table
    for axis in range(table.ndim):
        np.cumsum(sums, axis=axis, out=sums)
    first = np.where(queries.restricted, queries.first, 0)
    stop = np.where(queries.restricted, queries.last + 1, table.shape)
    of_boxes = np.zeros(len(first))
    for corner in np.ndindex(*(2,) * table.ndim):
        place = np.where(corner, stop, first)
        of_boxes += sums[tuple(place.T)] * (-1) ** (table.ndim - sum(corner))
    return queries.totals(of_boxes)


# --- which items a box meets ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Ends:
    """One attribute of the items, as ranks: an item meets a box where its start lies below `until` and its stop not
    below `begin`, positions (boxes,) among the thresholds of either."""

    start: Ints
    stop: Ints
    thresholds: tuple[int, int]
    until: Ints
    begin: Ints

    @classmethod
    def of(cls, start: NDArray[Any], stop: NDArray[Any], queries: Queries, index: int) -> _Ends:
        """Of items as leaves."""
        return cls._ranked(start, stop, queries.last[:, index] + 1, queries.first[:, index], queries, index)

    @classmethod
    def of_regions(cls, start: Floats, stop: Floats, queries: Queries, index: int) -> _Ends:
        """Of regions as numbers."""
        until, begin = met_ends(queries.low[:, index], queries.high[:, index], bool(queries.whole[index]))
        nowhere = np.where(np.isnan(start), np.inf, start)
        return cls._ranked(nowhere, stop, until, begin, queries, index)

    @classmethod
    def _ranked(
        cls,
        start: NDArray[Any],
        stop: NDArray[Any],
        until: NDArray[Any],
        begin: NDArray[Any],
        queries: Queries,
        index: int,
    ) -> _Ends:
        used = queries.restricted[:, index]
        uppers, until = thresholds_of(until, used)
        lowers, begin = thresholds_of(begin, used)
        counts = (len(uppers), len(lowers))
        return cls(ranks(start, uppers), ranks(stop, lowers), counts, until, begin)

    def bits(self, block: slice) -> _Met:
        """Of some items."""
        starts, stops = self.thresholds
        return _Met(self, PrefixBits.of(self.start[block], starts), PrefixBits.of(self.stop[block], stops))

    @cached_property
    def few(self) -> bool:
        """Whether boxes have few ranges in this attribute."""
        return len(set(zip(self.begin.tolist(), self.until.tolist(), strict=True))) <= REMEMBERED


@dataclass
class _Met:
    """Some items of an attribute, and those that meet a box's range: of few ranges, each is worked out once."""

    ends: _Ends
    starts: PrefixBits
    stops: PrefixBits
    known: dict[tuple[int, int], Words] = field(default_factory=dict)

    def range(self, box: int) -> Words:
        """(words,) the items that meet the range of a box; not to be written to.

        What stops below a range has started below its end, too: the bits of the one are among those of the other.
        """
        begin, until = int(self.ends.begin[box]), int(self.ends.until[box])
        words = self.known.get((begin, until))
        if words is None:
            words = np.bitwise_xor(self.stops.below(begin), self.starts.below(until))
            if self.ends.few:
                self.known[begin, until] = words
        return words


def _blocks(ends: Sequence[_Ends], items: int, size: int) -> Iterator[tuple[int, list[_Met]]]:
    """Where each block of items begins, and its bits in each attribute."""
    for begin in range(0, items, size):
        yield begin, [each.bits(slice(begin, begin + size)) for each in ends]


def _restricted(queries: Queries) -> list[list[int]]:
    """The attributes that each box restricts."""
    return [np.flatnonzero(row).tolist() for row in queries.restricted]


def _meeting(bits: Sequence[_Met], box: int, attributes: Sequence[int]) -> Words:
    """(words,) the items that meet a box; not to be written to."""
    words = bits[attributes[0]].range(box)
    if len(attributes) > 1:
        words = words & bits[attributes[1]].range(box)
        for index in attributes[2:]:
            words &= bits[index].range(box)
    return words
