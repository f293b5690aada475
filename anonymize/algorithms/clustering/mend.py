"""Groups that break a privacy model are merged with the group that mends them at least cost, until none breaks any."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from anonymize.algorithms.clustering.ncp import Corners, GroupBoxes, Penalty, UnionPenalties
from anonymize.classes import Bools, Floats, Ints, Partition, concatenated_ranges

TRIED = (4, 16, 64)
"""How many of the neighbours that raise the NCP least are tried until one mends the group; if none does, the first is
taken."""
CELLS = 1 << 18
"""Cells of (breaking groups x groups) that are worked on at once."""

Met = Callable[[Ints, Ints, int], Bools]
"""(rows, group of each row, number of groups) -> (groups,) whether each meets every requirement."""


def mend(penalty: Penalty, codes: Corners, partition: Partition, met: Met) -> Partition:
    """The partition with groups merged until each meets every requirement, or one is left; `codes` (attributes, n).

    In passes: every breaking group looks for the union that meets the requirements and raises the total NCP least, of
    equal ones the lowest number; where none of those tried does, for the one that raises it least. In order of their
    numbers those merge whose choice has not merged in the pass.
    """
    while partition.count > 1:
        groups = np.repeat(np.arange(partition.count), partition.sizes)
        breaking = np.flatnonzero(~met(partition.order.astype(np.int64), groups, partition.count))
        if not len(breaking):
            break
        labels = _merged(breaking, _choices(penalty, codes, partition, breaking, met), partition.count)
        partition = Partition.of_labels(labels[partition.class_of(codes.shape[1])])
    return partition


def _merged(breaking: Ints, choices: Ints, count: int) -> Ints:
    """(groups,) the number each group goes by when those merge that have not merged yet."""
    labels, free = np.arange(count), [True] * count
    for group, other in zip(breaking.tolist(), choices.tolist(), strict=True):
        if free[group] and free[other]:
            free[group] = free[other] = False
            labels[max(group, other)] = min(group, other)
    return labels


def _choices(penalty: Penalty, codes: Corners, partition: Partition, breaking: Ints, met: Met) -> Ints:
    """(breaking,) the group that each is to be merged with."""
    boxes = GroupBoxes.of(codes, partition)
    unions, ncp = UnionPenalties(penalty, boxes), boxes.ncp(penalty)
    step = max(CELLS // boxes.count, 1)
    partners = [
        _tried(
            partition,
            breaking[begin : begin + step],
            _nearest(unions, boxes.sizes, ncp, breaking[begin : begin + step]),
            met,
        )
        for begin in range(0, len(breaking), step)
    ]
    return np.concatenate(partners)


def _nearest(unions: UnionPenalties, sizes: Ints, ncp: Floats, groups: Ints) -> Ints:
    """(groups, tried) the others, those first whose union with a group raises the total NCP least, and of equal ones
    those of the lowest number."""
    rise = unions(groups, np.arange(len(sizes)))
    rise *= sizes[groups, None] + sizes
    rise -= ncp
    rise[np.arange(len(groups)), groups] = np.inf
    return _lowest(rise, min(TRIED[-1], len(sizes) - 1))


def _lowest(cells: Floats, count: int) -> Ints:
    """(rows, count) where the lowest cells of each row are, in ascending order; of equal ones the first."""
    last = np.partition(cells, count - 1, axis=1)[:, count - 1, None]
    row, column = np.nonzero(cells <= last)
    order = np.lexsort((column, cells[row, column], row))
    begins = np.searchsorted(row, np.arange(len(cells)))
    return np.asarray(column[order][begins[:, None] + np.arange(count)])


def _tried(partition: Partition, groups: Ints, near: Ints, met: Met) -> Ints:
    """(groups,) the first of each group's neighbours (groups, tried) that mends it, or else the first."""
    choice = near[:, 0].copy()
    left, begin = np.arange(len(groups)), 0
    for end in TRIED:
        tried = near[left, begin:end]
        if not tried.size:
            break
        mends = _unions_meet(partition, np.repeat(groups[left], tried.shape[1]), tried.ravel(), met)
        mends = mends.reshape(tried.shape)
        mended, first = mends.any(axis=1), mends.argmax(axis=1)
        choice[left[mended]] = tried[mended, first[mended]]
        left, begin = left[~mended], end
    return choice


def _unions_meet(partition: Partition, first: Ints, second: Ints, met: Met) -> Bools:
    """(pairs,) whether the union of two groups meets every requirement."""
    groups = np.stack((first, second), axis=1).ravel()
    sizes = partition.sizes[groups]
    rows = partition.order[concatenated_ranges(partition.starts[groups], sizes)].astype(np.int64)
    return met(rows, np.repeat(np.arange(len(groups)) // 2, sizes), len(first))
