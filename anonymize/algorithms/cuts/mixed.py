"""`--cut mixed`: for classification and regression at once: information gain and squared error, added up.

Bits and squared errors have no common unit, so each target counts in shares of what it has over the whole table: the
entropy of its labels, or the variance of its numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anonymize.algorithms.cuts.impurity import Impurity, LabelImpurity, NumberImpurity
from anonymize.algorithms.cuts.targets import ByTarget
from anonymize.table import TargetColumn


@dataclass(frozen=True)
class Mixed(ByTarget):
    """See the module."""

    ID: ClassVar[str] = "mixed"

    @classmethod
    def weighs(cls, column: TargetColumn) -> Impurity | None:
        """Both count."""
        return NumberImpurity.of(column) if column.numeric else LabelImpurity.of(column, relative=True)
