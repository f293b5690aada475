"""Groups from the single rows upward: small groups merge with the nearest, round by round, until none is small.

The paper's method is explained in `bottom_up`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from anonymize.algorithms.clustering.downward import split_large
from anonymize.algorithms.clustering.merging import Merging
from anonymize.algorithms.clustering.ncp import Corners, GroupBoxes, Penalty
from anonymize.classes import Partition


def bottom_up(
    penalty: Penalty,
    codes: Corners,
    k: int,
    threads: int = 1,
    progress: Callable[[int], None] = lambda rows: None,
) -> Partition:
    """The partition of rows 0 ... n - 1, n >= k, with codes (attributes, n), into groups of k to 2k - 1 rows.

    `progress` is called with the number of further rows that are in groups of k. The result is the same for any number
    of threads.
    """
    partition, progressed = split_large(penalty, codes, equal_rows(codes), k), 0
    while True:
        small = partition.sizes < k
        reached = int(partition.sizes[~small].sum())
        progress(max(reached - progressed, 0))
        progressed = max(reached, progressed)
        if not small.any() or partition.count == 1:
            return partition
        partition = split_large(penalty, codes, _merged(penalty, codes, partition, k, threads), k)


def equal_rows(codes: Corners) -> Partition:
    """Rows that agree in every attribute, each set of them one group."""
    order = np.lexsort(codes)
    differs = np.zeros(len(order), np.int64)
    differs[1:] = (codes[:, order[1:]] != codes[:, order[:-1]]).any(axis=0)
    labels = np.empty(len(order), np.int64)
    labels[order] = np.cumsum(differs)
    return Partition.of_labels(labels)


def _merged(penalty: Penalty, codes: Corners, partition: Partition, k: int, threads: int) -> Partition:
    """One round: the turn of every group of fewer than k rows."""
    boxes = GroupBoxes.of(codes, partition)
    small = np.flatnonzero(boxes.sizes < k)
    merging = Merging(penalty, boxes, small, threads)
    for group in merging.turns():
        if not merging.touched(group):
            nearest = merging.partner(group)
            if nearest is not None:
                merging.merge(group, nearest[1])
    return Partition.of_labels(merging.labels()[partition.class_of(codes.shape[1])])
