"""Rules by which Mondrian chooses the next cut of a class. One rule, one file; `RULES` is the registry."""

from __future__ import annotations

from anonymize.algorithms.cuts.base import CutRule
from anonymize.algorithms.cuts.entropy import Entropy
from anonymize.algorithms.cuts.infogain import InfoGain
from anonymize.algorithms.cuts.lsd import LeastSquares
from anonymize.algorithms.cuts.mixed import Mixed
from anonymize.algorithms.cuts.ncp import Ncp
from anonymize.algorithms.cuts.rate import Rate
from anonymize.algorithms.cuts.selection import Selecting
from anonymize.algorithms.cuts.targets import ByTarget
from anonymize.algorithms.cuts.widest import Widest

__all__ = ["BY_TARGET", "RULES", "ByTarget", "CutRule", "Selecting"]

BY_TARGET: dict[str, type[ByTarget]] = {rule.ID: rule for rule in (InfoGain, LeastSquares, Mixed)}
"""The rules that look at the targets of the workload."""

RULES: dict[str, type[CutRule]] = {rule.ID: rule for rule in (Rate, Widest, Entropy, Ncp)} | {
    **BY_TARGET,
    Selecting.ID: Selecting,
}
