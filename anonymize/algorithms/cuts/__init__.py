"""Rules by which Mondrian chooses the next cut of a class. One rule, one file; `RULES` is the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonymize.algorithms.cuts.base import CutRule
from anonymize.algorithms.cuts.registry import CutRules
from anonymize.algorithms.cuts.selection import Selecting

if TYPE_CHECKING:
    from anonymize.algorithms.cuts.targets import ByTarget

__all__ = ["BY_TARGET", "RULES", "CutRule", "Selecting"]

_OF_TARGETS = {"infogain": "infogain.InfoGain", "lsd": "lsd.LeastSquares", "mixed": "mixed.Mixed"}

BY_TARGET: CutRules[ByTarget] = CutRules(_OF_TARGETS)
"""The rules that look at the targets of the workload."""

RULES: CutRules[CutRule] = CutRules(
    {
        "rate": "rate.Rate",
        "widest": "widest.Widest",
        "entropy": "entropy.Entropy",
        "ncp": "ncp.Ncp",
        **_OF_TARGETS,
        Selecting.ID: "selection.Selecting",
    }
)
