"""Local search for a good set of splits: tabu search from the best one known, which adds or leaves out a split a step.

Each step takes the split whose change gives the lowest cost, though it be a rise, and of several the first; it stays as
it is for some steps. Sets that suppress more rows than allowed come after all others, by how many too many. After long
without a better set the search starts again from the best one, with a few splits changed at random, by a fixed seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from anonymize.algorithms.optimize.moves import View, cells_of
from anonymize.algorithms.optimize.walk import LocalWalk
from anonymize.classes import Bools, Ints

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
        here = self.problem.view(self.mask, self.mask, cells_of(every))
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

    def _offer(self, view: View, cost: int, suppressed: int, mask: Bools) -> None:
        if view.suppressed + suppressed <= self.problem.allowed and self.best.offer(view.cost + cost, mask):
            self.idle = 0

    def _kick(self) -> None:
        if self.best.mask is not None:
            self.mask = self.best.mask.copy()
            chosen = self._random.choice(self._choice, min(KICK, len(self._choice)), replace=False)
            self.mask[chosen] = ~self.mask[chosen]
            self.until[:] = 0
