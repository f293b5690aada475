"""Cut rules that look at the targets of the workload: of all candidate cuts, the one that saves most impurity. The
manual of each rule is the docstring of its class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import field, replace
from functools import cache
from typing import ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.cuts import SHARES, Candidates, unsupervised
from anonymize.algorithms.cuts.candidates import ItemCells, Items, JudgedRows, Sides, before_each, each_alone
from anonymize.algorithms.splitting import Batch
from anonymize.classes import Bools, Floats, Ints, run_starts
from anonymize.domain.taxonomy import Taxonomy
from anonymize.records import dataclass
from anonymize.table import TargetColumn

# --- impurity ---------------------------------------------------------------------------------------------------------
# How mixed a target is in a class, and by how much a cut lessens that: entropy of labels, squared error of numbers.
# Both are sums over rows, so the impurity of a partition is the sum over its classes; over the rows it is formulas 1
# and 2 of LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, sections 3.1 and 3.2.

Number = TypeVar("Number", np.int64, np.float64)

PURE = 1e-6
"""A class with less impurity than this is pure: bits of all its labels, or standard deviations of its numbers."""
LABELS_IN_TURN = 8
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
    few: int = LABELS_IN_TURN

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
        begin, end = cells.begins[:-1], cells.begins[1:]
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
        begin, end = cells.begins[:-1], cells.begins[1:]
        counts, ahead, whole = cells.of_label(self.size)
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
        # Labels are in order within an item, so one label is all there is where the ends are equal.
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
        # Sums are of deviations from the mean of the class, which keeps them small.
        begin, end = cells.begins[:-1], cells.begins[1:]
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


def _between(sums: NDArray[Number], start: Ints, stop: Ints) -> NDArray[Number]:
    return sums[stop] - sums[start]


def _summed(figures: Floats) -> Floats:
    """(c + 1,) sums of the figures (c,) before each."""
    sums = np.zeros(len(figures) + 1)
    np.cumsum(figures, out=sums[1:])
    return sums


# --- cuts by targets --------------------------------------------------------------------------------------------------

LEAST_GAIN = 1e-6
"""A cut gains if it saves more than this share of its class's impurity: less may be an error of rounding."""
DIGITS = 9
"""Gains are compared to so many digits: rounding, which depends on the other classes of a batch, decides no tie."""
OWN_TRIES = 2
TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class ByTarget(unsupervised.Widest):
    """A rule that cuts by targets. `targets`: one for each of the batch's columns of targets. `exact`: whether all
    candidates are weighed by all rows."""

    BY_COUNTS: ClassVar[bool] = False

    targets: Sequence[Impurity] = field(default=())
    exact: bool = True

    @classmethod
    @abstractmethod
    def weighs(cls, column: TargetColumn) -> Impurity | None:
        """A target as this rule weighs it; None where it does not count."""

    @property
    def tries(self) -> int:
        """Two attempts at places of its own, and those near the median."""
        return OWN_TRIES + len(SHARES)

    def candidates(self, batch: Batch, attribute: int, classes: Ints) -> Candidates:
        """The best cut of each class; where none gains, that of `widest` with a score below 0."""
        best, uncut = Candidates.near_median(np.zeros(len(classes))), np.zeros(len(classes), np.bool_)
        fresh = np.flatnonzero(batch.attempts[classes, attribute] < OWN_TRIES)
        if len(fresh):
            fresh_cuts, uncut[fresh] = self._best(batch, attribute, classes[fresh])
            best.put(fresh, fresh_cuts)
        score = np.where(best.score > 0, best.score, -np.inf)
        batch.closed[classes[uncut], attribute] = True
        rest = np.flatnonzero((best.score <= 0) & ~uncut)
        if len(rest):
            other = super().candidates(batch, attribute, classes[rest])
            score[rest] = -1 / np.maximum(other.score, TINY)
            best.stop[rest] = other.stop
        return Candidates(score, best.start, best.stop)

    def _best(self, batch: Batch, attribute: int, classes: Ints) -> tuple[Candidates, Bools]:
        """The best cut of each class (m,), by the share of the class's impurity that it saves, 0 where there is none;
        and in which ones no boundary leaves enough rows on both sides."""
        rows = JudgedRows.of(batch, classes, self.minimum, exact=self.exact)
        best, uncut = self._best_of_rows(batch, attribute, rows)
        if len(rows.classes) == len(classes):
            return best, uncut
        places = np.searchsorted(rows.classes, classes)
        return best.picked(places), uncut[places]

    def _best_of_rows(self, batch: Batch, attribute: int, rows: JudgedRows) -> tuple[Candidates, Bools]:
        """The best cuts of the classes of some rows. That no boundary leaves enough rows is certain only in a class
        that is judged by all of its rows, on a numeric attribute; and where equal rows may be parted, one may exist all
        the same."""
        classes, domain = rows.classes, self.domains[attribute]
        items = Items.of(domain, batch, attribute, rows)
        cells = [items.cells(codes, target.size) for target, codes in zip(self.targets, rows.targets, strict=True)]
        again = batch.attempts[classes, attribute] > 0
        least = np.maximum(self.minimum, np.where(again, rows.sizes // 4, 0))
        allowed = before_each(cells[0], rows.sizes, least)
        if isinstance(domain, Taxonomy):
            best = self._among(cells, Sides.of(cells[0], allowed, alone=False), alone=False)
            one = each_alone(cells[0], rows.sizes, least)
            other = self._among(cells, Sides.of(cells[0], one, alone=True), alone=True)
            better = other.score > best.score
            best.put(better, other.picked(better))
            best.stop[better] = items.stop_of(domain, best.start[better], better)
            return best, np.zeros(len(classes), np.bool_)
        bounds = np.searchsorted(allowed, cells[0].first)
        uncut = np.diff(bounds) == 0
        sides = Sides.of(cells[0], self._telling(cells, allowed, bounds), alone=False)
        uncut &= ~again & (rows.sizes == batch.sizes[classes]) & (items.shift == 0) & (not self.relaxed)
        best = self._among(cells, sides, alone=False)
        return replace(best, stop=items.code_of(best.stop)), uncut

    def _telling(self, cells: Sequence[ItemCells], item: Ints, bounds: Ints) -> Ints:
        """The allowed items among which the best ones are: where a label changes, and the first and the last
        of each class, c's being `item[bounds[c] : bounds[c + 1]]`; all of them where a target has no labels.

        Between two changes all rows show the same labels. The impurity that is left is a concave function of the rows
        of each label below the cut, so along such a stretch it is least at one of its ends. These are changes of label,
        or the first or the last place that the minimum size allows.
        """
        changed = [target.changes(its) for target, its in zip(self.targets, cells, strict=True)]
        tells = np.zeros(len(item), np.bool_)
        for changes in changed:
            if changes is None:
                return item
            tells |= changes[item]
        some = bounds[:-1] < bounds[1:]
        tells[bounds[:-1][some]] = tells[bounds[1:][some] - 1] = True
        return item[tells]

    def _among(self, cells: Sequence[ItemCells], sides: Sides, *, alone: bool) -> Candidates:
        """The cut of each class (m,) that saves most over all targets, the first one at a tie."""
        classes = len(cells[0].offset)
        best = Candidates.near_median(np.zeros(classes))
        if not len(sides.item):
            return best
        gain, before = np.zeros(len(sides.item)), np.zeros(classes)
        for target, its in zip(self.targets, cells, strict=True):
            its_sides = sides if its is cells[0] else sides.over(its, alone=alone)
            saved, was = target.gains(its, its_sides, alone=alone)
            gain, before = gain + saved, before + was
        gain = np.round(gain / np.maximum(before, TINY)[sides.owner], DIGITS)
        gain[gain <= LEAST_GAIN] = 0
        starts = run_starts(sides.owner)
        owner, most = sides.owner[starts], np.maximum.reduceat(gain, starts)
        hits = np.flatnonzero(gain == np.repeat(most, np.diff(starts, append=len(gain))))
        first = hits[run_starts(sides.owner[hits])]
        item = cells[0].items(sides.item[first], owner)
        best.put(
            owner, Candidates(most, item if alone else np.zeros_like(item), np.zeros_like(item) if alone else item)
        )
        return best


@dataclass(frozen=True)
class InfoGain(ByTarget):
    """`--cut infogain`: InfoGain Mondrian, for models that classify: the cut after which the labels have least entropy.

    For a release from which the categorical targets of the workload will be predicted. The score of a cut is the
    information gain, summed over the targets: the entropy of their labels in the class, less the weighted entropies of
    the two parts. A missing label is a label of its own.

    Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, sections 3.1 and 3.3. There a
    class is parted into all children of a node at once; here in two, as often as that gains.
    """

    ID: ClassVar[str] = "infogain"

    @classmethod
    def weighs(cls, column: TargetColumn) -> Impurity | None:
        """Labels count, numbers do not."""
        return None if column.numeric else LabelImpurity.of(column, relative=False)


@dataclass(frozen=True)
class LeastSquares(ByTarget):
    """`--cut lsd`: least squared deviance, for regression: the cut after which numbers lie nearest to their class's
    mean.

    For a release from which the numeric targets of the workload will be predicted. The score of a cut is what it takes
    off the squared error, summed over the targets, each divided by its variance over the whole table, so that its unit
    does not matter. A missing number stays out of the sums.

    Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, sections 3.2 and 3.3.
    """

    ID: ClassVar[str] = "lsd"

    @classmethod
    def weighs(cls, column: TargetColumn) -> Impurity | None:
        """Numbers count, labels do not."""
        return NumberImpurity.of(column) if column.numeric else None


@dataclass(frozen=True)
class Mixed(ByTarget):
    """`--cut mixed`: for classification and regression at once: information gain and squared error, added up.

    Bits and squared errors have no common unit, so each target counts in shares of what it has over the whole table:
    the entropy of its labels, or the variance of its numbers.
    """

    ID: ClassVar[str] = "mixed"

    @classmethod
    def weighs(cls, column: TargetColumn) -> Impurity | None:
        """Both count."""
        return NumberImpurity.of(column) if column.numeric else LabelImpurity.of(column, relative=True)
