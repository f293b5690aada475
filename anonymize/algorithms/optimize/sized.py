"""Cells where the size of a class alone decides, in all attributes at once and without a sort for each.

The intervals of all attributes are numbered in one row, those of the first attribute first. One table then holds how
many rows each class has in each interval, whatever the attribute. As the intervals of an attribute hold all rows of a
class, the running total along a row of that table, less the class once for each attribute before, is what lies before
each boundary: every way to part every class at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anonymize.algorithms.optimize.cells import SplitCells
from anonymize.classes import MOST_KEYS, Bools, Ints, KeyGroups

EXACT = 1 << 53
"""Sums of whole numbers below this are exact where they are taken as floating point numbers."""


@dataclass(frozen=True)
class SizedCells:
    """Cells that are known by their rows and labels. `places` (attributes, m): the interval of each, numbered through
    all attributes; `first` (attributes + 1,): the first interval of each attribute; `split` (intervals,): the split
    before each interval, -1 for the first of an attribute. `keys` (m,): ascending, one for each combination of
    intervals; that of the next interval of an attribute is higher by `strides` (attributes,)."""

    places: Ints
    first: Ints
    split: Ints
    keys: Ints
    counts: Ints
    labels: Ints

    @classmethod
    def of(cls, cells: SplitCells) -> SizedCells:
        """The same cells, where all splits stay."""
        first = np.cumsum([0, *cells.spans])
        split = np.full(first[-1], -1)
        split[np.setdiff1d(np.arange(first[-1]), first[:-1])] = np.arange(first[-1] - len(cells.spans))
        places = np.array(cells.columns) + first[:-1, None]
        keys = _weights(first)[places].sum(axis=0)
        order = np.argsort(keys, kind="stable")
        return cls(places[:, order], first, split, keys[order], cells.counts[order], cells.labels[order])

    @staticmethod
    def fits(cells: SplitCells) -> bool:
        """Whether every combination has a key of 63 bits, and every cost is exact as a floating point number."""
        return math.prod(cells.spans) < MOST_KEYS and int(cells.counts.sum()) ** 2 < EXACT

    @property
    def intervals(self) -> int:
        """Intervals of all attributes together."""
        return len(self.split)

    @cached_property
    def strides(self) -> Ints:
        """(attributes,) see `keys`."""
        return _strides(self.first)

    @cached_property
    def _starting(self) -> Bools:
        return self.split < 0

    @cached_property
    def inner(self) -> Ints:
        """Intervals that have a split before them; there are as many as splits."""
        return np.flatnonzero(~self._starting)

    @cached_property
    def owner(self) -> Ints:
        """(intervals,) the attribute of each."""
        return np.arange(len(self.first) - 1).repeat(self.first[1:] - self.first[:-1])

    def joined(self, mask: Bools) -> tuple[SizedCells, Ints]:
        """The cells of fewer splits: of all splits there are, which stay. And (m,) the new cell of each."""
        cells, grouping = self._joined(mask)
        return cells, grouping.group

    def fewer(self, mask: Bools) -> SizedCells:
        """The cells of fewer splits, as `joined` has them."""
        return self if np.count_nonzero(mask) == len(self.inner) else self._joined(mask)[0]

    def _joined(self, mask: Bools) -> tuple[SizedCells, KeyGroups]:
        begins = self._starting.copy()
        begins[self.inner] = mask[self.split[self.inner]]
        number = np.cumsum(begins) - 1
        first = np.concatenate((number[self.first[:-1]], number[-1:] + 1))
        keys = _weights(first)[number].take(self.places).sum(axis=0)
        grouping = KeyGroups.of(keys, math.prod((first[1:] - first[:-1]).tolist()))
        one = grouping.first
        cells = SizedCells(
            places=number.take(self.places.take(one, axis=1)),
            first=first,
            split=self.split[begins],
            keys=keys[one],
            counts=np.add.reduceat(self.counts[grouping.order], grouping.starts),
            labels=self._labels_of(grouping),
        )
        return cells, grouping

    def _labels_of(self, grouping: KeyGroups) -> Ints:
        if not self.labels.shape[1]:
            return self.labels[: len(grouping.starts)]
        return np.add.reduceat(self.labels[grouping.order], grouping.starts, axis=0)

    def classed(self, class_of: Ints) -> Ints:
        """(attributes * m,) class and interval of each cell, in every attribute, as one number."""
        return (class_of * self.intervals + self.places).ravel()

    def before(self, classed: Ints, weights: Ints, totals: Ints) -> Ints:
        """(classes, splits) the sum of the weights (m,) of the cells of each class before each split, given that of the
        whole class (classes,)."""
        many = np.broadcast_to(weights, self.places.shape).ravel()
        table = np.bincount(classed, many, minlength=len(totals) * self.intervals).astype(np.int64)
        table = table.reshape(len(totals), self.intervals)
        ahead = table.cumsum(axis=1)
        ahead -= table
        return np.asarray(ahead[:, self.inner] - totals[:, None] * self.owner[self.inner])

    def neighbours(self, looked: Bools) -> tuple[Ints, Ints, Ints]:
        """The pairs of cells, one of them at least among those looked at (m,), that lie in neighbouring intervals of an
        attribute and agree in all others: the split between them, the one before it and the one after it."""
        pairs = [self._beside(np.flatnonzero(looked), 1)]
        if not looked.all():
            split, after, before = self._beside(np.flatnonzero(looked), -1)
            alone = ~looked[before]
            pairs.append((split[alone], before[alone], after[alone]))
        split, before, after = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        return split, before, after

    def _beside(self, cells: Ints, step: int) -> tuple[Ints, Ints, Ints]:
        """The split towards the neighbour of some cells, the cell, and the neighbour, where there is one."""
        edge = self.places[:, cells] + max(step, 0)
        inside = np.append(self.split, -1)[edge] >= 0
        neighbour = self.keys[cells] + step * self.strides[:, None]
        place = np.minimum(np.searchsorted(self.keys, neighbour), len(self.keys) - 1)
        attribute, chosen = np.nonzero(inside & (self.keys[place] == neighbour))
        return self.split[edge[attribute, chosen]], cells[chosen], place[attribute, chosen]


def _strides(first: Ints) -> Ints:
    strides = np.ones(len(first) - 1, np.int64)
    (first[:0:-1] - first[-2::-1])[:-1].cumprod(out=strides[-2::-1])
    return strides


def _weights(first: Ints) -> Ints:
    """(intervals,) what each adds to the key of a cell."""
    spans = first[1:] - first[:-1]
    return (np.arange(first[-1]) - first[:-1].repeat(spans)) * _strides(first).repeat(spans)
