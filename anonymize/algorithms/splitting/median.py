"""Cuts between two neighbouring leaves, as near as can be to a given number of rows on the lower side."""

from __future__ import annotations

import numpy as np

from anonymize.algorithms.splitting.batch import Batch
from anonymize.classes import Bools, Ints


def nearest_cut(
    batch: Batch, attribute: int, size: int, classes: Ints, lower_rows: Ints, minimum: int
) -> tuple[Ints, Ints, Bools]:
    """Where to cut each class so that about `lower_rows` of its rows have lower codes; equal rows stay together.

    `size` is the attribute's number of leaves; `classes` (m,) ascending; `lower_rows` (m,) at least 1 and fewer than
    the class has. Both boundaries of the run of equal codes at that place are tried, the nearer one first, the upper
    one at a tie: a value that holds most of the rows is cut off from either side. Returns, (m,) each: the code below
    which rows go to the first side; 0, as no row at that code does; whether both sides have at least `minimum` rows.
    """
    sizes = batch.sizes[classes]
    code, below, upto = batch.ranked(attribute, classes, size, lower_rows - 1)
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
    sizes = batch.sizes[classes]
    code, below, _ = batch.ranked(attribute, classes, size, lower_rows - 1)
    return code, lower_rows - below, (lower_rows >= minimum) & (sizes - lower_rows >= minimum)
