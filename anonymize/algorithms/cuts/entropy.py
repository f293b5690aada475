"""`--cut entropy`: the attribute whose values have the lowest entropy in the class, divided by its weight, first.

Attributes of few, uneven values are exact after few cuts, and then cost nothing in any class below; what remains is
spent on the others. Good on categorical tables, poor on continuous ones. Cut at the median of the leaf order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anonymize.algorithms.cuts.base import Candidates, CutRule
from anonymize.algorithms.splitting.batch import Batch
from anonymize.classes import Ints, run_starts


@dataclass(frozen=True)
class Entropy(CutRule):
    """See the module."""

    ID: ClassVar[str] = "entropy"
    BY_COUNTS: ClassVar[bool] = True

    def candidates(self, batch: Batch, attribute: int, classes: Ints) -> Candidates:
        runs = batch.runs_of(attribute, classes, self.domains[attribute].size)
        share = runs.counts / batch.sizes[classes][runs.classes]
        entropy = np.add.reduceat(-share * np.log2(share), run_starts(runs.classes))
        return Candidates.near_median(-entropy / self.weights[attribute])
