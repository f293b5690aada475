"""The row of a rank in each of many classes, in the order of their codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Codes, Ints, Runs, starts_of

Statistic = tuple[Ints, Ints, Ints]
"""(m,) each: the code at a rank of each class, how many rows have lower codes, how many have codes up to it."""


LARGE = 1 << 10
"""Classes of so many rows, on average, are looked at one by one."""


def order_statistic(codes: Codes, sizes: Ints, size: int, rank: Ints) -> Statistic:
    """For each class (m,) of `sizes` rows the code at a 0-based rank (m,). `codes` (n,): the code of each row, class
    after class; `size`: what codes are below.

    Numbered by class, then code, the rows of class c come after all of the classes before it; so the row of rank r is
    at the class's start + r, in the counts and in the sorted keys alike."""
    if len(sizes) * size <= len(codes):
        return counted_statistic(Runs.count_classes(sizes, codes, size), sizes, rank)
    if len(sizes) * LARGE <= len(codes):
        return _one_by_one(codes, sizes, rank)
    starts = starts_of(sizes)[:-1]
    origin = np.arange(len(sizes)) * size
    wide = np.uint32 if len(sizes) * size < 2**32 else np.uint64
    keys: NDArray[np.unsignedinteger[Any]] = np.repeat(origin.astype(wide), sizes)
    keys += codes
    keys.sort()
    cells = keys[starts + rank]
    below = np.searchsorted(keys, cells, side="left") - starts
    return cells.astype(np.int64) - origin, below, np.searchsorted(keys, cells, side="right") - starts


def _one_by_one(codes: Codes, sizes: Ints, rank: Ints) -> Statistic:
    """The same, class by class: to find the code at one rank is far less work than to sort a class."""
    statistic = np.empty((3, len(sizes)), np.int64)
    for place, (stop, size, own) in enumerate(
        zip(np.cumsum(sizes).tolist(), sizes.tolist(), rank.tolist(), strict=True)
    ):
        rows = codes[stop - size : stop]
        code = np.partition(rows, own)[own]
        statistic[:, place] = code, np.count_nonzero(rows < code), np.count_nonzero(rows <= code)
    return statistic[0], statistic[1], statistic[2]


def counted_statistic(runs: Runs, sizes: Ints, rank: Ints) -> Statistic:
    """The same of classes whose rows have been counted: the run that holds a rank is the first whose rows, with all
    before it, are more than that."""
    starts = starts_of(sizes)[:-1]
    upto = np.cumsum(runs.counts)
    places = np.searchsorted(upto, starts + rank, side="right")
    return runs.codes[places], upto[places] - runs.counts[places] - starts, upto[places] - starts
