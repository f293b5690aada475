"""A node of the search where the size of a class alone decides: the figures of `moves`, and a bound that knows more.

The bound. Let a class have n rows, and let it be parted by some split of the tail. At most n // k of the
classes that it becomes are kept, which costs the least where they are even. If two or more are kept, some split of the
tail parts them: both sides have k rows, and are parted on their own. If no more than one is kept, it costs what
`Cost.whole` says. So the class costs no less than the cheapest of these ways, and a set costs no less than the classes
together; and no less than the best split of the tail leaves, unless it is the head itself. The published bound knows of
the cells of the allset only; each class counts with the higher of both.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from anonymize.algorithms.optimize import SizedCells, costs, stacked
from anonymize.classes import Bools, Ints
from anonymize.records import dataclass

OVERHEAD = 5_000
"""The least work of a look at the cells in one attribute, in numbers read."""
ABOVE_ALL_COSTS = 1 << 62
"""More than anything costs."""


@dataclass(frozen=True)
class Side:
    """One side of every way to part every class, (classes, splits) each. `bound`: what its cells cost at least;
    `least`: what it does however it is parted further."""

    rows: Ints
    labels: Ints
    failing: Bools
    bound: Ints
    least: Ints


@dataclass(frozen=True)
class SizedView:
    """A node. `class_of` (cells,): the class of each cell."""

    rules: costs.SizeRules
    head: Bools
    allset: Bools
    cells: SizedCells
    classes: SizedCells
    class_of: Ints

    @property
    def sizes(self) -> Ints:
        """(classes,) rows of each class."""
        return self.classes.counts

    @cached_property
    def failing(self) -> Bools:
        """(classes,) which classes fail; so does any part of them."""
        return self.rules.fails(self.sizes)

    @cached_property
    def cost_of(self) -> Ints:
        """(classes,) cost of each class."""
        return self._costs(self.sizes, self.classes.labels)

    @property
    def cost(self) -> int:
        """Cost of the head."""
        return int(self.cost_of.sum())

    @property
    def suppressed(self) -> int:
        """Rows that the head suppresses, and every set below."""
        return int(self.sizes[self.failing].sum())

    ruled_out = suppressed

    @property
    def work(self) -> int:
        """Numbers that one look at the cells reads, and what it takes however few they are."""
        table = len(self.sizes) * self.cells.intervals
        return (len(self.cells.counts) + OVERHEAD) * len(self.cells.places) + table

    @cached_property
    def least_of(self) -> Ints:
        """(cells,) what the rows of each cell cost at least in any class that is kept."""
        return self.rules.cost.least(self.cells.counts, self.cells.labels)

    @cached_property
    def bound_of(self) -> Ints:
        """(classes,) what the cells of each class cost at least."""
        return self.rules.charged(self.failing, self.sizes, self._least)

    @property
    def bound(self) -> int:
        """No set below costs less, by the cells alone."""
        return int(self.bound_of.sum())

    @cached_property
    def floor_of(self) -> Ints:
        """(classes,) what each class costs at least, however it is parted. See the module."""
        whole = self.rules.cost.whole
        pieces = self.sizes // self.rules.minimum
        split = np.min(self.parted, axis=1, where=self._both, initial=ABOVE_ALL_COSTS)
        best = np.minimum(whole(self.sizes, self.classes.labels, 1), split)
        best = np.maximum(best, whole(self.sizes, self.classes.labels, pieces))
        return np.where(self.failing, self.bound_of, np.maximum(best, self.bound_of))

    @cached_property
    def floor(self) -> int:
        """No set below costs less."""
        cost = self.cost if self.suppressed <= self.rules.allowed else ABOVE_ALL_COSTS
        tail = (self.allset & ~self.head)[self._splits]
        further = np.min(self.within[tail], initial=ABOVE_ALL_COSTS)
        return max(int(self.floor_of.sum()), min(cost, int(further)))

    @cached_property
    def within(self) -> Ints:
        """(splits of the allset,) no set below with the split costs less."""
        floor = self.floor_of[:, None]
        cut = (self.before.rows > 0) & (self.after.rows > 0)
        return np.asarray(np.where(cut, np.maximum(self.parted, floor), floor).sum(axis=0))

    @cached_property
    def parted(self) -> Ints:
        """(classes, splits of the allset) what each class costs at least where the split parts it."""
        return self.before.least + self.after.least

    @cached_property
    def before(self) -> Side:
        """What lies before each split of the allset."""
        labels = [self._sums(self.cells.labels[:, spot], self.classes.labels[:, spot]) for spot in range(self._labels)]
        rows = self._sums(self.cells.counts, self.sizes)
        return self._side(rows, stacked(labels, rows), self._sums(self.least_of, self._least))

    @cached_property
    def after(self) -> Side:
        """What lies after each split of the allset."""
        one = self.before
        labels = self.classes.labels[:, None] - one.labels
        return self._side(self.sizes[:, None] - one.rows, labels, self._least[:, None] - one.bound)

    def additions(self) -> costs.Additions:
        """The additions for every split of the allset; 0 for those in the head and for all others."""
        cost, suppressed = self._changes()
        apart = (self.before.rows * self.after.rows).sum(axis=0)
        figures = np.zeros((6, len(self.allset)), np.int64)
        figures[:, self._splits] = [cost, suppressed, self._raised(), self._useful(), apart, self.within]
        grown, lost, bound, useful, apart, within = figures
        return costs.Additions(grown, lost, ruled_out=lost, bound=bound, useful=useful, apart=apart, within=within)

    def changes(self) -> tuple[Ints, Ints]:
        """(splits,) how much cost and suppressed rows grow with each further split of the allset."""
        figures = np.zeros((2, len(self.allset)), np.int64)
        figures[:, self._splits] = self._changes()
        return figures[0], figures[1]

    def exclusions(self) -> Ints:
        """(splits,) how much the bound by the cells grows without each split of the allset; meaningless for those in
        the head."""
        cost, cells = self.rules.cost, self.cells
        hoped = ~self.failing[self.class_of]
        split, one, other = cells.neighbours(cost.rises(cells.counts))
        joined = cost.least(cells.counts[one] + cells.counts[other], cells.labels[one] + cells.labels[other])
        grown = np.where(hoped[one], joined - self.least_of[one] - self.least_of[other], 0)
        return np.bincount(split, grown, minlength=len(self.allset)).astype(np.int64)

    def removals(self) -> tuple[Ints, Ints]:
        """(splits,) how much cost and suppressed rows grow without each split of the head; 0 for all others."""
        classes, lost = self.classes, np.where(self.failing, self.sizes, 0)
        split, one, other = classes.neighbours(np.ones(len(self.sizes), np.bool_))
        rows = self.sizes[one] + self.sizes[other]
        cost = self._costs(rows, classes.labels[one] + classes.labels[other])
        cost -= self.cost_of[one] + self.cost_of[other]
        suppressed = np.where(self.rules.fails(rows), rows, 0) - lost[one] - lost[other]
        count = len(self.allset)
        return (
            np.bincount(split, cost, minlength=count).astype(np.int64),
            np.bincount(split, suppressed, minlength=count).astype(np.int64),
        )

    @cached_property
    def _splits(self) -> Ints:
        return self.cells.split[self.cells.inner]

    @property
    def _labels(self) -> int:
        return int(self.cells.labels.shape[1])

    @cached_property
    def _least(self) -> Ints:
        return np.bincount(self.class_of, self.least_of, minlength=len(self.sizes)).astype(np.int64)

    @cached_property
    def _both(self) -> Bools:
        return ~(self.before.failing | self.after.failing)

    def _sums(self, weights: Ints, totals: Ints) -> Ints:
        return self.cells.before(self._classed, weights, totals)

    @cached_property
    def _classed(self) -> Ints:
        return self.cells.classed(self.class_of)

    def _costs(self, sizes: Ints, labels: Ints) -> Ints:
        return self.rules.charged(self.rules.fails(sizes), sizes, self.rules.cost.class_cost(sizes, labels))

    def _side(self, rows: Ints, labels: Ints, bound: Ints) -> Side:
        failing = self.rules.fails(rows)
        least = np.maximum(bound, self.rules.cost.whole(rows, labels, rows // self.rules.minimum))
        return Side(rows, labels, failing, bound, self.rules.charged(failing, rows, least))

    def _changes(self) -> tuple[Ints, Ints]:
        """(splits of the allset,) as in `changes`."""
        one, other = self.before, self.after
        cost = (self._costs(one.rows, one.labels) + self._costs(other.rows, other.labels)).sum(axis=0)
        lost = np.where(one.failing, one.rows, 0).sum(axis=0) + np.where(other.failing, other.rows, 0).sum(axis=0)
        return cost - self.cost, lost - self.suppressed

    def _raised(self) -> Ints:
        """(splits of the allset,) how much the bound by the cells grows with each."""
        sides = self.before, self.after
        both = [self.rules.charged(each.failing, each.rows, each.bound).sum(axis=0) for each in sides]
        return np.asarray(both[0] + both[1] - self.bound)

    def _useful(self) -> Ints:
        """(splits of the allset,) classes whose parting can pay. See `SplitView`."""
        one, other, no_gain = self.before, self.after, self.rules.cost.no_gain
        useless = (one.failing & other.failing) | self.failing[:, None] | (one.rows == 0) | (other.rows == 0)
        useless |= one.failing & no_gain(other.rows, one.rows)
        useless |= other.failing & no_gain(one.rows, other.rows)
        return np.asarray(np.count_nonzero(~useless, axis=0))
