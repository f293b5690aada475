"""Groups of at least 2k rows, cut into as many groups of at least k rows as they can make.

Rows are laid in order of how much nearer they are to one of two far seeds than to the other, and the group is cut at
the place where the two sides lose least together. Again, until no group has 2k rows.
"""

from __future__ import annotations

import numpy as np

from anonymize.algorithms.clustering.ncp import Corners, Penalty
from anonymize.algorithms.clustering.seeds import distances, seeds
from anonymize.classes import Floats, Ints, Partition, concatenated_ranges, starts_of

SCANS = 3


def split_large(penalty: Penalty, codes: Corners, partition: Partition, k: int) -> Partition:
    """The partition with every group of m >= 2k rows cut into floor(m / k) groups of at least k rows.

    `codes` (attributes, n) of the rows 0 ... n - 1, all of which the partition holds. All groups of one depth are cut
    together. Among equally good places the one nearest to the middle is taken, and the first of two such.
    """
    large = np.flatnonzero(partition.sizes >= 2 * k)
    if not len(large):
        return partition
    labels, count = partition.class_of(len(partition.order)), partition.count
    sizes = partition.sizes[large]
    rows = partition.order[concatenated_ranges(partition.starts[large], sizes)].astype(np.int64)
    while len(sizes):
        rows, sizes = _cut(penalty, codes[:, rows], rows, sizes, k)
        labels[rows] = count + np.repeat(np.arange(len(sizes)), sizes)
        count += len(sizes)
        again = sizes >= 2 * k
        rows, sizes = rows[np.repeat(again, sizes)], sizes[again]
    return Partition.of_labels(labels)


def _cut(penalty: Penalty, codes: Corners, rows: Ints, sizes: Ints, k: int) -> tuple[Ints, Ints]:
    """Every group cut in two: its rows in their new order, and the sizes of both sides, group after group."""
    starts = starts_of(sizes)
    group = np.repeat(np.arange(len(sizes)), sizes)
    first, second = seeds(penalty, codes, starts, SCANS)
    nearer = distances(penalty, codes, group, first) - distances(penalty, codes, group, second)
    order = np.lexsort((rows, nearer, group))
    left = _best_place(_losses(penalty, codes[:, order], group, starts), starts, group, k)
    return rows[order], np.stack((left, sizes - left), axis=1).ravel()


def _losses(penalty: Penalty, codes: Corners, group: Ints, starts: Ints) -> Floats:
    """(n,) NCP of both sides of a cut after each row of its group."""
    after, place = starts[1:][group], np.arange(len(group))
    ahead = place + 1 - starts[:-1][group]
    low, high = _running(codes, group)
    loss = penalty(low, high) * ahead
    low, high = _running(codes[:, ::-1], group[-1] - group[::-1])
    behind = penalty(low, high)[::-1] * (after - place)
    loss[:-1] += np.where(group[:-1] == group[1:], behind[1:], 0.0)
    return loss


def _running(codes: Corners, group: Ints) -> tuple[Corners, Corners]:
    """(attributes, n) lowest and highest code among the rows of its group up to each row; groups ascend."""
    span = int(codes.max(initial=0)) + 1
    base = group * span
    high = np.maximum.accumulate(codes + base, axis=1) - base
    low = span - 1 - (np.maximum.accumulate(span - 1 - codes + base, axis=1) - base)
    return low.astype(np.int32), high.astype(np.int32)


def _best_place(loss: Floats, starts: Ints, group: Ints, k: int) -> Ints:
    """(groups,) rows ahead of the cut that loses least, of those that leave as many groups possible as there were."""
    sizes = np.diff(starts)[group]
    ahead = np.arange(len(group)) + 1 - starts[:-1][group]
    fine = (ahead >= k) & (sizes - ahead >= k) & (ahead // k + (sizes - ahead) // k == sizes // k)
    loss = np.where(fine, loss, np.inf)
    best = loss == np.minimum.reduceat(loss, starts[:-1])[group]
    off_middle = np.where(best, np.abs(2 * ahead - sizes), np.iinfo(np.int64).max)
    hits = np.flatnonzero(off_middle == np.minimum.reduceat(off_middle, starts[:-1])[group])
    return ahead[hits[np.searchsorted(hits, starts[:-1])]]
