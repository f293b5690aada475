"""Rules by which Mondrian chooses the next cut of a class. One rule, one file; `RULES` is the registry."""

from __future__ import annotations

from anonymize.algorithms.cuts.base import CutRule
from anonymize.algorithms.cuts.entropy import Entropy
from anonymize.algorithms.cuts.ncp import Ncp
from anonymize.algorithms.cuts.rate import Rate
from anonymize.algorithms.cuts.widest import Widest

__all__ = ["RULES", "CutRule"]

RULES: dict[str, type[CutRule]] = {rule.ID: rule for rule in (Rate, Widest, Entropy, Ncp)}
