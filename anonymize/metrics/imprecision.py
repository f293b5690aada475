"""Imprecision: how many rows a selection returns from the release that it would not return from the original.

From the release a selection returns every row whose region overlaps what is selected, as nothing less is sure to hold
all that were meant. Suppressed rows overlap everything. Rows that were left out are not returned, so a release that
leaves out rows may have a negative figure.

Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, equation 5.
"""

from __future__ import annotations

import numpy as np

from anonymize.metrics.base import OF_CLASSES
from anonymize.metrics.evidence import Evidence
from anonymize.table import Selection

ID = "imprecision"
DEFINED_FOR = OF_CLASSES


def measure(evidence: Evidence) -> dict[str, int | list[dict[str, int]]] | None:
    """The total, and of every selection of the workload in its order: rows selected from the original and from the
    release, and the imprecision. None where there are no selections."""
    selections = [_figures(selection, evidence) for selection in evidence.table.selections]
    if not selections:
        return None
    return {"total": sum(each["imprecision"] for each in selections), "selections": selections}


def _figures(selection: Selection, evidence: Evidence) -> dict[str, int]:
    meant = np.ones(evidence.table.rows, np.bool_)
    returned = np.ones(len(evidence.sizes), np.bool_)
    for index, leaves in selection.leaves.items():
        meant &= leaves[evidence.table.attributes[index].codes]
        returned &= evidence.cells(index).meeting(leaves)
    original, released = int(np.count_nonzero(meant)), int(evidence.sizes[returned].sum())
    return {"original": original, "released": released, "imprecision": released - original}
