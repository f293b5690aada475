"""Multidimensional and local recoding: a region around the rows of each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Partition
from anonymize.recoding.tree import Tree


@dataclass(frozen=True)
class Regions:
    """Multidimensional and local recoding: every class is released as the smallest region around its own rows.

    `partition`: the classes. `suppressed` (s,) uint32: rows of no class, which the algorithm gave up. `cut`: the rule
    by which the classes were cut, where there was a choice. `tree`: the cuts, where the recoding is to be saved.
    `refinement`: what refining them gained.
    """

    KIND: ClassVar[str] = "regions"

    partition: Partition
    suppressed: NDArray[np.uint32]
    cut: str | None = None
    tree: Tree | None = None
    refinement: dict[str, Any] | None = None

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        found = {"regions": self.partition.count, "suppressed_rows": len(self.suppressed)}
        told = {"cut": self.cut, "refinement": self.refinement}
        return {"kind": self.KIND, **{key: value for key, value in told.items() if value is not None}, **found}
