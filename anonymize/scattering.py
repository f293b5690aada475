"""Rows put part by part, chunk by chunk, so that nothing is worked out for all rows at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]


def occurrences(pieces: Iterable[NDArray[np.integer[Any]]], size: int) -> Ints:
    """(size,) how often each number below `size` occurs in the pieces."""
    counts = np.zeros(size, np.int64)
    for piece in pieces:
        counts += np.bincount(piece, minlength=size)
    return counts


def scattered(parts: Iterable[Ints], sizes: Ints) -> tuple[NDArray[np.uint32], Ints]:
    """(rows,) the rows part by part, ascending within each, and (parts + 1,) where each part begins. `parts`: the part
    of each row, chunk by chunk; `sizes` (parts,): rows of each.

    Within a chunk a stable sort puts the rows of a part side by side; each part goes on where it ended before.
    """
    starts = np.append(0, np.cumsum(sizes))
    order, ends, start = np.empty(starts[-1], np.uint32), starts[:-1].copy(), 0
    for part in parts:
        by_part = np.argsort(part, kind="stable")
        counts = np.bincount(part, minlength=len(sizes))
        within = np.arange(len(part)) - np.repeat(np.cumsum(counts) - counts, counts)
        order[np.repeat(ends, counts) + within] = by_part + start
        ends += counts
        start += len(part)
    return order, starts
