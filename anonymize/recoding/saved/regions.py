"""A multidimensional recoding, saved: a tree whose cuts part the values of each attribute into segments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anonymize.classes import Ints, Partition
from anonymize.recoding.columns import Released
from anonymize.recoding.saved.attributes import box, cut_attribute
from anonymize.recoding.saved.model import SavedTree
from anonymize.recoding.saved.save import Contents, saved_columns
from anonymize.recoding.tree import CutTree
from anonymize.recoding.window import Tails
from anonymize.spec import Spec
from anonymize.table import Table


def contents_of_tree(tree: CutTree, partition: Partition, table: Table, released: Released, spec: Spec) -> Contents:
    """What is saved of the classes of a partition that a tree of cuts leads to."""
    edges = [_edges(tree, index, attribute.domain.size) for index, attribute in enumerate(table.attributes)]
    tails = Tails.of(table)
    of_class = released.class_of[partition.order[partition.starts[:-1]]].astype(np.int64)
    return Contents(
        kind="regions",
        attributes=tuple(
            cut_attribute(attribute, cuts, spec.quasi_identifiers[attribute.name])
            for attribute, cuts in zip(table.attributes, edges, strict=True)
        ),
        columns=saved_columns(released, lambda _: of_class),
        boxes={a.name: box(a, partition, spec.output, tails) for a in table.attributes},
        tree=_over_segments(tree, edges, [attribute.domain.size for attribute in table.attributes]),
    )


def _edges(tree: CutTree, attribute: int, size: int) -> Ints:
    """The codes at which an attribute is cut anywhere."""
    cut = tree.attribute == attribute
    edges = np.unique(np.concatenate((tree.start[cut], tree.stop[cut])))
    return edges[(edges > 0) & (edges < size)]


def _over_segments(tree: CutTree, edges: Sequence[Ints], sizes: Sequence[int]) -> SavedTree:
    """The tree over segments instead of codes.

    Every end of a cut is an edge of its attribute, so that the number of edges up to it is the segment that begins
    there; an end at or beyond the size of the domain closes the last segment, which has no edge of its own.
    """
    start, stop = tree.start.copy(), tree.stop.copy()
    for index, (cuts, size) in enumerate(zip(edges, sizes, strict=True)):
        cut = tree.attribute == index
        start[cut] = np.searchsorted(cuts, tree.start[cut], side="right")
        stop[cut] = np.searchsorted(cuts, tree.stop[cut], side="right") + (tree.stop[cut] >= size)
    parts = {"attribute": tree.attribute, "start": start, "stop": stop, "first": tree.first, "second": tree.second}
    return SavedTree(**{name: tuple(part.tolist()) for name, part in parts.items()})
