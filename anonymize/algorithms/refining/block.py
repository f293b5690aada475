"""Some classes that are refined together: their rows, by number within the block, and the class of each.

A large table is cut into blocks of classes that lie near each other, along other borders in every pass: what one pass
cannot see across a border, the next can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.refining.measure import BoxMeasure, Places, Singles
from anonymize.classes import Bools, Floats, Ints, Partition, run_starts, starts_of

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


ROWS = 1 << 16
"""The approximate maximum number of rows in a block."""
CELLS = 1 << 27
"""The approximate number of (row, class) pairs looked at in one pass over a table."""
LEAST = 1 << 9
"""The approximate minimum number of classes in a section, however large the table."""


def blocks(codes: NDArray[Any], partition: Partition, rng: np.random.Generator) -> list[Ints]:
    """The numbers of the classes of each block, ascending; `codes`: (attributes, rows)."""
    drawn = _drawn(partition.order, partition.starts, partition.sizes, rng)
    return _halved(codes[:, drawn], -(-len(partition.order) // ROWS), rng)


def sections(block: Block, classes: BlockClasses, rows: int, rng: np.random.Generator) -> list[Ints]:
    """The numbers of the classes of each section of a block, within which rows look for a better class.

    `rows`: of the whole table. A section is the whole block where the table is small.
    """
    drawn = _drawn(classes.order, classes.starts, classes.sizes, rng)
    largest = max(CELLS // rows, LEAST)
    return _halved(block.measure.places_of(drawn), -(-classes.count // largest), rng)


def _drawn(order: NDArray[Any], starts: Ints, sizes: Ints, rng: np.random.Generator) -> NDArray[Any]:
    """(classes,) a row of each class, drawn at random."""
    return np.asarray(order[starts[:-1] + (rng.random(len(sizes)) * sizes).astype(np.int64)])


def _halved(places: Sequence[NDArray[Any]] | NDArray[Any], parts: int, rng: np.random.Generator) -> list[Ints]:
    """Classes halved until there are that many parts or more, given a place of each on every axis.

    Each part is halved at its median on an axis drawn at random; equal places are parted by chance.
    """
    classes = len(places[0])
    part, count = np.zeros(classes, np.int64), 1
    chance = rng.random(classes)
    while count < parts:
        axis = rng.integers(0, len(places), count)[part]
        place = np.choose(axis, [np.asarray(each, np.float64) for each in places])
        order = np.lexsort((chance, place, part))
        sizes = np.bincount(part, minlength=count)
        rank = np.arange(classes) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        upper = np.empty(classes, np.int64)
        upper[order] = 2 * rank >= np.repeat(sizes, sizes)
        part, count = 2 * part + upper, 2 * count
    order = np.argsort(part, kind="stable")
    cut = np.split(order, np.searchsorted(part[order], np.arange(1, count)))
    return [each for each in cut if len(each)]
