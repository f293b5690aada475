"""Cuts between two neighbouring leaves, as near as can be to a given number of rows on the lower side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.splitting.batch import Batch
from anonymize.classes import Bools, Codes, Ints, starts_of


def nearest_cut(
    batch: Batch, attribute: int, size: int, classes: Ints, lower_rows: Ints, minimum: int
) -> tuple[Ints, Ints, Bools]:
    """Where to cut each class so that about `lower_rows` of its rows have lower codes; equal rows stay together.

    `size` is the attribute's number of leaves; `classes` (m,) ascending; `lower_rows` (m,) at least 1 and fewer than
    the class has. Both boundaries of the run of equal codes at that place are tried, the nearer one first, the upper
    one at a tie: a value that holds most of the rows is cut off from either side. Returns, (m,) each: the code below
    which rows go to the first side; 0, as no row at that code does; whether both sides have at least `minimum` rows.
    """
    labels, codes = batch.codes_of(attribute, classes)
    sizes = batch.sizes[classes]
    code, below, upto = _order_statistic(labels, codes, sizes, size, lower_rows - 1)
    lower_fits = (below >= minimum) & (sizes - below >= minimum)
    upper_fits = (upto >= minimum) & (sizes - upto >= minimum)
    upper = upper_fits & (~lower_fits | (upto - lower_rows <= lower_rows - below))
    return np.where(upper, code + 1, code), np.zeros_like(code), upper_fits | lower_fits


def parting_cut(
    batch: Batch, attribute: int, size: int, classes: Ints, lower_rows: Ints, minimum: int
) -> tuple[Ints, Ints, Bools]:
    """As `nearest_cut`, but equal rows may part: exactly `lower_rows` rows go to the first side.

    The second result says how many of the rows at the code itself are among them: those that come first in the table.
    """
    labels, codes = batch.codes_of(attribute, classes)
    sizes = batch.sizes[classes]
    code, below, _ = _order_statistic(labels, codes, sizes, size, lower_rows - 1)
    return code, lower_rows - below, (lower_rows >= minimum) & (sizes - lower_rows >= minimum)


def _order_statistic(labels: Ints, codes: Codes, sizes: Ints, size: int, rank: Ints) -> tuple[Ints, Ints, Ints]:
    """For each class the code at a 0-based rank, how many rows have lower codes, and how many have codes up to it.
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
