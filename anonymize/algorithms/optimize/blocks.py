"""Local search that settles one attribute at a time, where the size of a class alone decides.

A step changes a few splits at random, by a fixed seed, and then finds the best cut through one attribute while the
others stay (see `lines`); if that comes near the best set, through every attribute in turn until none gets better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from anonymize.algorithms.optimize.costs import SizeRules
from anonymize.algorithms.optimize.lines import BIG, Line
from anonymize.algorithms.optimize.walk import LocalWalk
from anonymize.classes import Bools

NEAR = 1.15
"""The other attributes are looked at where the cost is less than this times the best."""
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
                if before is None or cost < NEAR * before:
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

    def _settled(self, mask: Bools, attribute: int, rules: SizeRules | None = None) -> tuple[Bools, int]:
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
