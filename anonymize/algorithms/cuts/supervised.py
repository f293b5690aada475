"""Cut rules that look at the targets of the workload: of all candidate cuts, the one that saves most impurity. The
manual of each rule is the docstring of its class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import field
from typing import ClassVar

import numpy as np

from anonymize.algorithms.cuts.base import SHARES, Candidates
from anonymize.algorithms.cuts.candidates import ItemCells, Items, JudgedRows, Sides, before_each, each_alone
from anonymize.algorithms.cuts.impurity import Impurity, LabelImpurity, NumberImpurity
from anonymize.algorithms.cuts.unsupervised import Widest
from anonymize.algorithms.splitting import Batch
from anonymize.classes import Bools, Floats, Ints, run_starts
from anonymize.domain.taxonomy import Taxonomy
from anonymize.records import dataclass
from anonymize.table import TargetColumn

# --- targets ----------------------------------------------------------------------------------------------------------

LEAST = 1e-6
"""A cut gains if it saves more than this share of its class's impurity: less may be an error of rounding."""
DIGITS = 9
"""Gains are compared to so many digits: rounding, which depends on the other classes of a batch, decides no tie."""
OWN_TRIES = 2
TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class BestCuts:
    """The best cut of one attribute in each of m classes: `gain`, the share of the class's impurity that it saves, 0
    where there is none; and the codes `start ... stop - 1` that it parts from the rest."""

    gain: Floats
    start: Ints
    stop: Ints

    @classmethod
    def none(cls, classes: int) -> BestCuts:
        """No cut in any class."""
        return cls(np.zeros(classes), np.zeros(classes, np.int64), np.zeros(classes, np.int64))

    def put(self, classes: Ints | Bools, other: BestCuts) -> None:
        """Some of the classes become those of another."""
        self.gain[classes], self.start[classes], self.stop[classes] = other.gain, other.start, other.stop

    def picked(self, classes: Ints | Bools) -> BestCuts:
        """Some of the classes."""
        return BestCuts(self.gain[classes], self.start[classes], self.stop[classes])


@dataclass(frozen=True)
class ByTarget(Widest):
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
        best, uncut = BestCuts.none(len(classes)), np.zeros(len(classes), np.bool_)
        fresh = np.flatnonzero(batch.attempts[classes, attribute] < OWN_TRIES)
        if len(fresh):
            fresh_cuts, uncut[fresh] = self._best(batch, attribute, classes[fresh])
            best.put(fresh, fresh_cuts)
        score = np.where(best.gain > 0, best.gain, -np.inf)
        batch.closed[classes[uncut], attribute] = True
        rest = np.flatnonzero((best.gain <= 0) & ~uncut)
        if len(rest):
            other = super().candidates(batch, attribute, classes[rest])
            score[rest] = -1 / np.maximum(other.score, TINY)
            best.stop[rest] = other.stop
        return Candidates(score, best.start, best.stop)

    def _best(self, batch: Batch, attribute: int, classes: Ints) -> tuple[BestCuts, Bools]:
        """The best cut of each class (m,), and in which ones no boundary leaves enough rows on both sides."""
        rows = JudgedRows.of(batch, classes, self.minimum, exact=self.exact)
        best, uncut = self._best_of_rows(batch, attribute, rows)
        if len(rows.classes) == len(classes):
            return best, uncut
        places = np.searchsorted(rows.classes, classes)
        return best.picked(places), uncut[places]

    def _best_of_rows(self, batch: Batch, attribute: int, rows: JudgedRows) -> tuple[BestCuts, Bools]:
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
            better = other.gain > best.gain
            best.put(better, other.picked(better))
            best.stop[better] = items.stop_of(domain, best.start[better], better)
            return best, np.zeros(len(classes), np.bool_)
        bounds = np.searchsorted(allowed, cells[0].first)
        uncut = np.diff(bounds) == 0
        sides = Sides.of(cells[0], self._telling(cells, allowed, bounds), alone=False)
        uncut &= ~again & (rows.sizes == batch.sizes[classes]) & (items.shift == 0) & (not self.relaxed)
        best = self._among(cells, sides, alone=False)
        return BestCuts(best.gain, best.start, items.code_of(best.stop)), uncut

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

    def _among(self, cells: Sequence[ItemCells], sides: Sides, *, alone: bool) -> BestCuts:
        """The cut of each class (m,) that saves most over all targets, the first one at a tie."""
        classes = len(cells[0].offset)
        best = BestCuts.none(classes)
        if not len(sides.item):
            return best
        gain, before = np.zeros(len(sides.item)), np.zeros(classes)
        for target, its in zip(self.targets, cells, strict=True):
            its_sides = sides if its is cells[0] else sides.over(its, alone=alone)
            saved, was = target.gains(its, its_sides, alone=alone)
            gain, before = gain + saved, before + was
        gain = np.round(gain / np.maximum(before, TINY)[sides.owner], DIGITS)
        gain[gain <= LEAST] = 0
        starts = run_starts(sides.owner)
        owner, most = sides.owner[starts], np.maximum.reduceat(gain, starts)
        hits = np.flatnonzero(gain == np.repeat(most, np.diff(starts, append=len(gain))))
        first = hits[run_starts(sides.owner[hits])]
        item = cells[0].items(sides.item[first], owner)
        best.put(owner, BestCuts(most, item if alone else np.zeros_like(item), np.zeros_like(item) if alone else item))
        return best


# --- infogain ---------------------------------------------------------------------------------------------------------


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


# --- lsd --------------------------------------------------------------------------------------------------------------


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


# --- mixed ------------------------------------------------------------------------------------------------------------


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
