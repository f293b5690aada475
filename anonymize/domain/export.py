"""A hierarchy as the CSV that `anonymize.domain.files` reads: one line per leaf, from the leaf to the root."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from anonymize.domain.taxonomy import Taxonomy


def as_csv(hierarchy: Taxonomy) -> str:
    """The hierarchy's text; read again it is the same one.

    A leaf that stands for its own ancestors on the lower levels has a short line. A missing leaf that is the last and
    directly under the root has none: whatever reads the file for a column with missing values puts it there.
    """
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=";", lineterminator="\n").writerows(paths(hierarchy))
    return buffer.getvalue()


def paths(hierarchy: Taxonomy) -> Iterator[list[str]]:
    """The labels from each leaf to the root, in the order of leaves."""
    for leaf, nodes in enumerate(hierarchy.levels.T.tolist()):
        labels = [hierarchy.labels[node] for node in nodes if node != leaf]
        if len(labels) > 1 or leaf != hierarchy.missing or leaf < hierarchy.size - 1:
            yield [hierarchy.labels[leaf], *(labels or [hierarchy.labels[hierarchy.root]])]
