"""Groups of least sum of squares: MDAV, of a large table in blocks of near rows."""

from __future__ import annotations

import numpy as np

from anonymize.algorithms.deadline import Deadline
from anonymize.classes import Floats, Ints
from anonymize.treatments.grouping.mdav import mdav, mdav_in_blocks

WHOLE = 1 << 13
"""Rows of a table up to which MDAV is of the whole of it; of the blocks of a larger one."""
BLOCK = 1 << 10


def searched(
    values: Floats, k: int, rng: np.random.Generator, effort: float = 1.0, deadline: Deadline | None = None
) -> Ints:
    """(rows,) the group of each row, from 0."""
    return mdav(values, k) if len(values) <= WHOLE else mdav_in_blocks(values, k, BLOCK)
