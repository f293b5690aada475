"""Classes that are refined together: their rows, which of them may change rows with which, and parts of a few
classes, cut by the best of many sequences of cuts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.refining import BoxMeasure, Places, Singles
from anonymize.classes import Bools, Floats, Ints, Partition, concatenated_ranges, run_starts, starts_of
from anonymize.parallel import mapped
from anonymize.records import dataclass

# --- block ------------------------------------------------------------------------------------------------------------
# Some classes that are refined together: their rows, by number within the block, and the class of each.
#
# A large table is cut into blocks of classes that lie near each other, along other borders in every pass: what one pass
# cannot see across a border, the next can.

Met = Callable[[Ints, Ints, int], Bools]
"""(rows, group of each, number of groups) -> (groups,) whether each meets every requirement."""

LEAST_GAIN = 1e-4
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
    """What a search needs to know in addition to the classes.

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


BLOCK_ROWS = 1 << 16
"""The approximate maximum number of rows in a block."""
PASS_PAIRS = 1 << 27
"""The approximate number of (row, class) pairs looked at in one pass over a table."""
SECTION_CLASSES = 1 << 9
"""The approximate minimum number of classes in a section, however large the table."""


def blocks(codes: NDArray[Any], partition: Partition, rng: np.random.Generator) -> list[Ints]:
    """The numbers of the classes of each block, ascending; `codes`: (attributes, rows)."""
    drawn = _drawn(partition.order, partition.starts, partition.sizes, rng)
    return _halved(codes[:, drawn], -(-len(partition.order) // BLOCK_ROWS), rng)


def sections(block: Block, classes: BlockClasses, rows: int, rng: np.random.Generator) -> list[Ints]:
    """The numbers of the classes of each section of a block, within which rows look for a better class.

    `rows`: of the whole table. A section is the whole block where the table is small.
    """
    drawn = _drawn(classes.order, classes.starts, classes.sizes, rng)
    largest = max(PASS_PAIRS // rows, SECTION_CLASSES)
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


# --- partners ---------------------------------------------------------------------------------------------------------
# Which classes may change rows with which: those whose union raises the NCP least.
#
# With few classes, all unions are weighed; with many, only those with the classes whose boxes have their middles
# nearest; and under models beyond a size, which refuse most of the best changes, so that it takes more than the best
# partners.

ALL_UNIONS = 1 << 12
"""Up to so many classes, every union of two is weighed; what that takes grows with their square."""
LONG_SEARCH = 1 << 10
"""From so many classes on, up to where not all unions are weighed, to find partners takes as long as some sweeps."""
PAIRS_AT_ONCE = 1 << 18
"""Unions that are weighed at once."""


@dataclass(frozen=True)
class Effort:
    """How much work sweeps are. `near`: partners of a class; `nearest`: with more classes than `ALL`, unions that are
    weighed for each, those with the classes nearest to it; `fresh`: sweeps after which partners are found again, and
    where that takes long; `at_once`: exchanges that are weighed at once, of which many keep more threads busy, and few
    are kept near the processor."""

    near: int
    nearest: int
    fresh: tuple[int, int]
    at_once: int

    def fresh_after(self, classes: int, free: bool) -> int:
        """Sweeps after which partners are found again; `free`: see `partners`."""
        return self.fresh[free and LONG_SEARCH < classes <= ALL_UNIONS]


CARE = Effort(near=16, nearest=40, fresh=(10, 25), at_once=1 << 16)
HASTE = Effort(near=12, nearest=24, fresh=(25, 25), at_once=1 << 19)
"""Of a large table, where time goes into more sweeps instead (a million rows, 200 sweeps: 54 s of the processor and not
73, for the same loss)."""


def partners(
    measure: BoxMeasure, low: list[Places], high: list[Places], sizes: Ints, free: bool, effort: Effort = CARE
) -> Ints:
    """(classes, partners) for each class others whose union with it raises the NCP least, that first.

    `low`, `high`: the ends of all classes, (classes,) on each axis. `free`: whether size is all that classes have to
    meet.
    """
    classes = len(sizes)
    if free and classes <= ALL_UNIONS:
        step = max(PAIRS_AT_ONCE // classes, 1)
        parts = [np.arange(begin, min(begin + step, classes)) for begin in range(0, classes, step)]
        everyone = np.arange(classes)[None]
        return np.concatenate([_least(measure, low, high, sizes, some, everyone, effort.near) for some in parts])
    nearest = _nearest(measure, low, high, effort.nearest)
    return _least(measure, low, high, sizes, np.arange(classes), nearest, effort.near)


def _least(
    measure: BoxMeasure, low: list[Places], high: list[Places], sizes: Ints, some: Ints, others: Ints, most: int
) -> Ints:
    """(some, partners) the best of `others` (some or 1, n), at most so many, for each of some classes; equal ones as
    they come."""
    lost = measure.cost(low, high) * sizes
    wide = (
        [np.minimum(end[some, None], end[others]) for end in low],
        [np.maximum(end[some, None], end[others]) for end in high],
    )
    rise: Singles = measure.cost(*wide) * (sizes[some, None] + sizes[others]).astype(np.float32)
    rise -= lost[others].astype(np.float32)
    rise[others == some[:, None]] = np.inf
    return least_of(rise, others, min(most, rise.shape[1] - (others.shape[0] == 1)))


def least_of(rise: Singles | Floats, others: Ints, kept: int) -> Ints:
    """(some, kept) those of `others` (some or 1, n) whose rise (some, n) is least, that first; equal ones as they
    come."""
    near = np.argpartition(rise, kept - 1, axis=1)[:, :kept]
    by_rise = np.argsort(np.take_along_axis(rise, near, 1), axis=1, kind="stable")
    return np.take_along_axis(np.broadcast_to(others, rise.shape), np.take_along_axis(near, by_rise, 1), 1)


def _nearest(measure: BoxMeasure, low: list[Places], high: list[Places], most: int) -> Ints:
    """(classes, nearest) the others, at most so many, whose boxes have their middles nearest.

    Axes become lines: on a hierarchy, from leaf to leaf it is as far as the lowest node above both costs.
    """
    lines = [axis.line(left) + axis.line(right) for axis, left, right in zip(measure.axes, low, high, strict=True)]
    return nearest_to(np.stack(lines, axis=1) / 2, most)


def nearest_to(centres: NDArray[Any], most: int) -> Ints:
    """(classes, nearest) the others, at most so many, whose centres (classes, axes) are nearest."""
    from scipy.spatial import cKDTree  # takes half a second, which no release without refinement should wait for

    return np.asarray(cKDTree(centres).query(centres, min(most + 1, len(centres)))[1][:, 1:], np.int64)


# --- sequences --------------------------------------------------------------------------------------------------------
# Parts of a few classes, each cut by the best of many sequences of cuts.
#
# The last cuts of Mondrian are taken one by one, though which is best depends on those that follow. Here a part of some
# rows is cut in two at a multiple of k, near its middle, along each of the attributes that cost most; each side is cut
# in the same way, and so on; and what loses least in the end is kept. Rows of equal value part in their order.

AXES = 3
"""Along so many attributes a part is cut: those of highest cost."""
ROWS_AT_ONCE = 1 << 13
"""Rows of parts that are worked on together, about."""
PART_CLASSES = 7
"""Classes that a part is cut into at most: sequences are many times as many with each more."""


def cut_best(measure: BoxMeasure, parts: Partition, k: int, threads: int) -> Partition:
    """The classes of at least k rows that the parts of the measure's rows, 0 ... n - 1, are cut into: k in each, but
    for one of each part. Parts of equal size are worked on together; those of more than `PART_CLASSES` classes stay
    whole."""

    def work(some: Ints) -> tuple[Ints, Ints]:
        size = int(parts.sizes[some[0]])
        rows = parts.order[concatenated_ranges(parts.starts[some], parts.sizes[some])].astype(np.int64)
        if size // k > PART_CLASSES:
            return rows.reshape(len(some), size), np.zeros(size, np.int64)
        numbers = np.ascontiguousarray(np.arange(len(rows)).reshape(len(some), size).T)
        arranged = _Places(measure, rows, k).best(numbers)[1]
        return rows[arranged.T], np.minimum(np.arange(size) // k, max(size // k, 1) - 1)

    labels, count = np.empty(len(parts.order), np.int64), 0
    for rows, group in mapped(work, list(_batches(parts.sizes)), threads):
        labels[rows] = count + np.arange(len(rows))[:, None] * (group[-1] + 1) + group
        count += len(rows) * (int(group[-1]) + 1)
    return Partition.of_labels(labels)


def _batches(sizes: Ints) -> Iterator[Ints]:
    by_size = np.argsort(sizes, kind="stable")
    for same in np.split(by_size, np.flatnonzero(np.diff(sizes[by_size])) + 1):
        step = max(ROWS_AT_ONCE // int(sizes[same[0]]), 1)
        yield from (same[begin : begin + step] for begin in range(0, len(same), step))


class _Places:
    """The places of some rows, numbered from 0; parts are the last axis of all arrays."""

    def __init__(self, measure: BoxMeasure, rows: Ints, k: int) -> None:
        self.measure, self.k = measure, k
        self.places = measure.places_of(rows)
        self.keys = np.stack([np.asarray(own, np.float32) for own in self.places])

    def best(self, rows: Ints) -> tuple[Singles, Ints]:
        """(parts,) what the classes of parts lose, and the rows (size, parts) arranged so that every k in turn are a
        class, and the last of them has what is left."""
        size, k = len(rows), self.k
        count = size // k
        places = [own[rows] for own in self.places]
        low, high = [own.min(axis=0) for own in places], [own.max(axis=0) for own in places]
        if count < 2:
            return self.measure.cost(low, high) * np.float32(size), rows
        least = np.full(rows.shape[1], np.inf, np.float32)
        kept = rows.copy()
        for axis in self._axes(low, high):
            order = np.argsort(self.keys[axis, rows], axis=0, kind="stable")
            arranged = np.take_along_axis(rows, order, 0)
            for middle in range(count // 2, count - count // 2 + 1):
                sides = self.best(arranged[: middle * k]), self.best(arranged[middle * k :])
                loss = sides[0][0] + sides[1][0]
                better = np.flatnonzero(loss < least)
                least[better] = loss[better]
                kept[: middle * k, better] = sides[0][1][:, better]
                kept[middle * k :, better] = sides[1][1][:, better]
        return least, kept

    def _axes(self, low: list[Places], high: list[Places]) -> Ints:
        """(axes, parts) those of each part along which it is cut."""
        costs = [axis.cost(*ends) for axis, *ends in zip(self.measure.axes, low, high, strict=True)]
        return np.argsort(-np.stack(costs), axis=0, kind="stable")[:AXES]
