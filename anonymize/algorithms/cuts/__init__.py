"""Rules by which Mondrian chooses the next cut of a class. `RULES` is the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonymize.algorithms.cuts.base import CutRule, CutRules
from anonymize.algorithms.cuts.selection import Selecting

if TYPE_CHECKING:
    from anonymize.algorithms.cuts.supervised import ByTarget

__all__ = ["BY_TARGET", "RULES", "CutRule", "Selecting"]

_OF_TARGETS = {"infogain": "supervised.InfoGain", "lsd": "supervised.LeastSquares", "mixed": "supervised.Mixed"}

BY_TARGET: CutRules[ByTarget] = CutRules(_OF_TARGETS)
"""The rules that look at the targets of the workload."""

RULES: CutRules[CutRule] = CutRules(
    {
        "rate": "unsupervised.Rate",
        "widest": "unsupervised.Widest",
        "entropy": "unsupervised.Entropy",
        "ncp": "unsupervised.Ncp",
        **_OF_TARGETS,
        Selecting.ID: "selection.Selecting",
    }
)
