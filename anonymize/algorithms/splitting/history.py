"""The cuts that were made while classes grew, as the tree that they are."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from anonymize.algorithms.splitting.batch import Batch
from anonymize.algorithms.splitting.cuts import Cuts
from anonymize.classes import Bools, Ints, Partition
from anonymize.recoding import CutTree


@dataclass(frozen=True)
class CutStep:
    """What became of m classes in one step, all (m,). A class is known by its first row: `whole` of itself, `first` and
    `second` of its two sides. `attribute`, `start` and `stop` as in `Cuts`."""

    whole: Ints
    first: Ints
    second: Ints
    attribute: Ints
    start: Ints
    stop: Ints


@dataclass
class History:
    """The steps, in an order in which a class is cut after the class that it is part of. Threads may add at once."""

    steps: list[CutStep] = field(default_factory=list)

    def add(self, batch: Batch, cuts: Cuts, parted: Bools, begins: Ints) -> None:
        """Notes one step: `parted` (C,) says which classes of the batch fell in two. `begins`: the first row of the
        first side of every class, which is all of it where it is not cut, then of the second sides of those that fell
        in two."""
        cut = np.flatnonzero(parted)
        whole = batch.rows[batch.starts[cut]].astype(np.int64)
        first, second = begins[cut], begins[batch.count :]
        self.steps.append(CutStep(whole, first, second, cuts.attribute[cut], cuts.start[cut], cuts.stop[cut]))

    def tree(self, partition: Partition) -> CutTree:
        """The tree whose classes are those of the partition that grew."""
        names = ("whole", "first", "second", "attribute", "start", "stop")
        none = np.empty(0, np.int64)
        cuts = CutStep(*(np.concatenate([none, *(getattr(step, name) for step in self.steps)]) for name in names))
        first, second = _children(cuts, partition)
        order = _by_level(cuts, first, second)
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))

        def renumbered(child: Ints) -> Ints:
            return np.where(child < 0, child, number[np.maximum(child, 0)])[order] if len(order) else none

        attribute, start, stop = (cut[order] for cut in (cuts.attribute, cuts.start, cuts.stop))
        return CutTree(attribute, start, stop, renumbered(first), renumbered(second))


def _children(cuts: CutStep, partition: Partition) -> tuple[Ints, Ints]:
    """(N,) what became of the first and of the second side of each cut: the number of a later cut, or -1 - its class.

    A side is cut by the next cut of a class with its first row, if there is one.
    """
    count = len(cuts.whole)
    key = cuts.whole * max(count, 1) + np.arange(count)
    order = np.argsort(key)
    ordered = np.append(cuts.whole[order], -1)
    class_at = partition.order[partition.starts[:-1]]

    def became(side: Ints) -> Ints:
        after = np.searchsorted(key[order], side * max(count, 1) + np.arange(count), side="right")
        cut = np.append(order, 0)[after]
        return np.where(ordered[after] == side, cut, -1 - np.searchsorted(class_at, side))

    return became(cuts.first), became(cuts.second)


def _by_level(cuts: CutStep, first: Ints, second: Ints) -> Ints:
    """(N,) the cuts from the root down, level by level, whatever the order in which threads made them."""
    levels, level = [], np.zeros(min(len(cuts.whole), 1), np.int64)
    while len(level):
        levels.append(level)
        below = np.stack((first[level], second[level]), axis=1).ravel()
        level = below[below >= 0]
    return np.concatenate([np.empty(0, np.int64), *levels])
