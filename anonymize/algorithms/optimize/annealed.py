"""Local search by simulated annealing over the splits of all attributes but one, where class sizes alone decide.

The attribute that is set aside, one of the most splits, is cut anew at every step, as well as can be with the others as
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

from dataclasses import dataclass, field, replace

import numpy as np

from anonymize.algorithms.optimize.aside import SetAside
from anonymize.algorithms.optimize.lines import BIG
from anonymize.algorithms.optimize.walk import LocalWalk
from anonymize.classes import Bools

HOT, COLD = 0.12, 0.015
"""What share of the cost a rise is that goes through with probability 1/e: when a cycle begins, and when it ends."""
CYCLE = 16
"""Changes that are tried in a cycle, for each split of the other attributes."""
CHANGES = 16
"""Changes that are tried in a step."""
NEAR = 3
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
        """See the class."""
        return not len(self._others) or self.cycle >= self.PATIENCE

    @property
    def stuck(self) -> bool:
        """See the class."""
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
        """The probability that a rise to this cost goes through."""
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
        step = int(self._random.choice((-1, 1)) * self._random.integers(1, NEAR + 1))
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
