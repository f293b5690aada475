"""Full-domain generalization: levels of hierarchies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Partition


@dataclass(frozen=True)
class Levels:
    """Full-domain generalization: every cell is released as its value's ancestor at a level of the hierarchy.

    `partition`: the classes; the rows of one have the same ancestors at its levels. `levels` (classes, attributes)
    int16: the level vector of each class, which all share unless the recoding is local. `suppressed` (s,) uint32: rows
    of no class. `chosen`: what else the report's `recoding` block says.
    """

    KIND: ClassVar[str] = "levels"

    partition: Partition
    levels: NDArray[np.int16]
    suppressed: NDArray[np.uint32]
    chosen: dict[str, Any] | None = None

    @property
    def vector(self) -> tuple[int, ...] | None:
        """The level vector that all classes share; None where there is none, or no class."""
        if not len(self.levels) or (self.levels != self.levels[0]).any():
            return None
        return tuple(self.levels[0].tolist())

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        return {"kind": self.KIND, **(self.chosen or {}), "suppressed_rows": len(self.suppressed)}
