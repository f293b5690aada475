"""BUG: bottom-up generalization, which sacrifices the least information about a target for the anonymity gained.

What it does. It starts with the original values. A generalization replaces the children of a node by the node wherever
they occur, in all rows; it can be carried out if all of them are shown. The anonymity is the size of the smallest
class. Among the generalizations that raise it, the one with the least information loss per row gained is carried out;
if none raises it, the one with the least information loss. This continues until no more rows are in classes that fail a
requirement than the spec's suppression limit allows; these are suppressed. Ties go to the first attribute of the spec,
and there to the first values. Where the spec has a `unit`, the anonymity counts individuals instead of rows.

What is lost. The entropy of the class labels in the rows of the node less the weighted entropies in those of its
children, summed over the targets.

What it needs. At least one target under `workload: targets`, none of them numeric. A missing label is a label of its
own. Numbers are generalized by their hierarchy in the spec, such as `intervals`, and released as its labels; without
one they are all kept or all suppressed.

What it guarantees. Every class meets every model of the spec, and no more rows are suppressed than allowed, or nothing
is released. It does not guarantee the least loss: no step is undone. If a model is not monotone, it may pass a safe cut
and end at the top without one; then the message says that the search found none.

Recoding model. Single-dimensional recoding: a cut through each hierarchy, the same for all rows.

Cost. Each step reads the classes once; there are at most as many steps as the hierarchies have nodes above their
leaves.

Reference. Wang, Yu, Chakraborty: Bottom-up generalization: a data mining solution to privacy protection, ICDM 2004.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from anonymize.algorithms import base, feasibility, single
from anonymize.classes import Bools, Ints, KeyGroups, mixed_radix
from anonymize.judging import Suppression
from anonymize.privacy import Requirement
from anonymize.recoding import Cut, SingleDimensional
from anonymize.records import dataclass
from anonymize.table import Attribute, Table

ID = "bug"
NEEDS = base.Needs(
    base.SINGLE_DIMENSIONAL, target=True, uses=frozenset({"workload"}), populations=False, units=True, counted=True
)


@dataclass(frozen=True)
class Options:
    """Options of the subcommand: none."""


def run(
    table: Table, requirements: tuple[Requirement, ...], options: Options, context: base.Context
) -> SingleDimensional:
    """The cut at which the requirements are met."""
    targets = single.class_labels(ID, table)
    leaves = [attribute.generalization.leaf_of(attribute.codes) for attribute in table.attributes]
    sizes = [attribute.hierarchy.size for attribute in table.attributes]
    distinct = single.DistinctRows.of_table(table, requirements, leaves, sizes)
    climbs = [
        AttributeClimb(attribute, single.LabelCounts.of(leaf, size, targets, distinct.rows, table.counts))
        for attribute, leaf, size in zip(table.attributes, leaves, sizes, strict=True)
    ]
    limit = context.suppression_limit
    climb = Climb(distinct, climbs, Suppression(requirements, limit, context.published))
    while not climb.safe():
        if not climb.step():
            raise feasibility.no_generalization(table, requirements, limit)
    context.progress(table.rows)
    class_of, released = climb.classes()
    account = {"generalizations": climb.steps, "anonymity": int(climb.sizes[climb.sizes > 0][released].min())}
    return distinct.recoding([climb.cut for climb in climbs], class_of, released, account)


class AttributeClimb:
    """The nodes of one hierarchy that have several children and are not above the highest level that is declared, and
    which of them have been generalized to.

    `edges`: where the children of each node begin, and the end of the last. `losses`: the information loss of each.
    `start`, `above` (leaves,): the first leaf of the node that each leaf shows, and the lowest of the nodes above that
    one, -1 at the top.
    """

    def __init__(self, attribute: Attribute, labels: single.LabelCounts) -> None:
        taxonomy = attribute.hierarchy
        highest = taxonomy.height if attribute.highest is None else attribute.highest
        nodes = np.flatnonzero((taxonomy.stop - taxonomy.start > 1) & (taxonomy.level <= highest))
        lowest = nodes[taxonomy.lca(taxonomy.start[nodes], taxonomy.stop[nodes] - 1) == nodes].tolist()
        self.edges = [single.children(taxonomy, int(taxonomy.start[n]), int(taxonomy.stop[n])) for n in lowest]
        self.losses = [labels.gain(edges) for edges in self.edges]
        self.start = np.arange(taxonomy.size)
        self.above = np.full(taxonomy.size, -1)
        self._parent = [-1] * len(lowest)
        self._link()
        self._waiting = [0] * len(lowest)
        for parent in self._parent:
            if parent >= 0:
                self._waiting[parent] += 1
        self._done: set[int] = set()
        self._heap = [self._entry(node) for node, waiting in enumerate(self._waiting) if not waiting]
        heapq.heapify(self._heap)

    @property
    def cut(self) -> Cut:
        """The cut, as a recoding has it."""
        return Cut(np.unique(self.start), labelled=True)

    def _link(self) -> None:
        """Finds the node above each node and leaf: the largest nodes are put down first."""
        for node in sorted(range(len(self.edges)), key=lambda n: self.edges[n][0] - self.edges[n][-1]):
            start, stop = self.edges[node][[0, -1]]
            self._parent[node] = int(self.above[start])
            self.above[start:stop] = node

    def _entry(self, node: int) -> tuple[float, int, int]:
        return self.losses[node], int(self.edges[node][0]), node

    def ready(self, node: int) -> bool:
        """Whether all children of a node are shown."""
        return node >= 0 and not self._waiting[node]

    def cheapest(self) -> tuple[float, int, int] | None:
        """Loss, first leaf and number of the node of least loss that can be generalized to."""
        while self._heap and self._heap[0][2] in self._done:
            heapq.heappop(self._heap)
        return self._heap[0] if self._heap else None

    def generalize(self, node: int) -> None:
        """Shows a node in place of its children."""
        start, stop = self.edges[node][[0, -1]]
        parent = self._parent[node]
        self.start[start:stop], self.above[start:stop] = start, parent
        self._done.add(node)
        if parent >= 0:
            self._waiting[parent] -= 1
            if not self._waiting[parent]:
                heapq.heappush(self._heap, self._entry(parent))


class Climb:
    """The classes of the cut so far. A class that has become part of another has no rows left. `counts` (m,): rows of
    each class; at first each distinct row is a class. `sizes` (m,): the same, or individuals where several rows may be
    about one. `columns`: per attribute (m,) the first leaf of the node that each shows.
    """

    def __init__(self, distinct: single.DistinctRows, climbs: list[AttributeClimb], suppression: Suppression) -> None:
        self.distinct, self.climbs, self.suppression = distinct, climbs, suppression
        self.counts = distinct.counts.copy()
        members = distinct.tally.members
        self._units = None if members is None else members.units
        self.sizes = self.counts if self._units is None else self._units.counts(len(self.counts))
        self.columns = [column.copy() for column in distinct.columns]
        self.steps = 0
        self._into = np.arange(len(self.counts))
        self._minimum = feasibility.necessary_size(suppression.requirements)

    def safe(self) -> bool:
        """Whether the rows that are suppressed are within the limit, and rows are left."""
        limit = self.suppression.limit
        small = self.counts[self.counts < self._minimum].sum()
        if small > limit or small == self.distinct.total:
            return False
        class_of, released = self.classes()
        lost = self.distinct.counts[~released[class_of]].sum()
        return bool(lost <= limit and lost < self.distinct.total)

    def classes(self) -> tuple[Ints, Bools]:
        """(m,) the class of each distinct row, numbered anew, and (classes,) whether each is released."""
        while (self._into != self._into[self._into]).any():
            self._into = self._into[self._into]
        alive, class_of = np.unique(self._into, return_inverse=True)
        classes = self.distinct.tally.merge(class_of, len(alive))
        return class_of, ~self.suppression.failing(classes.groups(), classes.counts)

    def step(self) -> bool:
        """Carries out the generalization whose turn it is; false at the top."""
        generalization = min(self._raising(), default=None) or min(self._any(), default=None)
        if generalization is None:
            return False
        _, index, _, node = generalization
        into = self._merged(index, node)
        self.climbs[index].generalize(node)
        rows = self._under(index, node)
        counts = self.counts[rows]
        self.counts[rows] = 0
        np.add.at(self.counts, into, counts)
        self._into[rows] = into
        if self._units is not None:
            moved = np.arange(len(self.counts))
            moved[rows] = into
            self._units = self._units.merge(moved)
            self.sizes = self._units.counts(len(self.counts))
        self.columns[index][into] = self.climbs[index].edges[node][0]
        self.steps += 1
        return True

    def _any(self) -> Iterator[tuple[float, int, int, int]]:
        """The generalization of least loss, for each attribute."""
        for index, climb in enumerate(self.climbs):
            if (candidate := climb.cheapest()) is not None:
                loss, start, node = candidate
                yield loss, index, start, node

    def _raising(self) -> Iterator[tuple[float, int, int, int]]:
        """The generalizations that raise the anonymity, with their loss per row that is gained.

        Such a generalization touches every smallest class, so there is at most one per attribute.
        """
        alive = self.counts > 0
        anonymity = int(self.sizes[alive].min())
        smallest = np.flatnonzero(self.sizes == anonymity)
        for index, climb in enumerate(self.climbs):
            above = climb.above[self.columns[index][smallest]]
            node = int(above[0])
            if climb.ready(node) and (above == node).all():
                rows, others = self._under(index, node), alive.copy()
                others[rows] = False
                sizes = self._together(rows, self._merged(index, node))
                rest = int(self.sizes[others].min(initial=self.distinct.total))
                raised = min(int(sizes[sizes > 0].min()), rest)
                if raised > anonymity:
                    yield climb.losses[node] / (raised - anonymity), index, int(climb.edges[node][0]), node

    def _together(self, rows: Ints, into: Ints) -> Ints:
        """The sizes of what some classes become, at the number that each goes `into`; 0 elsewhere."""
        if self._units is None:
            return np.bincount(into, self.counts[rows]).astype(np.int64)
        place = np.full(len(self.counts), -1)
        place[rows] = into
        return self._units.merge(place).counts(len(self.counts))

    def _under(self, index: int, node: int) -> Ints:
        edges = self.climbs[index].edges[node]
        column = self.columns[index]
        return np.flatnonzero((column >= edges[0]) & (column < edges[-1]) & (self.counts > 0))

    def _merged(self, index: int, node: int) -> Ints:
        """For each class under the node, the class that it becomes part of once all of them show the node."""
        rows = self._under(index, node)
        others = [column[rows] for other, column in enumerate(self.columns) if other != index]
        sizes = [size for other, size in enumerate(self.distinct.sizes) if other != index]
        if not others:
            return np.repeat(rows[:1], len(rows))
        grouping = KeyGroups.of(*mixed_radix(others, sizes))
        return rows[grouping.first][grouping.group]
