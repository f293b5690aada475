"""The best set of splits that any part of the search has seen."""

from __future__ import annotations

from dataclasses import dataclass

from anonymize.classes import Bools


@dataclass
class BestSplits:
    """No set at first. `work`: numbers read so far."""

    cost: int | None = None
    mask: Bools | None = None
    work: int = 0

    def offer(self, cost: int, mask: Bools) -> bool:
        """Takes a set that is feasible, where it is better."""
        better = self.cost is None or cost < self.cost
        if better:
            self.cost, self.mask = cost, mask.copy()
        return better

    def reached(self, bound: int) -> bool:
        """Whether nothing below a bound can be better."""
        return self.cost is not None and bound >= self.cost
