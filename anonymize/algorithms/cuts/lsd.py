"""`--cut lsd`: least squared deviance, for regression: the cut after which numbers lie nearest to their class's mean.

For a release from which the numeric targets of the workload will be predicted. The score of a cut is what it takes off
the squared error, summed over the targets, each divided by its variance over the whole table, so that its unit does not
matter. A missing number stays out of the sums.

Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, sections 3.2 and 3.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anonymize.algorithms.cuts.impurity import Impurity, NumberImpurity
from anonymize.algorithms.cuts.targets import ByTarget
from anonymize.table import TargetColumn


@dataclass(frozen=True)
class LeastSquares(ByTarget):
    """See the module."""

    ID: ClassVar[str] = "lsd"

    @classmethod
    def weighs(cls, column: TargetColumn) -> Impurity | None:
        """Numbers count, labels do not."""
        return NumberImpurity.of(column) if column.numeric else None
