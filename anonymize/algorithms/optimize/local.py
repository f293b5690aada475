"""Local searches for a good set of splits: tabu search, cuts through one attribute at a time, simulated annealing.

**Tabu search** goes from the best set known, and adds or leaves out a split a step. Each step takes the split whose
change gives the lowest cost, though it be a rise, and of several the first; it stays as it is for some steps. Sets that
suppress more rows than allowed come after all others, by how many too many. After long without a better set the search
starts again from the best one, with a few splits changed at random, by a fixed seed.

**Line search** settles one attribute at a time, where the size of a class alone decides. A step changes a few splits at
random, by a fixed seed, and then finds the best cut through one attribute while the others stay (see `lines`); if that
comes near the best set, through every attribute in turn until none gets better.

**Simulated annealing** is over the splits of all attributes but one, where class sizes alone decide. The attribute that
is set aside, one of the most splits, is cut anew at every step, as well as can be with the others as
they are (see `lines`). So the search never meets the many sets that differ in that attribute alone, and there are few
of the others in which it could get caught: on Adult, with age set aside, it goes from one grouping of the occupations
to another where a search by single splits of all attributes takes hours.

A change adds a split of the others, leaves one out, or moves one, near by or to another attribute, at random by a fixed
seed. It goes through if the cost falls, or else with a probability that is the less the higher the rise, as a share of
the cost, and the later in the cycle. A cycle begins where the last one ended, hot enough to leave it. Where some
rows may not be suppressed, a cycle that suppresses as many as it likes, and so can pass through sets that may not be
released, takes turns with one that suppresses none; what suppresses too many is not offered.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import ClassVar

import numpy as np

from anonymize.algorithms.optimize import costs, moves
from anonymize.algorithms.optimize.lines import BIG, Line, SetAside
from anonymize.classes import Bools, Ints
from anonymize.records import dataclass


@dataclass
class LocalWalk:
    """A search step by step within an `allset`. `idle`: steps since the best set was last bettered; after `PATIENCE` of
    them it has settled, after `RESTARTS` times as many it is stuck. Chance has a fixed seed."""

    PATIENCE: ClassVar[int]
    RESTARTS: ClassVar[int]

    problem: moves.SplitProblem
    best: costs.BestSplits
    allset: Bools
    steps: int = 0
    idle: int = 0

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(0)
        self._choice = np.flatnonzero(self.allset)

    @property
    def settled(self) -> bool:
        """Whether the best set has not been bettered for some time."""
        return self.idle >= self.PATIENCE

    @property
    def stuck(self) -> bool:
        """Whether it has not been bettered for long, new starts included."""
        return self.idle >= self.RESTARTS * self.PATIENCE


# --- tabu search ------------------------------------------------------------------------------------------------------

TENURE = 7
"""Steps for which a split that was changed stays as it is, at least."""
KICK = 3
"""Splits that are changed at random at a new start."""


@dataclass
class Local(LocalWalk):
    """A tabu search within an `allset`."""

    PATIENCE = 20
    RESTARTS = 50

    mask: Bools = field(init=False)
    until: Ints = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.mask = np.zeros(self.problem.splits.count, np.bool_)
        self.until = np.zeros(len(self.mask), np.int64)

    def restart(self) -> None:
        """Goes on from the best set."""
        if self.best.mask is not None:
            self.mask = self.best.mask.copy()

    def step(self) -> None:
        """Looks at all sets that are one split away, and goes on to one."""
        every = self.problem.view(self.mask, self.allset)
        here = self.problem.view(self.mask, self.mask, moves.cells_of(every))
        self.best.work += every.work + here.work
        self.idle += 1
        self._offer(here, 0, 0, self.mask)
        if not len(self._choice):
            return
        (added, lost), (removed, freed) = every.changes(), here.removals()
        cost = here.cost + np.where(self.mask, removed, added)
        suppressed = here.suppressed + np.where(self.mask, freed, lost)
        self._go(cost, np.maximum(suppressed - self.problem.allowed, 0))

    def _go(self, cost: Ints, excess: Ints) -> None:
        better = self.allset & (excess == 0) & (cost < (np.inf if self.best.cost is None else self.best.cost))
        free = (self.until <= self.steps) | better
        ranked = np.lexsort((cost, excess, ~free, ~self.allset))
        chosen = int(ranked[0])
        self.steps += 1
        self.mask = self.mask.copy()
        self.mask[chosen] = ~self.mask[chosen]
        self.until[chosen] = self.steps + TENURE + self.steps % 5
        if not excess[chosen] and self.best.offer(int(cost[chosen]), self.mask):
            self.idle = 0
        elif self.idle and self.idle % self.PATIENCE == 0:
            self._kick()

    def _offer(self, view: moves.View, cost: int, suppressed: int, mask: Bools) -> None:
        if view.suppressed + suppressed <= self.problem.allowed and self.best.offer(view.cost + cost, mask):
            self.idle = 0

    def _kick(self) -> None:
        if self.best.mask is not None:
            self.mask = self.best.mask.copy()
            chosen = self._random.choice(self._choice, min(KICK, len(self._choice)), replace=False)
            self.mask[chosen] = ~self.mask[chosen]
            self.until[:] = 0


# --- line search ------------------------------------------------------------------------------------------------------

CLOSE_ENOUGH = 1.15
"""Where one attribute's line comes to less than this many times the best cost, the other attributes are looked at
too."""
ANEW = 3
"""One step in so many begins anew."""


@dataclass
class LineBlocks(LocalWalk):
    """The search within an `allset`."""

    PATIENCE = 24
    RESTARTS = 40

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.problem.sized is not None
        self._cells = self.problem.sized.joined(self.allset)[0]
        self._owner = self.problem.splits.attribute
        self._attributes = np.unique(self._owner[self._choice])

    def restart(self) -> None:
        """Makes the best set better, one attribute after the other."""
        if self.best.mask is not None and len(self._choice):
            self._descend(self.best.mask.copy(), self.best.cost or 0)

    def step(self) -> None:
        """One new set."""
        self.steps += 1
        self.idle += 1
        before = self.best.cost
        if len(self._choice):
            if self.steps % ANEW == 0:
                self._descend(*self._anew())
            else:
                attribute = int(self._random.choice(self._attributes))
                mask, cost = self._settled(self._changed(attribute), attribute)
                if before is None or cost < CLOSE_ENOUGH * before:
                    self._descend(mask, cost)
        if self.best.cost != before:
            self.idle = 0

    def _anew(self) -> tuple[Bools, int]:
        """A set made from none: one attribute after the other, in random order, where classes have to be larger than
        they need be, the first ones most. That leaves something to part to the later ones."""
        rules = self.problem.rules
        room = max(int(self.problem.cells.counts.sum()) / rules.minimum, 1.0)
        factors = np.sort(room ** self._random.random(len(self._attributes)))[::-1]
        mask, cost = np.zeros_like(self.allset), BIG
        for attribute, factor in zip(self._random.permutation(self._attributes), factors, strict=True):
            larger = replace(rules, minimum=int(rules.minimum * factor))
            mask, cost = self._settled(mask, int(attribute), larger)
        return mask, cost

    def _changed(self, attribute: int) -> Bools:
        """The best set with one to three splits of other attributes changed: as many that it has as it has not."""
        mask = np.zeros_like(self.allset) if self.best.mask is None else self.best.mask.copy()
        others = self._choice[self._owner[self._choice] != attribute]
        for _ in range(int(self._random.integers(1, 4))):
            side = others[mask[others] == (self._random.random() < 0.5)]
            if len(side):
                split = self._random.choice(side)
                mask[split] = ~mask[split]
        return mask

    def _descend(self, mask: Bools, cost: int) -> None:
        better = True
        while better:
            better = False
            for attribute in self._random.permutation(self._attributes).tolist():
                changed, lower = self._settled(mask, attribute)
                if lower < cost:
                    mask, cost, better = changed, lower, True

    def _settled(self, mask: Bools, attribute: int, rules: costs.SizeRules | None = None) -> tuple[Bools, int]:
        """The best cut through an attribute, by other rules than the problem's where they are given, and the cost; BIG
        where there is none, and the set is as it was."""
        of_attribute = self._choice[self._owner[self._choice] == attribute]
        free = mask.copy()
        free[of_attribute] = True
        cells = self._cells.joined(free)[0]
        head = mask.copy()
        head[of_attribute] = False
        line = Line.of(rules or self.problem.rules, cells, head, attribute)
        self.best.work += len(self._cells.counts) * len(self._cells.places) + (0 if line is None else line.rows.size)
        if line is None:
            return mask, BIG
        cost, splits = line.best()
        if cost >= BIG:
            return mask, BIG
        head[splits] = True
        return head, cost if rules else self._offered(cost, head)

    def _offered(self, cost: int, mask: Bools) -> int:
        """The cost of a set that is offered; BIG where it suppresses too much."""
        binding = 0 < self.problem.allowed < int(self.problem.cells.counts.sum()) - 1
        if binding and self.problem.view(mask, mask).suppressed > self.problem.allowed:
            return BIG
        self.best.offer(cost, mask)
        return cost


# --- simulated annealing ----------------------------------------------------------------------------------------------

HOT, COLD = 0.12, 0.015
"""What share of the cost a rise is that goes through with probability 1/e: when a cycle begins, and when it ends."""
CYCLE = 16
"""Changes that are tried in a cycle, for each split of the other attributes."""
CHANGES = 16
"""Changes that are tried in a step."""
MOST_PLACES_MOVED = 3
"""By how many places a split is moved within its attribute, at most."""


@dataclass
class Annealed(LocalWalk):
    """The search within an `allset`. It has settled after `PATIENCE` cycles, and is stuck after `RESTARTS` times as
    many, whatever they brought. `cycle`: the one under way; `tried`: changes in it."""

    PATIENCE = 2
    RESTARTS = 12

    cycle: int = 0
    tried: int = 0
    cost: int = BIG
    mask: Bools = field(init=False)

    def __post_init__(self) -> None:
        assert self.problem.sized is not None
        self.mask = np.zeros_like(self.allset)
        self._random = np.random.default_rng(0)
        self._asides = SetAside.widest(self.problem.rules, self.problem.sized.joined(self.allset)[0])
        self._others = np.zeros(0, np.int64)
        self._begin()

    @property
    def settled(self) -> bool:
        return not len(self._others) or self.cycle >= self.PATIENCE

    @property
    def stuck(self) -> bool:
        return not len(self._others) or self.cycle >= self.RESTARTS * self.PATIENCE

    def restart(self) -> None:
        """Stays where it is: it is worth more apart from what the other searches find."""

    def step(self) -> None:
        """Some changes."""
        self.steps += 1
        for _ in range(CHANGES):
            self._change()
        self.tried += CHANGES
        if self.tried >= CYCLE * len(self._others):
            self.cycle, self.tried = self.cycle + 1, 0
            self._begin()

    def _begin(self) -> None:
        """A cycle: which attribute is set aside, and the cost of the set as it is with that one cut anew."""
        if not self._asides:
            return
        aside = self._asides[self.cycle % len(self._asides)]
        total = int(self.problem.cells.counts.sum())
        if self.problem.allowed < total - 1:
            allowed = 0 if self.cycle % 2 else total - 1
            aside = replace(aside, rules=replace(aside.rules, allowed=allowed))
        self._aside = aside
        self._others = np.flatnonzero(self.allset & (self.problem.splits.attribute != aside.attribute))
        self.cost, self.mask = self._settled(self.mask)

    def _change(self) -> None:
        cost, changed = self._settled(self._changed())
        if cost <= self.cost or (cost < BIG and self._random.random() < self._chance(cost)):
            self.mask, self.cost = changed, cost

    def _chance(self, cost: int) -> float:
        share = HOT * (COLD / HOT) ** (self.tried / (CYCLE * len(self._others)))
        return float((self.cost / cost) ** (1 / share))

    def _changed(self) -> Bools:
        """The set with one split of the others more or less, or moved."""
        mask, random = self.mask.copy(), self._random
        present = self._others[mask[self._others]]
        way = random.random()
        if way < 0.4 or not len(present):
            mask[random.choice(self._others)] ^= True
            return mask
        split = int(random.choice(present))
        mask[split] = False
        if way > 0.6:
            mask[self._beside(split) if way < 0.85 else int(random.choice(self._others))] = True
        return mask

    def _beside(self, split: int) -> int:
        """A split of the same attribute a few places on, among those that there are; the last one where these end."""
        owner = self.problem.splits.attribute
        of_attribute = self._others[owner[self._others] == owner[split]]
        step = int(self._random.choice((-1, 1)) * self._random.integers(1, MOST_PLACES_MOVED + 1))
        place = int(np.searchsorted(of_attribute, split)) + step
        return int(of_attribute[min(max(place, 0), len(of_attribute) - 1)])

    def _settled(self, mask: Bools) -> tuple[int, Bools]:
        """A set with the best cut through the attribute that is set aside, and what it costs; it is offered. BIG where
        there is none, or too many classes to tell."""
        arcs = self._aside.arcs(mask)
        self.best.work += self._aside.cells.places.size + (0 if arcs is None else arcs.rows.size)
        if arcs is None:
            return BIG, mask
        cost, splits = arcs.best()
        whole = mask & (self.problem.splits.attribute != self._aside.attribute)
        whole[splits] = True
        better = cost < BIG and not self.best.reached(cost)
        if better and self.problem.view(whole, whole).suppressed <= self.problem.allowed:
            self.best.offer(cost, whole)
        return cost, whole
