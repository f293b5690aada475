"""Some classes that are refined together: their rows, by number within the block, and the class of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from anonymize.algorithms.refining.measure import BoxMeasure, Places, Singles
from anonymize.classes import Bools, Floats, Ints, run_starts, starts_of

Met = Callable[[Ints, Ints, int], Bools]
"""(rows, group of each, number of groups) -> (groups,) whether each meets every requirement."""

GAIN = 1e-4
"""A change has to lower the weighted NCP, summed over rows, by more than this: rounding is well below it."""


@dataclass(frozen=True)
class BlockClasses:
    """The classes of some rows.

    `names` (classes,) the label of each, ascending; `order` (rows,) the rows, class by class; `number` (rows,) class of
    each row of `order`; `starts` (classes + 1,), `sizes` (classes,); `low`, `high`: the boxes, (classes,) on each axis;
    `cost` (classes,) penalty of one row.
    """

    names: Ints
    order: Ints
    number: Ints
    starts: Ints
    sizes: Ints
    low: list[Places]
    high: list[Places]
    cost: Singles

    @property
    def count(self) -> int:
        """Number of classes."""
        return len(self.sizes)

    @property
    def ncp(self) -> Floats:
        """(classes,) weighted NCP, summed over the rows of each class."""
        return self.cost.astype(np.float64) * self.sizes


@dataclass(frozen=True)
class Block:
    """What a search needs to know beside the classes.

    `measure`: the rows. `k`: the fewest rows of a class. `met`: whether groups meet every requirement; None where the
    size is all there is to meet.
    """

    measure: BoxMeasure
    k: int
    met: Met | None = None

    def classes(self, labels: Ints, rows: Ints | None = None) -> BlockClasses:
        """The classes of some rows, ascending, or of all, by the labels of all rows of the block (block rows,)."""
        chosen = labels if rows is None else labels[rows]
        by_label = np.argsort(chosen, kind="stable")
        order = by_label if rows is None else rows[by_label]
        arranged = chosen[by_label]
        begins = run_starts(arranged)
        sizes = np.diff(begins, append=len(order))
        places = self.measure.places_of(order)
        low = [np.minimum.reduceat(axis, begins) for axis in places]
        high = [np.maximum.reduceat(axis, begins) for axis in places]
        number = np.repeat(np.arange(len(begins)), sizes)
        cost = np.maximum(self.measure.cost(low, high), 0)  # what adds up to nothing may be a rounding below it
        return BlockClasses(arranged[begins], order, number, starts_of(sizes), sizes, low, high, cost)

    def breaking(self, labels: Ints, touched: Bools) -> Bools:
        """(labels,) which of the touched classes do not meet the requirements; `touched` (labels,) by label."""
        broken = np.zeros(len(touched), np.bool_)
        if self.met is not None:
            rows = np.flatnonzero(touched[labels])
            names, group = np.unique(labels[rows], return_inverse=True)
            broken[names] = ~self.met(rows, group, len(names))
        return broken
