"""Answers to COUNT queries: counted in rows, expected of regions, summed from a joint table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Floats, Integers, Ints
from anonymize.metrics.queries.batch import Queries
from anonymize.metrics.queries.bits import PrefixBits, Words, positions, ranks, thresholds_of
from anonymize.metrics.queries.spreads import Spreads, met_ends

BLOCK = 1 << 18
"""Items whose bits are held at a time."""


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

    def bits(self, block: slice) -> tuple[PrefixBits, PrefixBits]:
        """Of some items."""
        starts, stops = self.thresholds
        return PrefixBits.of(self.start[block], starts), PrefixBits.of(self.stop[block], stops)


Bits = list[tuple[_Ends, PrefixBits, PrefixBits]]


def _blocks(ends: Sequence[_Ends], items: int, size: int) -> Iterator[tuple[int, Bits]]:
    """Where each block of items begins, and its bits in each attribute."""
    for begin in range(0, items, size):
        yield begin, [(each, *each.bits(slice(begin, begin + size))) for each in ends]


def _restricted(queries: Queries) -> list[list[int]]:
    """The attributes that each box restricts."""
    return [np.flatnonzero(row).tolist() for row in queries.restricted]


def _meeting(bits: Bits, box: int, attributes: Sequence[int]) -> Words:
    """(words,) the items that meet a box."""
    words: Words | None = None
    for index in attributes:
        ends, starts, stops = bits[index]
        part = ~stops.below(int(ends.begin[box]))
        part &= starts.below(int(ends.until[box]))
        words = part if words is None else np.bitwise_and(words, part, out=words)
    assert words is not None
    return words
