"""The best set of splits that any part of the search has seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from anonymize.classes import Bools

REMEMBERED = 1 << 16
"""Sets whose release is remembered, at most."""


@dataclass(frozen=True)
class SetRelease:
    """What a set releases. `cost`: None where it is not to be released. `least`: what it costs at least, whichever of
    its classes are suppressed; None where no choice of them is possible."""

    cost: int | None
    least: int | None


@dataclass
class BestSplits:
    """No set at first. `work`: numbers read so far. `judge`: the release of a set; None where its classes, each by
    itself, have told all there is to know."""

    cost: int | None = None
    mask: Bools | None = None
    work: int = 0
    judge: Callable[[Bools], SetRelease] | None = None
    _judged: dict[bytes, SetRelease] = field(default_factory=dict)

    def offer(self, cost: int, mask: Bools) -> bool:
        """Takes a set that is feasible, where it is better. `cost`: what its classes cost by themselves."""
        if self.reached(cost):
            return False
        released = SetRelease(cost, cost) if self.judge is None else self.released(mask)
        if released.cost is None or self.reached(released.cost):
            return False
        self.cost, self.mask = released.cost, mask.copy()
        return True

    def released(self, mask: Bools) -> SetRelease:
        """The release of a set, judged once."""
        assert self.judge is not None
        key = np.packbits(mask).tobytes()
        if key not in self._judged:
            if len(self._judged) >= REMEMBERED:
                self._judged.clear()
            self._judged[key] = self.judge(mask)
        return self._judged[key]

    def reached(self, bound: int) -> bool:
        """Whether nothing below a bound can be better."""
        return self.cost is not None and bound >= self.cost
