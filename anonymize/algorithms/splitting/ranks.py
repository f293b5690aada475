"""The row of a rank in each of many classes, in the order of their codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Codes, Ints, Runs, starts_of

Statistic = tuple[Ints, Ints, Ints]
"""(m,) each: the code at a rank of each class, how many rows have lower codes, how many have codes up to it."""


def order_statistic(labels: Ints, codes: Codes, sizes: Ints, size: int, rank: Ints) -> Statistic:
    """For each class (m,) of `sizes` rows the code at a 0-based rank (m,). `labels`, `codes` (n,): class and code of
    each row, class after class; `size`: what codes are below.

    Numbered by class, then code, the rows of class c come after all of the classes before it; so the row of rank r is
    at the class's start + r, in the counts and in the sorted keys alike."""
    starts = starts_of(sizes)[:-1]
    origin = np.arange(len(sizes)) * size
    if len(sizes) * size <= 4 * len(codes):
        counts = np.bincount(labels * size + codes, minlength=len(sizes) * size)
        upto = np.cumsum(counts)
        cells = np.searchsorted(upto, starts + rank, side="right")
        return cells - origin, upto[cells] - counts[cells] - starts, upto[cells] - starts
    wide = np.uint32 if len(sizes) * size < 2**32 else np.uint64
    keys: NDArray[np.unsignedinteger[Any]] = np.multiply(labels, size, dtype=wide, casting="unsafe")
    keys += codes
    keys.sort()
    cells = keys[starts + rank]
    below = np.searchsorted(keys, cells, side="left") - starts
    return cells.astype(np.int64) - origin, below, np.searchsorted(keys, cells, side="right") - starts


def counted_statistic(runs: Runs, sizes: Ints, rank: Ints) -> Statistic:
    """The same of classes whose rows have been counted: the run that holds a rank is the first whose rows, with all
    before it, are more than that."""
    starts = starts_of(sizes)[:-1]
    upto = np.cumsum(runs.counts)
    places = np.searchsorted(upto, starts + rank, side="right")
    return runs.codes[places], upto[places] - runs.counts[places] - starts, upto[places] - starts
