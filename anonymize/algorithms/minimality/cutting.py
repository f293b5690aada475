"""Cuts of classes under `--mask-minimality`: the first cut that is refused is the last that is tried."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from anonymize.algorithms.minimality.refusals import RefinedParts, Refusals
from anonymize.algorithms.splitting.batch import Batch
from anonymize.classes import Bools, Ints
from anonymize.judging import Judge


@dataclass(frozen=True)
class LastCut:
    """The check of every part of a cut, by requirements and by what a refusal would tell. `refused`: how many classes
    it was that stayed as they were, batch by batch."""

    judge: Judge
    refusals: Refusals
    refused: list[int] = field(default_factory=list)

    def __call__(self, batch: Batch, part: Ints, parts: int) -> Bools:
        """See `splitting.grow.Allowed`. Parts come in pairs; where one of a pair is empty, the class was not cut."""
        step = RefinedParts(part, np.arange(parts) // 2)
        tried = (self.refusals.worth(step, batch.sensitive) & (step.sizes() > 0)).reshape(-1, 2).all(axis=1)
        fine = self.judge.meets(part, parts, batch) & self.refusals.clear(step, batch.sensitive)
        refused = tried & ~fine.reshape(-1, 2).all(axis=1)
        batch.closed[refused] = True
        self.refused.append(int(np.count_nonzero(refused)))
        return np.asarray(fine & np.repeat(tried, 2))


def last_cut(judge: Judge) -> LastCut:
    """The check of cuts by the requirements of a judge, and by what their refusal would tell."""
    return LastCut(judge, Refusals.of(judge.requirements, judge.columns))
