"""What `evaluate` adds to a release's metrics: measures that need the original. `MEASURES` is the registry.

They are in a module of their own because every release imports the metrics, and none of them these.
"""

from __future__ import annotations

import numpy as np

from anonymize.classes import Floats, Integers, Ints, Runs
from anonymize.metrics import joint_measures
from anonymize.metrics.base import OF_CLASSES
from anonymize.metrics.evidence import Evidence, OriginalMeasure
from anonymize.table import Selection
from anonymize.table.columns import CodedColumn

# --- measures of classes ----------------------------------------------------------------------------------------------
# Measures of `evaluate` that are about equivalence classes: their average size, what is left to guess of targets, and
# how many rows a selection returns too many.

# --- average class size -----------------------------------------------------------------------------------------------


class AverageClassSize:
    """Average class size: rows over equivalence classes, suppressed rows being one class where they are published.

    Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, section 4.1.
    """

    ID = "average_class_size"
    DEFINED_FOR = OF_CLASSES

    @staticmethod
    def measure(evidence: Evidence) -> float | None:
        """Released rows / classes; None where there are no rows."""
        return float(evidence.sizes.mean()) if len(evidence.sizes) else None


# --- targets ----------------------------------------------------------------------------------------------------------


def _figures_of_target(column: CodedColumn, evidence: Evidence) -> dict[str, float]:
    if not len(column.codes):
        return {}
    one = np.zeros(len(column.codes), np.int64)
    if not column.numeric:
        within = conditional_entropy(evidence.class_of, column.codes, len(evidence.sizes), column.size)
        return {"conditional_entropy": within, "entropy": conditional_entropy(one, column.codes, 1, column.size)}
    assert column.values is not None
    values = column.values[column.codes]
    some = ~np.isnan(values)
    if not some.any():
        return {}
    within = squared_error(evidence.class_of[some], values[some])
    return {"mean_squared_error": within, "variance": squared_error(one[some], values[some])}


def conditional_entropy(classes: Ints, labels: Integers, count: int, size: int) -> float:
    """H(labels | classes) in bits of rows (n,); `count` classes, `size` labels."""
    runs = Runs.count_values(classes, labels, count, size)
    sizes = np.bincount(classes, minlength=count)[runs.classes]
    return float(abs((runs.counts * np.log2(sizes / runs.counts)).sum()) / len(classes))


def squared_error(classes: Ints, values: Floats) -> float:
    """Mean of squared distances from the mean of the row's class, over rows (n,)."""
    sizes = np.maximum(np.bincount(classes), 1)
    means = np.bincount(classes, values) / sizes
    return float(((values - means[classes]) ** 2).mean())


class TargetsLeft:
    """Targets: the remaining uncertainty about each target once the class of a row is known.

    For a categorical target, the conditional entropy H(C | P) in bits: the entropy of its labels within each class,
    weighted by rows; 0 where every class has one label. A missing label is a label of its own. `entropy` is that of all
    released rows, without any knowledge of the class. For a numeric target, the mean squared error around the mean of
    the class; rows without a number are left out. `variance` is that of all rows.

    A target that is a quasi-identifier is generalized itself. Its values come from the original, where rows correspond.

    Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, equation 7 and section 3.2.
    """

    ID = "targets"
    DEFINED_FOR = OF_CLASSES

    @staticmethod
    def measure(evidence: Evidence) -> dict[str, dict[str, float]] | None:
        """By target: `conditional_entropy` and `entropy`, or `mean_squared_error` and `variance`."""
        of_targets = {name: _figures_of_target(column, evidence) for name, column in evidence.targets.items()}
        return {name: figures for name, figures in of_targets.items() if figures} or None


# --- imprecision ------------------------------------------------------------------------------------------------------


def _figures(selection: Selection, evidence: Evidence) -> dict[str, int]:
    meant = np.ones(evidence.table.rows, np.bool_)
    returned = np.ones(len(evidence.sizes), np.bool_)
    for index, leaves in selection.leaves.items():
        meant &= leaves[evidence.table.attributes[index].codes]
        returned &= evidence.cells(index).meeting(leaves)
    original, released = int(np.count_nonzero(meant)), int(evidence.sizes[returned].sum())
    return {"original": original, "released": released, "imprecision": released - original}


class Imprecision:
    """Imprecision: how many rows a selection returns from the release that it would not return from the original.

    From the release a selection returns every row whose region overlaps the selection, because only then are all
    selected rows certain to be included. Suppressed rows overlap everything. Rows that were left out are not returned,
    so a release that leaves out rows may have a negative figure.

    Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, equation 5.
    """

    ID = "imprecision"
    DEFINED_FOR = OF_CLASSES

    @staticmethod
    def measure(evidence: Evidence) -> dict[str, int | list[dict[str, int]]] | None:
        """The total, and of every selection of the workload in its order: rows selected from the original and from the
        release, and the imprecision. None where there are no selections."""
        selections = [_figures(selection, evidence) for selection in evidence.table.selections]
        if not selections:
            return None
        return {"total": sum(each["imprecision"] for each in selections), "selections": selections}


# --- registry ---------------------------------------------------------------------------------------------------------

MEASURES: dict[str, OriginalMeasure] = {
    AverageClassSize.ID: AverageClassSize(),
    TargetsLeft.ID: TargetsLeft(),
    Imprecision.ID: Imprecision(),
    joint_measures.QueryError.ID: joint_measures.QueryError(),
    joint_measures.Distances.ID: joint_measures.Distances(),
    joint_measures.Uncertainty.ID: joint_measures.Uncertainty(),
}
