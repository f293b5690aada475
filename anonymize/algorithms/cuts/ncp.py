"""`--cut ncp`: the cut that saves most weighted NCP among those of all attributes nearest their medians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anonymize.algorithms.cuts.base import Candidates, CutRule
from anonymize.algorithms.splitting.batch import Batch
from anonymize.algorithms.splitting.median import nearest_cut
from anonymize.classes import Ints, run_starts


@dataclass(frozen=True)
class Ncp(CutRule):
    """See the module."""

    ID: ClassVar[str] = "ncp"
    BY_COUNTS: ClassVar[bool] = True

    def candidates(self, batch: Batch, attribute: int, classes: Ints) -> Candidates:
        domain, sizes = self.domains[attribute], batch.sizes[classes]
        low, high = batch.low[classes, attribute], batch.high[classes, attribute]
        half = np.maximum(sizes // 2, 1)
        about = batch, attribute, domain.size, classes, half, self.minimum
        cut, _, fits = nearest_cut(*about, domain.preferred_cuts)
        runs = batch.runs_of(attribute, classes, domain.size)
        below = runs.codes < cut[runs.classes]
        starts = run_starts(runs.classes)
        rows = np.add.reduceat(np.where(below, runs.counts, 0), starts)
        under = np.maximum.reduceat(np.where(below, runs.codes, low[runs.classes]), starts)
        above = np.minimum.reduceat(np.where(below, high[runs.classes], runs.codes), starts)
        after = rows * domain.cost(low, under) + (sizes - rows) * domain.cost(above, high)
        saved = sizes * domain.cost(low, high) - after
        return Candidates.near_median(np.where(fits, self.weights[attribute] * saved, -1.0))
