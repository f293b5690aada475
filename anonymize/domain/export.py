"""A hierarchy as the CSV or the YAML that `anonymize.domain.files` reads.

A leaf that stands for its own ancestors on the lower levels has a short line or branch. A missing leaf that is the last
and directly under the root has none: whatever reads the file for a column with missing values puts it there.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from itertools import groupby

from anonymize.domain.taxonomy import Taxonomy


def as_csv(hierarchy: Taxonomy) -> str:
    """One line per leaf, from the leaf to the root; read again it is the same hierarchy, but for weights of nodes."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=";", lineterminator="\n").writerows(paths(hierarchy))
    return buffer.getvalue()


def as_yaml(hierarchy: Taxonomy) -> str:
    """One line per node, from the root down, weights of nodes included; read again it is the same hierarchy."""
    under = list(nodes(hierarchy))
    return "\n".join([*_lines(hierarchy, under, 1), ""]) if under else ""


def paths(hierarchy: Taxonomy) -> Iterator[list[str]]:
    """The labels from each leaf to the root, in the order of leaves."""
    for path in nodes(hierarchy):
        yield [hierarchy.labels[node] for node in path]


def nodes(hierarchy: Taxonomy) -> Iterator[list[int]]:
    """The nodes from each leaf to the root, in the order of leaves; one that stands on several levels is repeated."""
    for leaf, column in enumerate(hierarchy.levels.T.tolist()):
        above = [node for node in column if node != leaf]
        if len(above) > 1 or leaf != hierarchy.missing or leaf < hierarchy.size - 1:
            yield [leaf, *(above or [hierarchy.root])]


def _lines(hierarchy: Taxonomy, under: list[list[int]], depth: int) -> Iterator[str]:
    """The node that all paths `under` it have in common, `depth` steps from their ends, and what is below it."""
    node = under[0][-depth]
    label, weight = json.dumps(hierarchy.labels[node], ensure_ascii=False), hierarchy.weights[node]
    indent = "  " * (depth - 1)
    if len(under[0]) == depth:
        yield f"{indent}{label}"
        return
    form = f"label: {label}" + (f", weight: {float(weight)!r}" if weight != 1 else "")
    yield f"{indent}{{{form}, children: ["
    for _, below in groupby(under, key=lambda path: path[-depth - 1]):
        *lines, last = _lines(hierarchy, list(below), depth + 1)
        yield from lines
        yield f"{last},"
    yield f"{indent}]}}"
