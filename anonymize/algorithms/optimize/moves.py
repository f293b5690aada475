"""All sets of splits that are one split away, at once: what each costs, loses and can lead to.

A node of the search is a head, the splits that are in every set below it, and an allset, those that may be. A
`SplitView` has the cells of the allset and the classes of the head, which are made of them. Its figures for one further
split of the head, or one less of the allset, are sums over the classes or cells that this parts or joins, taken for all
splits of an attribute in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np

from anonymize.algorithms.optimize import SizedCells, SplitCells, Splits
from anonymize.algorithms.optimize.costs import Additions, Cost, SetRelease, SizeRules
from anonymize.algorithms.optimize.halves import Halves, Side, SplitJudge, Values, halves_of, halves_of_units, sides
from anonymize.algorithms.optimize.sized_view import SizedView
from anonymize.classes import Bools, Ints, KeyGroups, mixed_radix
from anonymize.judging import Suppression
from anonymize.records import dataclass

OVERHEAD = 50_000
"""The least work of a look at one attribute, in numbers read."""
JUDGING = 20
"""The work per sensitive value of a cell, in numbers read, where the size of a class alone does not decide."""


MOST_TABLED = 1 << 22
"""How many numbers a table of classes and intervals may hold."""

View: TypeAlias = "SplitView | SizedView"
"""A node, however its figures are found."""


@dataclass(frozen=True)
class SplitProblem:
    """What is searched. `cells`: of all splits. `limit`: rows that may be suppressed. `published`: they are, as one
    class, if that is safe."""

    splits: Splits
    cells: SplitCells
    judge: SplitJudge
    cost: Cost
    limit: int
    published: bool = True

    @property
    def allowed(self) -> int:
        """Rows that a set may suppress: never all."""
        return min(self.limit, int(self.cells.counts.sum()) - 1)

    @cached_property
    def sized(self) -> SizedCells | None:
        """The cells where the size of a class alone decides."""
        plain = self.judge.by_size and self.cells.tally.members is None and SizedCells.fits(self.cells)
        return SizedCells.of(self.cells) if plain else None

    @property
    def suppression(self) -> Suppression:
        """Which classes of a set are suppressed."""
        return Suppression(self.judge.requirements, self.allowed, self.published)

    @property
    def together(self) -> Callable[[Bools], SetRelease] | None:
        """The release of a set, where it takes all of its classes to tell; None where each of them is known by
        itself: nothing is asked of the table as a whole, or compared with a release from which rows may be gone."""
        suppression = self.suppression
        return self.released if suppression.of_table or (suppression.compares and self.allowed) else None

    def released(self, mask: Bools) -> SetRelease:
        """The release of a set, and what it costs at least: whichever of its classes are suppressed, those that
        certainly are fail by themselves, and to suppress others never costs less."""
        view = self.full(mask, mask)
        suppressed, exact = self.suppressed(view)
        cost = view.cost_without(suppressed)
        return SetRelease(cost, cost if exact else view.cost_without(self.suppression.certain(view.classes.groups)))

    def suppressed(self, view: SplitView) -> tuple[Bools, bool]:
        """(classes,) which classes of a head are suppressed, and whether no other choice of them costs less: of few
        choices the legal one that costs least, the first of several."""
        groups, counts = view.classes.groups, view.classes.counts
        choices = None if self.together is None else self.suppression.legal(groups, counts)
        if choices:
            return min(choices, key=lambda choice: int(view.costs(choice).sum())), True
        failing = self.suppression.failing(groups, counts)
        return failing, choices is not None

    @cached_property
    def rules(self) -> SizeRules:
        """What is known of a class by its size."""
        return SizeRules(self.judge.minimum, self.cost, self.allowed)

    def view(self, head: Bools, allset: Bools, within: SizedCells | None = None) -> View:
        """The node of a head and an allset, which has all splits of the head; quicker `within` the cells of a node
        whose allset has all splits of this one."""
        if self.sized is None:
            return self.full(head, allset)
        cells = (within or self.sized).fewer(allset)
        classes, class_of = cells.joined(head)
        if len(classes.counts) * cells.intervals * (cells.labels.shape[1] + 1) > MOST_TABLED:
            return self.full(head, allset)
        return SizedView(self.rules, head, allset, cells, classes, class_of)

    def full(self, head: Bools, allset: Bools) -> SplitView:
        """The view of these splits with every cell in it, whatever the models are."""
        parted = self.splits.per_attribute
        cells = self.cells if allset.all() else self.cells.joined(parted(allset))[0]
        splits_of = [part[whole] for part, whole in zip(parted(head), parted(allset), strict=True)]
        classes, class_of = cells.joined(splits_of)
        return SplitView(self, head, allset, cells, classes, class_of)


@dataclass(frozen=True)
class Half:
    """Halves of classes, (n,) each. `newly`: rows that are ruled out in them and were not; `bound`: what that adds to
    the bound."""

    rows: Ints
    ruled_out: Bools
    cost: Ints
    suppressed: Ints
    newly: Ints
    bound: Ints


@dataclass(frozen=True)
class SplitView:
    """A node. `class_of` (cells,): the class of each cell."""

    problem: SplitProblem
    head: Bools
    allset: Bools
    cells: SplitCells
    classes: SplitCells
    class_of: Ints

    @cached_property
    def verdict(self) -> tuple[Bools, Bools]:
        """(classes,) which classes fail, and which are ruled out; so are those of too few rows, where rows count."""
        judge = self.problem.judge
        failing, ruled_out = judge.verdict(self.classes.groups)
        if self.cells.tally.members is not None:
            return failing, ruled_out
        small = self.classes.counts < judge.minimum
        return failing | small, ruled_out | small

    @cached_property
    def cost_of(self) -> Ints:
        """(classes,) cost of each class."""
        return self.costs(self.verdict[0])

    def costs(self, suppressed: Bools) -> Ints:
        """(classes,) cost of each class where some are suppressed."""
        return self._costs(self.classes.counts, self.classes.labels, suppressed)

    @property
    def cost(self) -> int:
        """Cost of the head."""
        return int(self.cost_of.sum())

    def cost_without(self, suppressed: Bools) -> int | None:
        """Cost of the head where some classes (classes,) are suppressed; None where these have too many rows."""
        possible = int(self.classes.counts[suppressed].sum()) <= self.problem.allowed
        return int(self.costs(suppressed).sum()) if possible else None

    @property
    def suppressed(self) -> int:
        """Rows that the head suppresses."""
        return int(self.classes.counts[self.verdict[0]].sum())

    @property
    def ruled_out(self) -> int:
        """Rows that every set below suppresses."""
        return int(self.classes.counts[self.verdict[1]].sum())

    @cached_property
    def least(self) -> Ints:
        """(cells,) what the rows of each cell cost at least in any set below; without those that are ruled out."""
        least = self.problem.cost.least(self.cells.counts, self.cells.labels)
        return np.where(self.verdict[1][self.class_of], 0, least)

    @cached_property
    def values(self) -> dict[str, Values]:
        """The sensitive values of each class; of no attribute where the size alone decides."""
        histograms = {} if self.problem.judge.by_size else self.cells.tally.histograms
        return {name: Values.of(each, self.class_of, len(self.classes.counts)) for name, each in histograms.items()}

    @property
    def bound(self) -> int:
        """No set below costs less."""
        return int(self.least.sum()) + self.ruled_out * self.problem.cost.suppressed

    floor = bound

    def _costs(self, sizes: Ints, labels: Ints, failing: Bools) -> Ints:
        return self.problem.rules.charged(failing, sizes, self.problem.cost.class_cost(sizes, labels))

    @property
    def work(self) -> int:
        """Numbers that one look at the cells reads, and what it takes however few they are."""
        histograms = {} if self.problem.judge.by_size else self.cells.tally.histograms
        judged = sum(len(each.codes) for each in histograms.values())
        return (len(self.cells.counts) + JUDGING * judged + OVERHEAD) * len(self.cells.columns)

    def additions(self) -> Additions:
        """The additions for every split of the allset; 0 for those in the head and for all others."""
        figures = np.zeros((6, len(self.allset)), np.int64)
        for attribute, span in enumerate(self.cells.spans):
            if span > 1:
                figures[:, self._splits_of(attribute, self.allset)] = self._halved(attribute, span)
        cost, suppressed, ruled_out, bound, useful, apart = figures
        return Additions(cost, suppressed, ruled_out, bound, useful, apart, self.bound + bound)

    def changes(self) -> tuple[Ints, Ints]:
        """(splits,) how much cost and suppressed rows grow with each further split of the allset."""
        added = self.additions()
        return added.cost, added.suppressed

    def exclusions(self) -> Ints:
        """(splits,) how much the bound grows without each split of the allset; meaningless for those in the head."""
        growth = np.zeros(len(self.allset), np.int64)
        for attribute, one, other, place in self._neighbours(self.cells):
            sizes = self.cells.counts[one] + self.cells.counts[other]
            joined = self.problem.cost.least(sizes, self.cells.labels[one] + self.cells.labels[other])
            grown = np.where(self.verdict[1][self.class_of[one]], 0, joined - self.least[one] - self.least[other])
            np.add.at(growth, self._splits_of(attribute, self.allset)[place], grown)
        return growth

    def removals(self) -> tuple[Ints, Ints]:
        """(splits,) how much cost and suppressed rows grow without each split of the head; 0 for all others."""
        cost, suppressed = np.zeros((2, len(self.allset)), np.int64)
        lost = np.where(self.verdict[0], self.classes.counts, 0)
        for attribute, one, other, place in self._neighbours(self.classes):
            failing, _ = self.problem.judge.verdict(self.classes.groups.joined(one, other))
            rows = self.classes.counts[one] + self.classes.counts[other]
            joined = self._costs(rows, self.classes.labels[one] + self.classes.labels[other], failing)
            split = self._splits_of(attribute, self.head)[place]
            np.add.at(cost, split, joined - self.cost_of[one] - self.cost_of[other])
            np.add.at(suppressed, split, np.where(failing, rows, 0) - lost[one] - lost[other])
        return cost, suppressed

    def _neighbours(self, cells: SplitCells) -> Iterator[tuple[int, Ints, Ints, Ints]]:
        """For each attribute, the pairs of cells that lie in neighbouring intervals of it and agree in all others: the
        attribute, the two cells, and the number of the interval of the first. Keys that count this attribute last
        differ by 1 in such pairs, so sorting by key brings them side by side."""
        for attribute, span in enumerate(cells.spans):
            if span > 1:
                order = [other for other in range(len(cells.spans)) if other != attribute] + [attribute]
                keys, below = mixed_radix(
                    [cells.columns[other] for other in order], [cells.spans[other] for other in order]
                )
                rank = KeyGroups.of(keys, below).order
                place = keys[rank[:-1]] % span
                beside = (np.diff(keys[rank]) == 1) & (place < span - 1)
                yield attribute, rank[:-1][beside], rank[1:][beside], place[beside]

    def _splits_of(self, attribute: int, mask: Bools) -> Ints:
        """Numbers of the splits of a set that belong to an attribute, ascending."""
        return np.flatnonzero(mask & (self.problem.splits.attribute == attribute))

    def _halved(self, attribute: int, span: int) -> Ints:
        """(figures, span - 1) those of `Additions` for each boundary between intervals of an attribute."""
        cells = self.cells
        grouping = KeyGroups.of(self.class_of * span + cells.columns[attribute], len(self.classes.counts) * span)
        order, starts, first = grouping.order, grouping.starts, grouping.first
        head, place = self.class_of[first], cells.columns[attribute][first]
        sizes = np.add.reduceat(cells.counts[order], starts)
        labels = np.add.reduceat(cells.labels[order], starts, axis=0)
        least = np.add.reduceat(self.least[order], starts)
        totals = np.zeros((6, span), np.int64)
        for picked, head_runs, judged in self._halves(grouping, sizes, head):
            halves = zip(judged, sides(labels[picked], head_runs), sides(least[picked], head_runs), strict=True)
            figures = self._parted(head[picked], [self._half(head[picked], *half) for half in halves])
            inner = np.flatnonzero(head[picked][:-1] == head[picked][1:])
            for total, values in zip(totals, figures[:, inner], strict=True):
                np.add.at(total, place[picked][inner], values)
                np.subtract.at(total, place[picked][inner + 1], values)
        return np.asarray(np.cumsum(totals, axis=1)[:, :-1])

    def _halves(self, grouping: KeyGroups, sizes: Ints, head: Ints) -> Iterator[Halves]:
        """The two halves at every run: cells of one class in one interval."""
        judge, cells = self.problem.judge, self.cells
        if cells.tally.members is None:
            return halves_of(judge, sizes, head, grouping.group, self.verdict[1][head], self.values)
        runs = cells.tally.members.merge(grouping.group, len(grouping.starts))
        return halves_of_units(judge, sizes, head, runs, cells.sizes)

    def _half(self, head: Ints, judged: Side, labels: Ints, least: Ints) -> Half:
        """Parts of classes as classes of their own."""
        sizes, failing, ruled_out = judged
        newly = ruled_out & ~self.verdict[1][head]
        return Half(
            rows=sizes,
            ruled_out=ruled_out,
            cost=self._costs(sizes, labels, failing),
            suppressed=np.where(failing, sizes, 0),
            newly=np.where(newly, sizes, 0),
            bound=np.where(newly, sizes * self.problem.cost.suppressed - least, 0),
        )

    def _parted(self, head: Ints, halves: Sequence[Half]) -> Ints:
        """(figures, parts) what parting classes adds to those of `Additions`.

        Where both halves are ruled out, so is each part of them in any set below: parting them never pays. Where one
        is, it does not if suppressing it costs no less than leaving it with the other, however small both become."""
        one, other = halves
        useful = ~(self.verdict[1][head] | (one.ruled_out & other.ruled_out))
        if self.problem.judge.all_growing:
            no_gain = self.problem.cost.no_gain
            useful &= ~(one.ruled_out & no_gain(other.rows, one.rows))
            useful &= ~(other.ruled_out & no_gain(one.rows, other.rows))
        lost = np.where(self.verdict[0], self.classes.counts, 0)
        return np.array(
            [
                one.cost + other.cost - self.cost_of[head],
                one.suppressed + other.suppressed - lost[head],
                one.newly + other.newly,
                one.bound + other.bound,
                useful,
                one.rows * other.rows,
            ]
        )


def cells_of(view: View | None) -> SizedCells | None:
    """The cells of a node, from which those of nodes with fewer splits are made; None where they are made anew."""
    return view.cells if isinstance(view, SizedView) else None
