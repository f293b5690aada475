"""Groups from all rows downward: groups are cut in two around rows that lie far apart, and small ones are mended.

The paper's method is explained in `top_down`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from anonymize.algorithms.clustering.adjust import adjust
from anonymize.algorithms.clustering.bisect import bisect
from anonymize.algorithms.clustering.ncp import Corners, Penalty
from anonymize.classes import Partition

ROUNDS = 3
"""Scans for the two rows that a group is cut around."""
RISE = "rise"
"""A row joins the group whose NCP rises least."""


def top_down(
    penalty: Penalty,
    codes: Corners,
    k: int,
    seed: int,
    threads: int = 1,
    start: Partition | None = None,
    progress: Callable[[int], None] = lambda rows: None,
    rounds: int = ROUNDS,
    join: str = RISE,
) -> Partition:
    """The partition of rows 0 ... n - 1, n >= k, with codes (attributes, n), into groups of at least k rows.

    `start`: parts of these rows that are cut from there on, all at once; None for one part of all rows. Small groups
    merge across the borders of parts. The same for any number of threads.
    """
    if start is None:
        start = Partition.of_labels(np.zeros(codes.shape[1], np.int64))
    rng = np.random.default_rng(seed)
    groups = bisect(penalty, codes, start, k, rounds, join, rng, progress)
    return adjust(penalty, codes, groups, k, threads)
