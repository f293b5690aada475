"""What the local searches for a set of splits have in common: when one has settled, and when it is stuck."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anonymize.algorithms.optimize.best import BestSplits
from anonymize.algorithms.optimize.moves import SplitProblem
from anonymize.classes import Bools


@dataclass
class LocalWalk:
    """A search step by step within an `allset`. `idle`: steps since the best set was last bettered; after `PATIENCE` of
    them it has settled, after `RESTARTS` times as many it is stuck. Chance has a fixed seed."""

    PATIENCE: ClassVar[int]
    RESTARTS: ClassVar[int]

    problem: SplitProblem
    best: BestSplits
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
