"""How mixed a target is in a class, and by how much a cut lessens that: entropy of labels, squared error of numbers.

Both are sums over the rows of a class, so the impurity of a partition is the sum over its classes. Divided by the rows
it is formula 1 and formula 2 of the source.

Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, sections 3.1 and 3.2.
"""

from __future__ import annotations

from functools import cache
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.cuts.candidates import ItemCells, Sides
from anonymize.classes import Bools, Floats, Ints, run_starts, starts_of
from anonymize.records import dataclass
from anonymize.table import TargetColumn

Number = TypeVar("Number", np.int64, np.float64)

PURE = 1e-6
"""A class with less impurity than this is pure: bits of all its labels, or standard deviations of its numbers."""
FEW = 8
"""Up to so many labels are counted one after the other, more by their places in the order of the cells."""


class Impurity(Protocol):
    """A target as a cut rule sees it."""

    @property
    def size(self) -> int:
        """Codes of the target are below it."""

    def gains(self, cells: ItemCells, sides: Sides, *, alone: bool) -> tuple[Floats, Floats]:
        """(cuts,) the impurity that each cut saves, and (m,) that of each class before.

        `alone`: the first side of each cut is one item, else all items before one.
        """

    def changes(self, cells: ItemCells) -> Bools | None:
        """(items,) whether the label changes between an item and the one before it; None where that does not count."""


@cache
def xlogx(limit: int) -> Floats:
    """(limit + 1,) n log2 n of whole numbers."""
    numbers = np.arange(limit + 1, dtype=np.float64)
    return numbers * np.log2(np.maximum(numbers, 1))


def _table(largest: int) -> Floats:
    """`xlogx` up to a number at least, of few different lengths."""
    return xlogx(1 << int(largest).bit_length())


@dataclass(frozen=True)
class LabelImpurity:
    """A categorical target of `size` labels. Its impurity is `scale` times the entropy of the labels, in bits, times
    the rows; a missing label is one of them. Up to `few` labels are counted one by one."""

    size: int
    scale: float = 1.0
    few: int = FEW

    @classmethod
    def of(cls, column: TargetColumn, *, relative: bool) -> LabelImpurity:
        """A column; `relative`: in shares of the entropy of the whole column."""
        if not relative:
            return cls(column.size)
        counts = np.bincount(column.codes)
        share = counts[counts > 0] / len(column.codes)
        entropy = float(-(share * np.log2(share)).sum())
        return cls(column.size, 1 / entropy if entropy else 1.0)

    def gains(self, cells: ItemCells, sides: Sides, *, alone: bool) -> tuple[Floats, Floats]:
        weigh = self._few if self.size <= self.few else self._many
        gain, before = weigh(cells, sides, alone)
        return _cleared(self.scale * gain, self.scale * before, sides, self.scale * PURE)

    def _few(self, cells: ItemCells, sides: Sides, alone: bool) -> tuple[Floats, Floats]:
        """Label by label; the rows of the last one are those that are left."""
        begin, end = _extents(cells)
        rest, rest_whole = _between(cells.upto, sides.start, sides.stop), _between(cells.upto, begin, end)
        of_all = _table(rest_whole.max(initial=0))
        owner = sides.owner
        first, second = of_all[rest], of_all[rest_whole[owner] - rest]
        before = of_all[rest_whole]
        for label in range(self.size):
            rows, whole = rest, rest_whole
            if label < self.size - 1:
                upto = cells.cumulated(cells.value == label)
                rows, whole = _between(upto, sides.start, sides.stop), _between(upto, begin, end)
                rest, rest_whole = rest - rows, rest_whole - whole
            first -= of_all[rows]
            second -= of_all[whole[owner] - rows]
            before -= of_all[whole]
        return before[owner] - first - second, before

    def _many(self, cells: ItemCells, sides: Sides, alone: bool) -> tuple[Floats, Floats]:
        """By what each cell adds to the first side and takes from the second, given the rows of its label before it.

        One item has each label once at most: there, no rows come before a cell of the first side.
        """
        begin, end = _extents(cells)
        counts, ahead, whole = _of_label(cells, self.size)
        rows, rows_whole = _between(cells.upto, sides.start, sides.stop), _between(cells.upto, begin, end)
        of_all = _table(rows_whole.max(initial=0))
        labels = _between(_summed(np.where(ahead == 0, of_all[whole], 0.0)), begin, end)
        ahead = np.zeros_like(ahead) if alone else ahead
        adds = _summed(of_all[ahead + counts] - of_all[ahead])
        takes = _summed(of_all[whole - ahead] - of_all[whole - ahead - counts])
        first = of_all[rows] - _between(adds, sides.start, sides.stop)
        left = labels[sides.owner] - _between(takes, sides.start, sides.stop)
        second = of_all[rows_whole[sides.owner] - rows] - left
        before = of_all[rows_whole] - labels
        return before[sides.owner] - first - second, before

    def changes(self, cells: ItemCells) -> Bools | None:
        """See `Impurity`. Labels are in order within an item, so one label is all there is where the ends are equal."""
        lowest, highest = cells.value[cells.starts[:-1]], cells.value[cells.starts[1:] - 1]
        mixed: Bools = lowest != highest
        changes = mixed.copy()
        changes[1:] |= mixed[:-1]
        changes[1:] |= lowest[1:] != lowest[:-1]
        return changes


@dataclass(frozen=True)
class NumberImpurity:
    """A numeric target. Its impurity is the squared error of the numbers from the mean of their class, in units of the
    column's variance, so that no target counts more for its unit. A missing number stays out of the sums.

    `values` (size,) the standardized number of each code, nan for a missing one.
    """

    values: Floats

    @classmethod
    def of(cls, column: TargetColumn) -> NumberImpurity:
        """A column; one without any variance is left at 0."""
        assert column.values is not None
        counts = np.bincount(column.codes, minlength=column.size)
        present = (counts > 0) & ~np.isnan(column.values)
        largest = np.abs(column.values[present]).max(initial=0.0)
        numbers = column.values / (largest or 1.0)
        rows = max(int(counts[present].sum()), 1)
        numbers = numbers - numbers[present] @ counts[present] / rows
        deviation = float(np.sqrt(numbers[present] ** 2 @ counts[present] / rows))
        return cls(numbers / (deviation or 1.0))

    @property
    def size(self) -> int:
        return len(self.values)

    def gains(self, cells: ItemCells, sides: Sides, *, alone: bool) -> tuple[Floats, Floats]:
        """See `Impurity`. Sums are of deviations from the mean of the class, which keeps them small."""
        begin, end = _extents(cells)
        numbers = self.values[cells.value]
        present = ~np.isnan(numbers)
        numbers[~present] = 0
        count = cells.cumulated(present)
        whole = _between(count, begin, end)
        mean = _between(cells.cumulated(numbers), begin, end) / np.maximum(whole, 1)
        numbers -= mean[cells.owner]
        numbers[~present] = 0
        total = cells.cumulated(numbers)
        sums, rows = _between(total, sides.start, sides.stop), _between(count, sides.start, sides.stop)
        other_sums = _between(total, begin, end)[sides.owner] - sums
        gain = sums**2 / np.maximum(rows, 1) + other_sums**2 / np.maximum(whole[sides.owner] - rows, 1)
        return _cleared(gain, _between(cells.cumulated(numbers**2), begin, end), sides, PURE**2 * whole)

    def changes(self, cells: ItemCells) -> Bools | None:
        return None


def _cleared(gain: Floats, before: Floats, sides: Sides, least: Floats | float) -> tuple[Floats, Floats]:
    """Gains (cuts,) and impurities (m,), both 0 in a class whose impurity is less than `least`: it is rounding."""
    pure = before < least
    return np.where(pure[sides.owner], 0.0, gain), np.where(pure, 0.0, before)


def _extents(cells: ItemCells) -> tuple[Ints, Ints]:
    """(m,) first cell of each class, and one past its last."""
    return cells.begins[:-1], cells.begins[1:]


def _between(sums: NDArray[Number], start: Ints, stop: Ints) -> NDArray[Number]:
    return sums[stop] - sums[start]


def _summed(figures: Floats) -> Floats:
    """(c + 1,) sums of the figures (c,) before each."""
    sums = np.zeros(len(figures) + 1)
    np.cumsum(figures, out=sums[1:])
    return sums


def _of_label(cells: ItemCells, size: int) -> tuple[Ints, Ints, Ints]:
    """(c,) rows of each cell, rows of its class and label in the cells before it, and in all cells."""
    counts = np.ones(len(cells.place), np.int64) if cells.counts is None else cells.counts
    keys = cells.owner * size + cells.value
    order = np.argsort(keys, kind="stable")
    upto = starts_of(counts[order])
    starts = run_starts(keys[order])
    lengths = np.diff(starts, append=len(keys))
    ahead, whole = np.empty((2, len(keys)), np.int64)
    ahead[order] = upto[:-1] - np.repeat(upto[starts], lengths)
    whole[order] = np.repeat(upto[starts + lengths] - upto[starts], lengths)
    return counts, ahead, whole
