"""TDS: top-down specialization, which keeps most detail where it is most informative about a target for its privacy
cost.

What it does. Every quasi-identifier starts at its root in all rows. A specialization replaces a node by its children
wherever it occurs; numbers have no hierarchy here: an interval is split where the information gain is highest, so their
taxonomy grows during the search. A specialization is valid if every class still meets every model, and the table its
requirements as a whole, and beneficial if the rows of the node have more than one class label. Among those that are
both, the one with the highest score is carried out, until none is left. Ties go to the first attribute of the spec, and
there to the first values.

The score. InfoGain is the entropy of the class labels in the rows of the node less the weighted entropies in those of
its children. AnonyLoss is the decrease of the anonymity, which is the size of the smallest class. `--score 2005` uses
InfoGain / AnonyLoss, or InfoGain if AnonyLoss is 0; `--score 2007` uses InfoGain / (AnonyLoss + 1), as in the journal
version. With several targets the gains are summed. Where the spec has a `unit`, the anonymity counts individuals
instead of rows.

What it needs. At least one target under `workload: targets`, none of them numeric. A missing label is a label of its
own. Missing numbers come after all others, so that a cut can separate them.

What it guarantees. Every class meets every model of the spec after each specialization, or nothing is released. If the
table as one class does not, rows with the most frequent sensitive values are suppressed within the spec's limit, if
that helps. At the end no single specialization is valid and beneficial. An interval of numbers whose best cut is not
valid stays whole, even if another cut would be valid: the search is greedy, and no step is undone.

Recoding model. Single-dimensional recoding: a cut through each hierarchy, the same for all rows.

Cost. Each specialization reads the distinct rows of the classes that it splits once more for every attribute.

Reference. Fung, Wang, Yu: Top-down specialization for information and privacy preservation, ICDE 2005; Anonymizing
classification data for privacy preservation, IEEE TKDE 19(5), 2007.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from anonymize.algorithms import base, feasibility, remaining, single
from anonymize.classes import Bools, Ints, KeyGroups, mixed_radix
from anonymize.domain.taxonomy import Taxonomy
from anonymize.privacy import MODELS, Assessment, Groups, Requirement, check
from anonymize.recoding import Cut, SingleDimensional
from anonymize.records import dataclass
from anonymize.table import Attribute, Table

ID = "tds"
NEEDS = base.Needs(
    base.SINGLE_DIMENSIONAL, target=True, uses=frozenset({"workload"}), populations=False, units=True, counted=True
)


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""

    score: str = base.option(
        "2005", "How gain is weighed against anonymity: as published in 2005 or 2007.", ("2005", "2007")
    )


def run(
    table: Table, requirements: tuple[Requirement, ...], options: Options, context: base.Context
) -> SingleDimensional:
    """The cut at which no specialization is left."""
    targets = single.class_labels(ID, table)
    rows = remaining.remaining_within(table, requirements, context).rows
    leaves = [attribute.codes for attribute in table.attributes]
    sizes = [attribute.domain.size for attribute in table.attributes]
    distinct = single.DistinctRows.of_table(table, requirements, leaves, sizes, rows)
    sides = [
        AttributeCut(attribute, single.LabelCounts.of(codes, size, targets, distinct.rows, table.counts))
        for attribute, codes, size in zip(table.attributes, leaves, sizes, strict=True)
    ]
    search = SpecializationSearch(distinct, sides, requirements)
    while (best := search.best(options.score)) is not None:
        search.specialize(*best)
    context.progress(table.rows)
    account = {"specializations": search.steps, "anonymity": search.anonymity}
    return distinct.recoding(
        [side.cut for side in sides], search.class_of, np.ones(len(search.sizes), np.bool_), account
    )


@dataclass(frozen=True)
class Node:
    """An interval of leaves, from `start` to `stop - 1`. `edges`: where its specialization parts it, both ends
    included; None where no specialization is beneficial. `gain`: the information gain of the specialization."""

    start: int
    stop: int
    edges: Ints | None
    gain: float = 0.0

    @property
    def parts(self) -> int:
        """What the specialization parts it into."""
        return 1 if self.edges is None else len(self.edges) - 1


class AttributeCut:
    """One attribute of the cut so far.

    `nodes`: its intervals, numbered as they come up. `first`: where those begin that it starts from. `child`
    (leaves,): which part of its interval each leaf would go to, 0 where there is no specialization. `interval`
    (classes,): the interval of each class. `smallest`, `valid` (classes,): the smallest part that the specialization
    leaves of each class, and whether all its parts meet the requirements; without meaning for a class whose interval
    has no specialization.
    """

    def __init__(self, attribute: Attribute, labels: single.LabelCounts) -> None:
        self.domain, self.labels = attribute.domain, labels
        self.child = np.zeros(self.domain.size, np.int64)
        self.interval, self.smallest = np.zeros((2, 1), np.int64)
        self.valid = np.zeros(1, np.bool_)
        self.nodes: list[Node] = []
        self.first = _highest(attribute)
        for number, (start, stop) in enumerate(pairwise([*self.first.tolist(), self.domain.size])):
            self._put(number, start, stop)

    @property
    def open(self) -> list[int]:
        """The intervals that have a specialization."""
        return [number for number, node in enumerate(self.nodes) if node.edges is not None]

    @property
    def width(self) -> int:
        """The most parts that a specialization has."""
        return max(node.parts for node in self.nodes)

    @property
    def cut(self) -> Cut:
        """The cut, as a recoding has it."""
        return Cut(np.sort(np.array([node.start for node in self.nodes])))

    def part(self, number: int) -> Ints:
        """Replaces an interval by its parts; returns (parts,) their numbers, the first of which is its own."""
        edges = self.nodes[number].edges
        assert edges is not None
        numbers = [number, *range(len(self.nodes), len(self.nodes) + len(edges) - 2)]
        for part, start, stop in zip(numbers, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            self._put(part, start, stop)
        return np.array(numbers)

    def _put(self, number: int, start: int, stop: int) -> None:
        """Sets an interval, or adds it at the end, with its specialization."""
        node = self._node(start, stop)
        self.child[start:stop] = 0
        if node.edges is not None:
            self.child[start:stop] = np.repeat(np.arange(node.parts), np.diff(node.edges))
        self.nodes[number : number + 1] = [node]

    def _node(self, start: int, stop: int) -> Node:
        """An interval, with where it is parted and the gain of that where it is beneficial."""
        if stop - start < 2 or not self.labels.mixed(start, stop):
            return Node(start, stop, None)
        if isinstance(self.domain, Taxonomy):
            edges = single.children(self.domain, start, stop)
            return Node(start, stop, edges, self.labels.gain(edges))
        middle, gain = self.labels.best_split(start, stop)
        return Node(start, stop, np.array([start, middle, stop]), gain)


def _highest(attribute: Attribute) -> Ints:
    """Where the nodes of the highest level that is declared begin; of the root, the first leaf alone."""
    if not attribute.bounded or attribute.highest is None:
        return np.zeros(1, np.int64)
    over = attribute.generalization
    nodes = over.hierarchy.levels[attribute.highest][over.leaf_of(np.arange(attribute.domain.size))]
    return np.flatnonzero(np.diff(nodes, prepend=-1))


@dataclass
class SpecializationSearch:
    """The classes of the cut so far. `class_of` (m,): that of each distinct row. `sizes` (classes,): rows of each, or
    individuals where several rows may be about one."""

    distinct: single.DistinctRows
    sides: list[AttributeCut]
    requirements: tuple[Requirement, ...]
    steps: int = 0

    def __post_init__(self) -> None:
        intervals = [
            np.searchsorted(side.first, column, side="right") - 1
            for side, column in zip(self.sides, self.distinct.columns, strict=True)
        ]
        groups = KeyGroups.of(*mixed_radix(intervals, [len(side.first) for side in self.sides]))
        self.class_of, count = groups.group, len(groups.first)
        for side, interval in zip(self.sides, intervals, strict=True):
            side.interval = interval[groups.first]
        self.sizes = self.distinct.tally.sizes(self.class_of, count)
        self.beyond_size = feasibility.beyond_size(self.distinct.table, self.requirements)
        self.asked_of_table = [each for each in self.requirements if MODELS[each.model].asks_table(each.parameters)]
        self._measure(np.arange(count))

    @property
    def anonymity(self) -> int:
        """The size of the smallest class."""
        return int(self.sizes.min(initial=self.distinct.total))

    def best(self, score: str) -> tuple[int, int] | None:
        """Attribute and interval of the specialization to carry out; None where none is valid and beneficial."""
        valid = [
            (-_score(side.nodes[number].gain, loss, score), index, side.nodes[number].start, number)
            for index, side in enumerate(self.sides)
            for number, loss in self._valid(side)
        ]
        ranked = ((index, number) for _, index, _, number in sorted(valid))
        return next((each for each in ranked if self._within(*each)), None)

    def _within(self, index: int, number: int) -> bool:
        """Whether the table as a whole meets what is asked of it once an interval of an attribute is parted."""
        if not self.asked_of_table:
            return True
        class_of, _, parents = self._parted(index, number)
        sizes = self.distinct.tally.sizes(class_of, len(self.sizes) + len(parents))
        groups = Groups(sizes[sizes > 0])
        return all(Assessment(groups, each).within for each in self.asked_of_table)

    def _valid(self, side: AttributeCut) -> Iterable[tuple[int, int]]:
        """The intervals whose specialization is valid, and how far the anonymity falls with each."""
        lowest = np.full(len(side.nodes), self.anonymity)
        np.minimum.at(lowest, side.interval, side.smallest)
        refused = np.zeros(len(side.nodes), np.bool_)
        np.logical_or.at(refused, side.interval, ~side.valid)
        return [(number, self.anonymity - int(lowest[number])) for number in side.open if not refused[number]]

    def specialize(self, index: int, number: int) -> None:
        """Parts every class of an interval of an attribute."""
        side = self.sides[index]
        self.class_of, (label, part), parents = self._parted(index, number)
        numbers = side.part(number)
        for each in self.sides:
            each.interval = np.append(each.interval, each.interval[parents])
        side.interval[label] = numbers[part]
        self.sizes = self.distinct.tally.sizes(self.class_of, len(side.interval))
        self.steps += 1
        self._measure(np.sort(label))

    def _parted(self, index: int, number: int) -> tuple[Ints, tuple[Ints, Ints], Ints]:
        """What parting every class of an interval leads to: (m,) the class of each distinct row, the number of each
        part and which part of its class it is, and the class that each of the new ones was a part of."""
        side = self.sides[index]
        rows = np.flatnonzero((side.interval == number)[self.class_of])
        width = side.nodes[number].parts
        key = self.class_of[rows] * width + side.child[self.distinct.columns[index][rows]]
        parted, place = np.unique(key, return_inverse=True)
        old, part = parted // width, parted % width
        first = np.diff(old, prepend=-1) > 0
        label = np.where(first, old, len(self.sizes) + np.cumsum(~first) - 1)
        class_of = self.class_of.copy()
        class_of[rows] = label[place]
        return class_of, (label, part), old[~first]

    def _measure(self, changed: Ints) -> None:
        """What the specializations would leave of some classes, ascending."""
        place = np.full(len(self.sizes), -1)
        place[changed] = np.arange(len(changed))
        local = place[self.class_of]
        rows = np.flatnonzero(local >= 0)
        for side, column in zip(self.sides, self.distinct.columns, strict=True):
            key = local[rows] * side.width + side.child[column[rows]]
            smallest, valid = self._parts(rows, key, len(changed), side.width)
            side.smallest, side.valid = np.resize(side.smallest, len(place)), np.resize(side.valid, len(place))
            side.smallest[changed], side.valid[changed] = smallest, valid

    def _parts(self, rows: Ints, key: Ints, classes: int, width: int) -> tuple[Ints, Bools]:
        """(classes,) the smallest part of each class, and whether all parts meet the requirements."""
        sizes = np.bincount(key, self.distinct.counts[rows], minlength=classes * width).astype(np.int64)
        filled = np.flatnonzero(sizes)
        groups = self._groups(rows, key, filled, sizes)
        sizes[filled] = groups.sizes
        passed = np.ones(classes * width, np.bool_)
        passed[filled] = check(groups, self.requirements, "necessary")
        smallest = np.where(sizes > 0, sizes, self.distinct.total).reshape(classes, width).min(axis=1)
        return smallest, np.asarray(passed.reshape(classes, width).all(axis=1))

    def _groups(self, rows: Ints, key: Ints, filled: Ints, sizes: Ints) -> Groups:
        """The parts that are filled (ascending keys), from the distinct rows in them; `sizes` (parts,) in rows."""
        if not self.beyond_size:
            return Groups(sizes[filled])
        part = np.full(len(self.class_of), -1)
        part[rows] = np.searchsorted(filled, key)
        return self.distinct.tally.merge(part, len(filled)).groups()


def _score(gain: float, loss: int, version: str) -> float:
    return gain / (loss + 1) if version == "2007" else gain / max(loss, 1)
