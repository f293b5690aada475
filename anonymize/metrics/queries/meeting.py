"""Which items a box meets: rows as leaves, or regions as numbers, block by block and in words of bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Floats, Integers, Ints
from anonymize.metrics.queries.batch import Queries
from anonymize.metrics.queries.bits import EVERY, PrefixBits, Words, ranks, thresholds_of
from anonymize.metrics.queries.spreads import met_ends

BLOCK = 1 << 18
"""Items whose bits are held at a time."""
REMEMBERED = 64
"""Ranges in an attribute, up to which the bits of each are kept."""


@dataclass(frozen=True)
class ItemEnds:
    """One attribute of the items, as ranks: an item meets a box where its start lies below `until` and its stop not
    below `begin`, positions (boxes,) among the thresholds of either."""

    start: Ints
    stop: Ints
    thresholds: tuple[int, int]
    until: Ints
    begin: Ints

    @classmethod
    def of(cls, leaves: Integers, queries: Queries, index: int) -> ItemEnds:
        """The ends of items that are leaves, whose start is their stop: one order of thresholds serves both."""
        both = np.concatenate([queries.last[:, index] + 1, queries.first[:, index]])
        thresholds, of_boxes = thresholds_of(both, np.tile(queries.restricted[:, index], 2))
        until, begin = np.split(of_boxes, 2)
        leaf_ranks = ranks(leaves, thresholds)
        return cls(leaf_ranks, leaf_ranks, (len(thresholds), len(thresholds)), until, begin)

    @classmethod
    def of_regions(cls, start: Floats, stop: Floats, queries: Queries, index: int) -> ItemEnds:
        """The ends of items that are regions of numbers."""
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
    ) -> ItemEnds:
        used = queries.restricted[:, index]
        uppers, until = thresholds_of(until, used)
        lowers, begin = thresholds_of(begin, used)
        counts = (len(uppers), len(lowers))
        return cls(ranks(start, uppers), ranks(stop, lowers), counts, until, begin)

    def bits(self, block: slice) -> MetItems:
        """Those of some items."""
        of_start, of_stop = self.thresholds
        starts = PrefixBits.of(self.start[block], of_start)
        return MetItems(self, starts, starts if self.stop is self.start else PrefixBits.of(self.stop[block], of_stop))

    @cached_property
    def few(self) -> bool:
        """Whether boxes have few ranges in this attribute."""
        return len(set(zip(self.begin.tolist(), self.until.tolist(), strict=True))) <= REMEMBERED


@dataclass
class MetItems:
    """Some items of an attribute, and those that meet a box's range: of few ranges, each is worked out once."""

    ends: ItemEnds
    starts: PrefixBits
    stops: PrefixBits
    remembered: dict[tuple[int, int], Words] = field(default_factory=dict)

    def range(self, box: int, part: slice = EVERY) -> Words:
        """(words,) the items of a part that meet the range of a box; not to be written to.

        What stops below a range has started below its end, too: the bits of the one are among those of the other.
        """
        begin, until = int(self.ends.begin[box]), int(self.ends.until[box])
        if not self.ends.few:
            return np.bitwise_xor(self.stops.below(begin, part), self.starts.below(until, part))
        words = self.remembered.get((begin, until))
        if words is None:
            words = self.remembered[begin, until] = np.bitwise_xor(self.stops.below(begin), self.starts.below(until))
        return words[part]


def blocks(ends: Sequence[ItemEnds], items: int, size: int) -> Iterator[tuple[int, list[MetItems]]]:
    """Where each block of items begins, and its bits in each attribute."""
    for begin in range(0, items, size):
        yield begin, [each.bits(slice(begin, begin + size)) for each in ends]


def restricted_attributes(queries: Queries) -> list[list[int]]:
    """The attributes that each box restricts."""
    boxes, attributes = np.nonzero(queries.restricted)
    ends = np.cumsum(np.bincount(boxes, minlength=len(queries.restricted)))[:-1]
    return [each.tolist() for each in np.split(attributes, ends)] if len(queries.restricted) else []


def meeting(bits: Sequence[MetItems], box: int, attributes: Sequence[int], part: slice = EVERY) -> Words:
    """(words,) the items of a part that meet a box; not to be written to."""
    words = bits[attributes[0]].range(box, part)
    if len(attributes) > 1:
        words = words & bits[attributes[1]].range(box, part)
        for index in attributes[2:]:
            words &= bits[index].range(box, part)
    return words
