"""`--cut infogain`: InfoGain Mondrian, for models that classify: the cut after which the labels have least entropy.

For a release from which the categorical targets of the workload will be predicted. The score of a cut is the
information gain, summed over the targets: the entropy of their labels in the class, less the weighted entropies of the
two parts. A missing label is a label of its own.

Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, sections 3.1 and 3.3. There a class is
parted into all children of a node at once; here in two, as often as that gains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anonymize.algorithms.cuts.impurity import Impurity, LabelImpurity
from anonymize.algorithms.cuts.targets import ByTarget
from anonymize.table import TargetColumn


@dataclass(frozen=True)
class InfoGain(ByTarget):
    """See the module."""

    ID: ClassVar[str] = "infogain"

    @classmethod
    def weighs(cls, column: TargetColumn) -> Impurity | None:
        """Labels count, numbers do not."""
        return None if column.numeric else LabelImpurity.of(column, relative=False)
