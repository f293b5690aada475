"""Categorical attributes: the leaves of a value generalization hierarchy in depth-first order.

Every node is then a half-open interval of leaf codes, and every interval of codes has a lowest node that covers it. A
taxonomy is regular: each leaf has an ancestor at each level from 0, the leaf itself, to `height`, the root. Where a
branch is shorter, its leaf is its own ancestor on the lower levels.

Leaves are the nodes `0 .. size - 1`, so a leaf's code is its node; a parent's number is above its children's; the root
is the last node.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from anonymize.domain import Codes, Domain
from anonymize.domain.tree import Tree

TABLE_SIZE = 1024  # up to so many leaves, what two leaves share is looked up in a table of size x size


class Taxonomy(Domain):
    """A regular hierarchy of the leaves.

    Attributes:
        levels: (height + 1, size) int32, node of each leaf's ancestor at each level.
        height: number of levels above the leaves; at least 1.
        labels: (nodes,) text of each node.
        start, stop: (nodes,) int64, the leaves under each node are `start .. stop - 1`.
        weights: (nodes,) float64, the factor of each node's cost: 1 for the root, and where the hierarchy file
            gives none; no node has a smaller weight x leaves than a node below it, unless it is the root.
        node_cost: (nodes,) float64, normalized certainty penalty: weight x leaves under the node / all leaves, 1 at
            most; 0 where one leaf is all there is.
        parent: (nodes,) int32, the node above each node; -1 for the root.
        depth: (nodes,) int32, number of edges between each node and the root.
        level: (nodes,) int32, the lowest level at which each node stands.
        join_depth: (size,) int32, depth of the lowest node that covers each leaf and the leaf before it; -1 for leaf 0.
            With `low < cut <= high` and u = lca(low, high), `cut` parts two children of u if and only if
            `join_depth[cut] == depth[u]`.
        missing: code of the missing leaf, anywhere; None where the column has no missing value.
    """

    kind: ClassVar[Literal["numeric", "categorical"]] = "categorical"

    def __init__(
        self,
        name: str,
        levels: NDArray[np.int32],
        labels: Sequence[str],
        missing: int | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        self.name = name
        self.levels = levels
        self.labels = list(labels)
        self.height, self.size = levels.shape[0] - 1, levels.shape[1]
        self.missing = missing
        self.weights = np.ones(len(self.labels)) if weights is None else weights
        self.start, self.stop, self.level = self._extents()
        self.parent, self.depth = self._ancestry()
        leaves = self.stop - self.start
        with np.errstate(over="ignore"):
            weighted = np.minimum(self.weights * leaves / self.size, 1.0)
        self.node_cost: NDArray[np.float64] = np.where(leaves > 1, weighted, 0.0)
        self._loss = (leaves - 1) / max(self.size - 1, 1)
        self._loss[: self.size] = 0.0

    @classmethod
    def of(cls, name: str, tree: Tree, missing: str | None = None) -> Taxonomy:
        """The taxonomy of a tree's leaves, siblings in the order in which the tree first names them.

        `missing` is the text of missing values, None where the column has none. A leaf of that text is the missing
        leaf; where the tree has none, it is put last, directly under the root.
        """
        if missing is not None and missing not in tree.leaves:
            tree = tree.with_leaf(missing)
        numbered = tree.numbered()
        code = None if missing is None else numbered.labels.index(missing)
        return cls(name, numbered.levels, numbered.labels, code, numbered.weights)

    @property
    def root(self) -> int:
        """The node that covers every leaf."""
        return len(self.labels) - 1

    def lca(self, low: Codes, high: Codes) -> NDArray[np.int32]:
        """The lowest node that covers each interval `[low, high]` of codes; a leaf where the two are equal."""
        if self.size > TABLE_SIZE:
            return self._walk(np.asarray(low), np.asarray(high))
        return self._lca_table[self._pair(low, high)]

    def cost(self, low: Codes, high: Codes) -> NDArray[np.float64]:
        """Weight x leaves of the lowest covering node over all leaves, 1 at most; 0 for a leaf."""
        if self.size > TABLE_SIZE:
            return self.node_cost[self.lca(low, high)]
        return self._cost_table[self._pair(low, high)]

    def loss(self, low: Codes, high: Codes) -> NDArray[np.float64]:
        """(leaves under the lowest covering node - 1) / (all leaves - 1); 0 for a leaf."""
        return self._loss[self.lca(low, high)]

    def leaf_text(self) -> list[str]:
        """Label of each leaf."""
        return self.labels[: self.size]

    @cached_property
    def widest(self) -> NDArray[np.int64]:
        """(nodes,) the node that each one's label is read as: of several with one label the widest, as no reader of a
        cell can tell which is meant."""
        known: dict[str, int] = {}
        for node, label in enumerate(self.labels):
            if label not in known or self.node_cost[node] > self.node_cost[known[label]]:
                known[label] = node
        return np.array([known[label] for label in self.labels], np.int64)

    @property
    def twofold(self) -> int:
        """How many values read as a node does that covers several."""
        read = self.widest[: self.size]
        return int(np.count_nonzero(self.stop[read] - self.start[read] > 1))

    @property
    def borrowed(self) -> int:
        """How many nodes over one value have the name of another value, as which their cells are read."""
        leaves = {label: leaf for leaf, label in enumerate(self.leaf_text())}
        single = (node for node in range(self.size, len(self.labels)) if self.stop[node] - self.start[node] == 1)
        return sum(leaves.get(self.labels[node], self.start[node]) != self.start[node] for node in single)

    def shown_cost(self, nodes: Codes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """NCP and loss of cells that show the labels of nodes, same shape."""
        read = self.widest[nodes]
        return self.node_cost[read], self._loss[read]

    def extent(self, member: str) -> tuple[int, int] | None:
        """The first and the last leaf that a member of a set of values stands for: a leaf, or where the column is coded
        at a level, a node, the lowest of its label. None for neither."""
        if member not in self.by_label:
            return None
        node = self.by_label[member][0]
        return int(self.start[node]), int(self.stop[node]) - 1

    def leaves_of(self, names: Iterable[str], absent: Collection[str] = ()) -> list[int] | None:
        """The leaves that the members of a set stand for, ascending; None where one of them stands for none. `absent`:
        the texts that mean missing."""
        missing = None if self.missing is None else (self.missing, self.missing)
        spans = [missing if name in absent else self.extent(name) for name in names]
        known = [span for span in spans if span is not None]
        leaves = {leaf for first, last in known for leaf in range(first, last + 1)}
        return sorted(leaves) if len(known) == len(spans) else None

    @cached_property
    def by_label(self) -> dict[str | None, list[int]]:
        """The nodes of each label, ascending: a parent's number is above its children's."""
        nodes: dict[str | None, list[int]] = {label: [node] for node, label in enumerate(self.labels)}
        if len(nodes) < len(self.labels):
            nodes = {}
            for node, label in enumerate(self.labels):
                nodes.setdefault(label, []).append(node)
        return nodes

    def paths(self) -> dict[str, tuple[str, ...]]:
        """The labels from each leaf to the root, by the leaf's label, in the order of leaves; the missing leaf has
        none."""
        labelled = zip(*([self.labels[node] for node in level] for level in self.levels.tolist()), strict=True)
        return {path[0]: path for code, path in enumerate(labelled) if code != self.missing}

    def node_text(self, low: Codes, high: Codes) -> list[str]:
        """Label of the lowest node that covers each interval: (C,) codes, best of distinct intervals only."""
        return [self.labels[node] for node in self.lca(low, high).tolist()]

    def positions(self, first: Codes, last: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first and the last leaf of intervals `[first, last]` of codes, counted from 0 as the hierarchy is
        declared."""
        return np.asarray(first, np.int64), np.asarray(last, np.int64)

    @cached_property
    def join_depth(self) -> NDArray[np.int32]:
        codes = np.arange(self.size)
        depth = np.full(self.size, -1, dtype=np.int32)
        depth[1:] = self.depth[self._walk(codes[:-1], codes[1:])]
        return depth

    @cached_property
    def _lca_table(self) -> NDArray[np.int32]:
        """(size * size,) lowest common nodes.

        A child's number is below its parent's, so that writing nodes from the root down leaves in each cell the
        lowest node that covers both leaves.
        """
        table = np.empty((self.size, self.size), dtype=np.int32)
        for node in range(self.root, -1, -1):
            under = slice(self.start[node], self.stop[node])
            table[under, under] = node
        return table.ravel()

    @cached_property
    def _cost_table(self) -> NDArray[np.float64]:
        return self.node_cost[self._lca_table]

    def _pair(self, low: Codes, high: Codes) -> NDArray[np.intp]:
        index = np.multiply(low, self.size, dtype=np.intp)
        return np.add(index, high, out=index, casting="unsafe")

    def _walk(self, low: Codes, high: Codes) -> NDArray[np.int32]:
        """`lca` without a table: up the levels, only with the intervals whose ends have not met yet."""
        left, right = low.ravel(), high.ravel()
        node = left.astype(np.int32)
        apart = np.flatnonzero(left != right)
        for above in self.levels[1:]:
            node[apart] = above[left[apart]]
            apart = apart[node[apart] != above[right[apart]]]
        return node.reshape(low.shape)

    def _extents(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """First leaf, last leaf + 1 and lowest level of each node.

        On every level a node is one run of leaves. From the root down, a node that stands on several levels is written
        last on its lowest one.
        """
        start, stop = np.zeros((2, len(self.labels)), dtype=np.int64)
        lowest = np.zeros(len(self.labels), dtype=np.int32)
        for level in range(self.height, -1, -1):
            first = np.flatnonzero(np.diff(self.levels[level], prepend=-1))
            node = self.levels[level][first]
            start[node], stop[node], lowest[node] = first, np.append(first[1:], self.size), level
        return start, stop, lowest

    def _ancestry(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Parent and depth of each node, from the root down."""
        parent = np.full(len(self.labels), -1, dtype=np.int32)
        depth = np.zeros(len(self.labels), dtype=np.int32)
        for below, above in zip(self.levels[-2::-1], self.levels[:0:-1], strict=True):
            new = below != above
            parent[below[new]] = above[new]
            depth[below[new]] = depth[above[new]] + 1
        return parent, depth


class CodedTaxonomy(Taxonomy):
    """A hierarchy of which nothing below a level is left: the nodes of that level are its leaves.

    The levels below repeat them, so that every level has the number that it had; and every node costs what it did, so
    that what the coding loses is in every figure. The missing leaf stays one where no other leaf shares its node.

    Attributes:
        declared: the hierarchy as it was.
        coded: the level.
        origin: (nodes,) the declared node that each node is.
        of_leaf: (declared.size,) the leaf that each declared leaf has become.
    """

    def __init__(self, declared: Taxonomy, level: int) -> None:
        kept = declared.levels[level:]
        leaves = kept[0][np.flatnonzero(np.diff(kept[0], prepend=-1))]
        inner = np.setdiff1d(kept[1:], leaves)
        self.declared, self.coded = declared, level
        self.origin: NDArray[np.int64] = np.concatenate((leaves, inner)).astype(np.int64)
        number = np.zeros(len(declared.labels), np.int32)
        number[self.origin] = np.arange(len(self.origin), dtype=np.int32)
        self.of_leaf: NDArray[np.int64] = number[kept[0]].astype(np.int64)
        above = number[kept[:, declared.start[leaves]]]
        levels = np.concatenate((np.repeat(above[:1], level, axis=0), above))
        labels = [declared.labels[node] for node in self.origin.tolist()]
        absent = None if declared.missing is None else int(self.of_leaf[declared.missing])
        shared = absent is not None and np.count_nonzero(self.of_leaf == absent) > 1
        super().__init__(declared.name, levels, labels, None if shared else absent, declared.weights[self.origin])
        self.node_cost = declared.node_cost[self.origin]
        self._loss = declared._loss[self.origin]

    def positions(self, first: Codes, last: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.declared.start[self.origin[first]], self.declared.stop[self.origin[last]] - 1


# --- rare values ------------------------------------------------------------------------------------------------------
# Which values are rare is measured, so that the pool tells something by itself: a value that is shown has so many rows,
# and whoever knows all rows but one may tell from a value's being in the pool or not whether that row has it. Nothing
# that is pooled is told apart, and the pool never stands for one value or for fewer rows than are asked for: where the
# rare values are too few, the next rarest join them, all of one count together.


def frequent(counts: Mapping[str, int], below: int) -> frozenset[str]:
    """The values that stay out of the pool, given the rows of each value.

    >>> sorted(frequent({"cook": 40, "clerk": 30, "nun": 3, "judge": 2}, 5))
    ['clerk', 'cook']
    >>> sorted(frequent({"cook": 40, "clerk": 30, "nun": 3}, 5))
    ['cook']
    """
    pooled: list[str] = []
    rows = 0
    for count, group in groupby(sorted(counts, key=counts.__getitem__), key=counts.__getitem__):
        if count >= below and (not pooled or (rows >= below and len(pooled) > 1)):
            break
        values = list(group)
        pooled += values
        rows += count * len(values)
    return frozenset(counts).difference(pooled)


def frequent_in(hierarchy: Taxonomy) -> Collection[str]:
    """The values that a hierarchy with a pool has left out of it."""
    alone = hierarchy.levels[1] == np.arange(hierarchy.size)
    return {text for text, single in zip(hierarchy.leaf_text(), alone.tolist(), strict=True) if single}


# --- as a file --------------------------------------------------------------------------------------------------------
# The CSV or the YAML that `anonymize.domain.files` reads. A leaf that stands for its own ancestors on the lower levels
# has a short line or branch. A missing leaf that is the last and directly under the root has none: whatever reads the
# file for a column with missing values puts it there.


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
