"""Cuts between two neighbouring leaves, as near as can be to a given number of rows on the lower side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.splitting.batch import Batch
from anonymize.classes import Bools, Codes, Ints


def nearest_cut(
    batch: Batch,
    attribute: int,
    size: int,
    classes: Ints,
    lower_rows: Ints,
    minimum: int,
    preferred: Bools | None = None,
) -> tuple[Ints, Ints, Bools]:
    """Where to cut each class so that about `lower_rows` of its rows have lower codes; equal rows stay together.

    `size` is the attribute's number of leaves; `classes` (m,) ascending; `lower_rows` (m,) at least 1 and fewer than
    the class has. Both boundaries of the run of equal codes at that place are tried, the nearer one first, the upper
    one at a tie: a value that holds most of the rows is cut off from either side. Where both are allowed and one is
    `preferred` (size + 1,), by the code that the upper side begins with, that one is taken. Returns, (m,) each: the
    code below which rows go to the first side; 0, as no row at that code does; whether both sides have at least
    `minimum` rows.
    """
    sizes = batch.sizes[classes]
    code, below, upto = batch.ranked(attribute, classes, size, lower_rows - 1)
    lower_fits = (below >= minimum) & (sizes - below >= minimum)
    upper_fits = (upto >= minimum) & (sizes - upto >= minimum)
    first = upto - lower_rows <= lower_rows - below
    if preferred is not None:
        first = np.where(preferred[code] == preferred[code + 1], first, preferred[code + 1])
    upper = upper_fits & (~lower_fits | first)
    return np.where(upper, code + 1, code), np.zeros_like(code), upper_fits | lower_fits


def parting_cut(
    batch: Batch, attribute: int, size: int, classes: Ints, lower_rows: Ints, minimum: int
) -> tuple[Ints, Ints, Bools]:
    """As `nearest_cut`, but equal rows may part: exactly `lower_rows` rows go to the first side.

    The second result says how many of the rows at the code itself are among them: those that come first in the batch
    (see `parting_order`).
    """
    sizes = batch.sizes[classes]
    code, below, _ = batch.ranked(attribute, classes, size, lower_rows - 1)
    return code, lower_rows - below, (lower_rows >= minimum) & (sizes - lower_rows >= minimum)


def parting_order(rows: NDArray[np.uint32], columns: Sequence[Codes]) -> NDArray[np.uint32]:
    """The rows, ascending, in the order in which those that are equal where they are cut part: by their other values.

    Rows are laid by the attribute of fewest different values, then by that of next fewest, and so on; of equally many
    by the first. So what parts from its equals has as many values as can be in common, and in those with little to
    choose from, where a class that mixes them loses most. Rows that are alike throughout part as they come.
    `columns`: the codes of the table's rows.
    """
    codes = [column[rows] for column in columns]
    different = [np.count_nonzero(np.bincount(own)) for own in codes]
    few = np.argsort(different, kind="stable")
    return np.asarray(rows[np.lexsort([codes[index] for index in few[::-1]])])
