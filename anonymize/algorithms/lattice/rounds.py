"""Iterated local recoding: release what is safe at the best node, and search again among the rows that are left.

Each round looks for the node of the least score at which a share of the rows that are left is safe, and releases those.
Scores take all rows that are left, as if none were suppressed. A row is released at the most specific node at which it
found company, so the classes of a release stand on many level vectors.

When time is up, one last round releases all rows that are left but those that may be suppressed.

A round leaves rows behind only if these can be finished: they are few enough to be suppressed, or all but so many of
them are safe at one node. That may be the top only where it shows something: rows that read as suppressed among others
that do not are suppressed rows, and count as such. Where the rounds come to no end in this way, all rows are released
at the top, if they are safe there: then nothing is shown of anybody.

Where the models are growing (see `nodes`), what is safe at a node in one round bounds what is in later ones, and each
round's node is the best there is. Where they are not, it is the best on the first path that has one; or, if the rounds
are `thorough`, the best that was checked once no other node can be better.

Source: Prasser, Kohlmayer, Kuhn, The importance of context: risk-based de-identification of biomedical data, MIM 2016
(the iterative method of ARX).

Rounds are greedy, so no one way of going about them is always the best. Several searches are made, and the release that
loses least weighted NCP is kept:

- Where a model is not growing (see `nodes`), a round may take the best node of the first path that has one, or look at
  all nodes that may still be better. The second costs more checks; what it takes is better in this round, and may leave
  rows behind that are worse to release in the next ones. Once it has checked `TIMES` as many nodes as the first, and
  `LEAST`, it goes on as the first does.
- Where rows may be suppressed, rounds that suppress none may lose less all the same.
- So may rounds whose classes have one row more than they need: those of k + 1. With them a release at k loses no more
  than the rounds at k + 1 do. It may still lose more than a release at k + 1 for which k + 2 was better.

So none of these searches loses less than what is released; a suppressed row loses all. At a tie the first is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from anonymize.algorithms.deadline import Deadline, stopped
from anonymize.algorithms.lattice import FrequencySet, HierarchyLevels, Vector, below, least, scores
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.search import NodeGrid, bisect
from anonymize.classes import Bools, Floats, Ints, Partition
from anonymize.privacy import MODELS, Requirement, check
from anonymize.recoding import Levels
from anonymize.records import dataclass
from anonymize.table import Table


@dataclass
class FormedClasses:
    """Released so far. `of` (distinct rows,): class of each, -1 for none. `vectors`: the level vector of each class."""

    of: Ints
    vectors: list[Vector] = field(default_factory=list)

    def add(self, distinct: Ints, group: Ints, vector: Vector) -> None:
        """Releases distinct rows, given with their group, at a node."""
        _, label = np.unique(group, return_inverse=True)
        self.of[distinct] = len(self.vectors) + label
        self.vectors += [vector] * (int(label.max()) + 1)


class Rounds:
    """The rounds of one table. `share`: the share of the remaining rows that each round releases at least. `thorough`:
    until so many nodes have been checked, a round goes on after the first path that has one, where the models are not
    growing."""

    def __init__(
        self,
        scorer: scores.Scorer,
        share: float,
        deadline: Deadline,
        suppressed: str = "*",
        thorough: float = 0,
    ) -> None:
        self.scorer, self.share, self.deadline, self.thorough = scorer, share, deadline, thorough
        self.checker = checker = scorer.checker
        roots = [attribute.hierarchy.labels[attribute.hierarchy.root] for attribute in checker.table.attributes]
        rooted = checker.lattice.top == tuple(attribute.hierarchy.height for attribute in checker.table.attributes)
        self.top_hides = rooted and all(root == suppressed for root in roots)
        self.grid = NodeGrid(checker.lattice)
        self.most: Ints = np.full(len(self.grid.vectors), checker.rows)
        self.left: Ints = np.arange(checker.bottom.size)
        self.classes = FormedClasses(np.full(checker.bottom.size, -1, np.int64))
        self.rounds = self.checks = 0
        self.late = False

    def run(self) -> Levels | None:
        """The release; None where what is left can neither be released nor suppressed."""
        while len(self.left) and not self.late:
            self.late = self.deadline.passed
            remaining = self._left()
            search = Round(self, remaining, 1.0 if self.late else self.share)
            vector = search.run()
            self.checks += search.checker.checked
            if vector is None:
                break
            self._release(remaining, vector)
        self._settle()
        rest = int(self.checker.bottom.counts[self.left].sum())
        if rest > self.checker.suppression_limit or not self.classes.vectors:
            return self._at_top() if self.top_hides else None
        return self._levels()

    def _at_top(self) -> Levels | None:
        """All rows as one class that shows nothing; None where that is not safe."""
        self.checks += 1
        top = self.checker.lattice.top
        if self.checker.failing(top).any():
            return None
        self.left = np.empty(0, np.int64)
        self.classes = FormedClasses(np.zeros(self.checker.bottom.size, np.int64), [top])
        self.rounds = 1
        return self._levels()

    def _settle(self) -> None:
        """Takes back the classes that do not meet the models once the rows that are left are withheld.

        Only a model that compares classes with the whole release can make that necessary, and only where these rows
        cannot be published as a class of their own.
        """
        compares = self.checker.suppression.compares and not self._hidden_safely()
        while compares and len(self.left):
            placed = self.classes.of >= 0
            into = self.classes.of[placed]
            groups = self.checker.bottom.subset(placed).groups().merge(into, len(self.classes.vectors)).by_itself()
            failing = ~check(groups, self.checker.requirements) & (groups.sizes > 0)
            if not failing.any():
                break
            self.classes.of[np.flatnonzero(placed)[failing[into]]] = -1
            self.left = np.flatnonzero(self.classes.of < 0)

    def _hidden_safely(self) -> bool:
        """Whether the rows that are left may be published, as one class that shows nothing."""
        if not self.checker.suppression.published or not len(self.left):
            return False
        groups = self._left().groups().merge(np.zeros(len(self.left), np.int64), 1)
        return bool(check(groups, self.checker.requirements).all())

    def _left(self) -> FrequencySet:
        is_left = np.zeros(self.checker.bottom.size, np.bool_)
        is_left[self.left] = True
        return self.checker.bottom.subset(is_left)

    def _release(self, remaining: FrequencySet, vector: Vector) -> None:
        rolled, group = remaining.rolled(vector)
        safe = rolled.safe[group]
        self.classes.add(self.left[safe], group[safe], vector)
        self.left = self.left[~safe]
        self.rounds += 1
        self.checker.tell(int(remaining.counts[safe].sum()))

    def _levels(self) -> Levels:
        of_row = self.classes.of[self.checker.distinct_of]
        given_up = len(self.classes.vectors)
        of_row = np.where(of_row < 0, given_up, of_row)
        released = np.ones(given_up + 1, np.bool_)
        released[given_up] = False
        partition, suppressed = Partition.of_kept(of_row, released)
        vectors = np.array(self.classes.vectors, np.int16)
        first = partition.order[partition.starts[:-1]]
        levels = vectors[of_row[first]]
        nodes = len(np.unique(vectors, axis=0))
        chosen: dict[str, Any] = {"rounds": self.rounds, "nodes_released": nodes, "nodes_checked": self.checks}
        return Levels(partition, levels, suppressed, {**chosen, "nodes_total": self.checker.total})


class Round:
    """One round: `most` (nodes,) bounds the rows that are safe at each node, `open` (nodes,) may still be the best."""

    def __init__(self, rounds: Rounds, remaining: FrequencySet, share: float) -> None:
        whole = rounds.checker
        self.remaining, self.grid, self.top_hides = remaining, rounds.grid, rounds.top_hides
        self.limit = whole.suppression_limit
        self.checker = Checker.over(whole.table, remaining, whole.requirements, self.limit, one_by_one=True)
        self.growing = self.checker.growing
        self.thorough = rounds.thorough - rounds.checks
        self.least = max(1, min(int(np.ceil(share * self.checker.rows)), self.checker.rows - self.limit))
        self.most = rounds.most if self.growing else np.full_like(rounds.most, self.checker.rows)
        self.bounds: Floats = rounds.scorer.over(self.checker).lower_bounds(self.grid.vectors, suppressed=0)
        self.open: Bools = self.most >= self.least
        if self.top_hides:
            self.open[self.grid.number(whole.lattice.top)] = False
        self.best: int | None = None

    def run(self) -> Vector | None:
        """The node of the least score at which enough rows are safe; None where no node will do."""
        while True:
            if self.best is not None:
                self.open &= below(self.bounds, self.bounds[self.best].tolist())
            self.open &= self.most >= self.least
            numbers = np.flatnonzero(self.open)
            goes_on = self.growing or self.checker.checked < self.thorough
            if not numbers.size or (self.best is not None and not goes_on):
                break
            start = int(numbers[least(self.bounds[numbers])])
            bisect(self.grid.path(start, self.open, self.bounds), self._enough)
        return None if self.best is None else self.grid.vector(self.best)

    def _enough(self, number: int) -> bool:
        """Checks a node: whether enough rows are safe. It is the best if what it leaves behind can be finished."""
        vector = self.grid.vector(number)
        safe = self.checker.rows - self.checker.check(vector).suppressed
        self.open[number] = False
        if self.growing:
            under = self.grid.below(vector)
            self.most[under] = np.minimum(self.most[under], safe)
        if safe < self.least:
            return False
        better = self.best is None or tuple(self.bounds[number]) < tuple(self.bounds[self.best])
        if better and self._finishable(vector, self.checker.rows - safe):
            self.best = number
        return True

    def _finishable(self, vector: Vector, rest: int) -> bool:
        """Whether the rows that a node leaves can be suppressed, or are safe at another node but for as many."""
        if rest <= self.limit:
            return True
        one = self.remaining.subset(self.checker.failed(vector))
        if self.top_hides:
            lattice = self.checker.lattice
            nodes = (one.roll_up(node) for node in lattice.below(lattice.top))
            return any(int(each.counts[~each.safe].sum()) <= self.limit for each in nodes)
        into = np.zeros(one.size, np.int64)
        root = replace(one, populations={}).groups().merge(into, 1).as_root(self.checker.table.people)
        return bool(check(root, self.checker.requirements).all())


# --- several searches -------------------------------------------------------------------------------------------------

TIMES, LEAST = 10, 5_000
"""The nodes that a search looks at all of, at most: by those that the search of first paths checked, and at least."""


Search: TypeAlias = tuple[tuple[Requirement, ...], int, bool]
"""What is asked of classes, how many rows may be suppressed, and whether rounds look at all nodes that may still be
better."""


def searches_of(requirements: tuple[Requirement, ...], growing: bool, limit: int) -> list[Search]:
    """The searches that are made."""
    larger = tuple(map(_larger, requirements))
    required = [requirements] if larger == requirements else [requirements, larger]
    return list(product(required, [limit, 0] if limit else [0], [False] if growing else [False, True]))


def _larger(requirement: Requirement) -> Requirement:
    """A requirement of classes of so many rows as one of classes with one row more; another as it is."""
    sizes = [limit.parameter for limit in MODELS[requirement.model].limits if limit.size]
    parameters = requirement.parameters
    more = {name: getattr(parameters, name) + 1 for name in sizes}
    return replace(requirement, parameters=parameters.model_copy(update=more)) if more else requirement


def iterated(
    scorer_of: Callable[[tuple[Requirement, ...], int], scores.Scorer],
    searches: list[Search],
    share: float,
    deadline: Deadline,
    suppressed: str = "*",
) -> Levels | None:
    """The release of the search that loses least; None where none of them comes to an end.

    `scorer_of`: a scorer of nodes by what is asked and by the rows that may be suppressed. `share` of the rows left
    that each round releases at least; `suppressed`: how a suppressed cell reads.
    """
    best, least, checks, most, late = None, np.inf, 0, LEAST, False
    for requirements, limit, thorough in searches:
        scorer = scorer_of(requirements, limit)
        rounds = Rounds(scorer, share, deadline, suppressed, most if thorough else 0)
        released = rounds.run()
        late |= rounds.late
        checks, most = checks + rounds.checks, max(LEAST, TIMES * rounds.checks)
        if released is not None:
            lost = loss(scorer.checker.table, scorer.checker.bottom.hierarchies, released)
            if lost < least:
                best, least = released, lost
    return (
        None
        if best is None
        else replace(best, chosen={**(best.chosen or {}), "nodes_checked": checks, **stopped(late)})
    )


def loss(table: Table, hierarchies: tuple[HierarchyLevels, ...] | list[HierarchyLevels], released: Levels) -> float:
    """Weighted NCP, summed over the rows; a suppressed row loses all."""
    first = released.partition.order[released.partition.starts[:-1]]
    sizes, suppressed = released.partition.sizes, len(released.suppressed)
    if table.counts is not None:
        sizes = np.add.reduceat(table.counts[released.partition.order], released.partition.starts[:-1])
        suppressed = int(table.counts[released.suppressed].sum())
    total = suppressed * sum(attribute.weight for attribute in table.attributes)
    for hierarchy, level in zip(hierarchies, released.levels.T, strict=True):
        attribute = hierarchy.attribute
        node = attribute.hierarchy.levels[level, hierarchy.leaf_of(attribute.codes[first])]
        total += attribute.weight * float(attribute.generalization.ncp[node] @ sizes)
    return float(total)
