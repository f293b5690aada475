"""Which of many items lie below a threshold, as bits: ranges of many queries are met with a few operations on words.

64 items are one word. The items of a range are those below its end without those below its begin; those of a box are
the words of its ranges combined bit by bit. So a query takes some operations on rows / 64 words for each attribute that
it restricts, whatever share of the rows it selects.

The rank of an item is the number of thresholds at or below its value: it lies below threshold j exactly if its rank is
at most j. Where there are many thresholds, a table of bits for each would be large, so ranks are written with two
digits, and there is a table of bits for each digit alone: below (h, l) lies what has a lower first digit, or one of at
most h and a second one of at most l.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Bools, Ints

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
    """(items,) how many of the thresholds, which ascend, are at or below each value. If there are many codes and few
    values, each value is looked up once."""
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
