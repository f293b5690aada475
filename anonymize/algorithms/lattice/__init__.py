"""The generalization lattice: level vectors, one level an attribute, ordered attribute by attribute; figures of
attributes put together; and frequency sets, the distinct combinations at a node and how many rows each has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Bools, Codes, Floats, Integers, Ints, KeyGroups, mixed_radix
from anonymize.judging import Judge, Tally, crowd_of_nodes
from anonymize.privacy import Groups, Requirement, check, weigh
from anonymize.records import dataclass
from anonymize.table import Attribute, Table
from anonymize.table.population import Population

# --- level vectors ----------------------------------------------------------------------------------------------------
# On each level of an attribute its nodes are numbered from 0 in the order of leaves.

Vector: TypeAlias = tuple[int, ...]
"""A node: the level of each attribute, 0 the values themselves."""


@dataclass(frozen=True)
class Lattice:
    """All level vectors from the bottom to the top: from the values to the roots, unless the spec says otherwise.

    `heights`: the highest level of each attribute. `lows`: the lowest; none stands for 0 everywhere.
    """

    heights: Vector
    lows: Vector = ()

    @classmethod
    def between(cls, attributes: Sequence[Attribute]) -> Lattice:
        """The lattice of the levels that attributes may be released at."""
        tops = (each.hierarchy.height if each.highest is None else each.highest for each in attributes)
        return cls(tuple(tops), tuple(each.lowest for each in attributes))

    def __iter__(self) -> Iterator[Vector]:
        """All nodes from the bottom up: by height, then lexicographically."""
        for height in range(sum(self.bottom), sum(self.top) + 1):
            yield from self.at_height(height)

    @property
    def size(self) -> int:
        """Number of nodes."""
        return math.prod(high - low + 1 for low, high in zip(self.bottom, self.heights, strict=True))

    @property
    def bottom(self) -> Vector:
        """The values themselves, or the lowest levels."""
        return self.lows or (0,) * len(self.heights)

    @property
    def top(self) -> Vector:
        """The roots, or the highest levels."""
        return self.heights

    def at_height(self, height: int) -> Iterator[Vector]:
        """The nodes of one height, the sum of their levels, in lexicographic order."""
        yield from self._suffixes(0, height)

    def above(self, vector: Vector) -> Iterator[Vector]:
        """The direct generalizations: one attribute one level up."""
        for index, level in enumerate(vector):
            if level < self.heights[index]:
                yield (*vector[:index], level + 1, *vector[index + 1 :])

    def below(self, vector: Vector) -> Iterator[Vector]:
        """The direct specializations: one attribute one level down."""
        for index, level in enumerate(vector):
            if level > self.bottom[index]:
                yield (*vector[:index], level - 1, *vector[index + 1 :])

    def _suffixes(self, start: int, height: int) -> Iterator[Vector]:
        """The levels of the attributes from `start` on which sum to `height`."""
        if start == len(self.heights):
            if height == 0:
                yield ()
            return
        least, rest = sum(self.bottom[start + 1 :]), sum(self.heights[start + 1 :])
        for level in range(max(height - rest, self.bottom[start]), min(height - least, self.heights[start]) + 1):
            for suffix in self._suffixes(start + 1, height - level):
                yield (level, *suffix)


# --- the levels of one attribute --------------------------------------------------------------------------------------

Ordinals = NDArray[np.int32]


@dataclass(frozen=True)
class HierarchyLevels:
    """`ordinals` (height + 1, leaves): which node of each level each leaf lies under. `sizes`: nodes of each level."""

    attribute: Attribute
    ordinals: Ordinals
    sizes: tuple[int, ...]
    _steps: dict[tuple[int, int], Ordinals] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, attribute: Attribute) -> HierarchyLevels:
        """The levels of an attribute's hierarchy."""
        levels = attribute.hierarchy.levels
        ordinals = np.zeros(levels.shape, np.int32)
        np.cumsum(levels[:, 1:] != levels[:, :-1], axis=1, out=ordinals[:, 1:])
        return cls(attribute, ordinals, tuple((ordinals[:, -1] + 1).tolist()))

    @property
    def height(self) -> int:
        """The level of the root."""
        return len(self.sizes) - 1

    def leaf_of(self, codes: Codes) -> NDArray[np.int64]:
        """(n,) the hierarchy's leaf of each code of the attribute."""
        return self.attribute.generalization.leaf_of(codes)

    def step(self, low: int, high: int) -> Ordinals:
        """(nodes of `low`,) which node of the level `high` each node of the level `low` lies under."""
        upwards = self._steps.get((low, high))
        if upwards is None:
            upwards = self._steps[low, high] = self.ordinals[high][self.first(low)]
        return upwards

    def first(self, level: int) -> NDArray[np.int64]:
        """(nodes of the level,) the first leaf under each."""
        return np.flatnonzero(np.diff(self.ordinals[level], prepend=-1))

    @property
    def leaves(self) -> Floats:
        """(nodes of the taxonomy,) the base-2 logarithm of the leaves under each."""
        hierarchy = self.attribute.hierarchy
        return np.asarray(np.log2(hierarchy.stop - hierarchy.start))

    def nodes(self, level: int) -> NDArray[np.int32]:
        """(nodes of the level,) their numbers in the taxonomy."""
        return np.asarray(self.attribute.hierarchy.levels[level][self.first(level)])

    def of_leaves(self, level: int, of_node: Floats) -> Floats:
        """(leaves,) the figure of the node of a level that each leaf lies under, given a figure of every node of the
        taxonomy."""
        return np.asarray(of_node[self.attribute.hierarchy.levels[level]])


# --- figures of attributes put together -------------------------------------------------------------------------------
# Whole arrays of nodes are aggregated attribute by attribute, so that a node's result does not depend on which other
# nodes are in the array.

AGGREGATES = ("mean", "geometric", "max", "sum", "rank")


def aggregate(name: str, figures: Sequence[Floats]) -> Floats:
    """(n, 1) the scores, or (n, attributes) for `rank`, from the weighted figures (n,) of each attribute; see
    `scores`."""
    if name == "rank":
        return -np.sort(-np.stack(figures, axis=1), axis=1)
    total = np.zeros(len(figures[0])) if name != "geometric" else np.ones(len(figures[0]))
    for figure in figures:
        if name == "max":
            np.maximum(total, figure, out=total)
        elif name == "geometric":
            total *= (figure + 1) ** (1 / len(figures))
        else:
            total += figure
    if name == "geometric":
        total -= 1
    return (total / len(figures) if name == "mean" else total)[:, None]


def below(scores: Floats, bound: Sequence[float]) -> Bools:
    """(n,) which scores (n, length) come before a bound, compared in order."""
    less = np.zeros(len(scores), np.bool_)
    equal = np.ones(len(scores), np.bool_)
    for column, limit in zip(scores.T, bound, strict=True):
        less |= equal & (column < limit)
        equal &= column == limit
    return less


def larger(scores: Floats, bounds: Floats) -> Floats:
    """(n, length) the later one of each two scores."""
    if scores.shape[1] == 1:
        return np.maximum(scores, bounds)
    first = np.zeros(len(scores), np.bool_)
    equal = np.ones(len(scores), np.bool_)
    for column, other in zip(scores.T, np.broadcast_to(bounds, scores.shape).T, strict=True):
        first |= equal & (column > other)
        equal &= column == other
    return np.where(first[:, None], scores, bounds)


def least(scores: Floats) -> int:
    """Position of the first of the smallest scores."""
    if scores.shape[1] == 1:
        return int(np.argmin(scores[:, 0]))
    smallest: Ints = np.arange(len(scores))
    for column in scores.T:
        values = column[smallest]
        smallest = smallest[values == values.min()]
    return int(smallest[0])


# --- frequency sets ---------------------------------------------------------------------------------------------------
# The set of a node follows from that of any node below it, without a look at the rows: the roll-up property. Where
# several rows may be about one individual that holds too: see `Tally`.
#
# Source: LeFevre, DeWitt, Ramakrishnan, Incognito: efficient full-domain k-anonymity, SIGMOD 2005, section 3.


@dataclass(frozen=True)
class FrequencySet:
    """The distinct rows of a table at one node.

    `vector`: the node. `columns`: per attribute (m,) the ordinal number of the node that each distinct row shows, among
    those of its level. `tally`: what each stands for. `hierarchies`: of the attributes. `populations`: those that
    requirements name.
    """

    vector: Vector
    columns: tuple[Ordinals, ...]
    tally: Tally
    hierarchies: tuple[HierarchyLevels, ...]
    populations: Mapping[str, Population] = field(default_factory=dict)

    @classmethod
    def with_classes(
        cls, table: Table, requirements: tuple[Requirement, ...], rows: NDArray[np.uint32] | None = None
    ) -> tuple[FrequencySet, Ints]:
        """The frequency set at the bottom, the values themselves, of all rows or of some, and (rows,) which distinct
        row each row is."""
        hierarchies = tuple(HierarchyLevels.of(attribute) for attribute in table.attributes)
        picked: slice | NDArray[np.uint32] = slice(None) if rows is None else rows
        codes = [attribute.codes[picked] for attribute in table.attributes]
        leaves = [hierarchy.leaf_of(code).astype(np.int32) for hierarchy, code in zip(hierarchies, codes, strict=True)]
        grouping = KeyGroups.of(*mixed_radix(leaves, [hierarchy.sizes[0] for hierarchy in hierarchies]))
        tally = Judge(table, requirements, rows).tally(grouping.group, len(grouping.starts))
        columns = tuple(leaf[grouping.first] for leaf in leaves)
        return cls((0,) * len(hierarchies), columns, tally, hierarchies, table.populations), grouping.group

    @property
    def counts(self) -> Ints:
        """(m,) rows of the table that each stands for."""
        return self.tally.counts

    @property
    def size(self) -> int:
        """Number of distinct rows."""
        return len(self.counts)

    def groups(self) -> Groups:
        """The distinct rows as the privacy models see them."""
        groups = self.tally.groups()
        if weigh(self.tally.requirements):
            groups = replace(groups, kept=1 - self.lost())
        if not self.populations:
            return groups
        columns = zip(self.hierarchies, self.vector, self.columns, strict=True)
        leaves = [hierarchy.first(level)[ordinals] for hierarchy, level, ordinals in columns]
        crowds = {path: crowd_of_nodes(each, self.vector, leaves) for path, each in self.populations.items()}
        return replace(groups, crowds=crowds)

    def lost(self) -> Floats:
        """(m,) the share of the information that each distinct row has lost: the logarithm of the combinations of
        leaves that it may stand for, over that of all there are (Wan and others, 2015)."""
        area, whole = np.zeros(self.size), 0.0
        for hierarchy, level, column in zip(self.hierarchies, self.vector, self.columns, strict=True):
            area += hierarchy.leaves[hierarchy.nodes(level)][column]
            whole += float(np.log2(hierarchy.sizes[0]))
        return np.minimum(area / whole, 1.0) if whole else area

    @property
    def safe(self) -> Bools:
        """(m,) whether each distinct row meets every requirement as a class."""
        return check(self.groups(), self.tally.requirements)

    def meets(self, labels: Integers, count: int) -> Bools:
        """(count,) whether each class of distinct rows meets every requirement, given the class (m,) of each, below 0
        for none; no class fails what all of them meet as a table. People under the distinct rows of no class still
        count as people under these."""
        groups = self.groups().merge(np.where(labels < 0, count, labels), count + 1)
        return check(groups, self.tally.requirements, "granted")[:count]

    def roll_up(self, vector: Vector) -> FrequencySet:
        """The frequency set of a node that is not below this one's."""
        return self.rolled(vector)[0]

    def rolled(self, vector: Vector) -> tuple[FrequencySet, Ints]:
        """The frequency set of a node that is not below this one's, and (m,) which distinct row of the new set each of
        this one became part of."""
        columns = [
            column if low == high else hierarchy.step(low, high)[column]
            for column, hierarchy, low, high in zip(self.columns, self.hierarchies, self.vector, vector, strict=True)
        ]
        return self._at_node(vector, columns)

    def subset(self, mask: Bools) -> FrequencySet:
        """The frequency set of only those rows that some of the distinct rows stand for."""
        columns = tuple(column[mask] for column in self.columns)
        return replace(self, columns=columns, tally=self.tally.subset(mask))

    def restrict(self, attributes: Sequence[int]) -> FrequencySet:
        """The frequency set of some of the attributes alone, at their levels."""
        columns = [self.columns[index] for index in attributes]
        hierarchies = tuple(self.hierarchies[index] for index in attributes)
        vector = tuple(self.vector[index] for index in attributes)
        populations = {path: each.restricted(attributes) for path, each in self.populations.items()}
        return replace(self, hierarchies=hierarchies, populations=populations)._at_node(vector, columns)[0]

    def _at_node(self, vector: Vector, columns: Sequence[Ordinals]) -> tuple[FrequencySet, Ints]:
        """The distinct rows put together that show the same nodes, which are in `columns` (m,) per attribute: they have
        the same mixed-radix number, so that grouping equal numbers is enough. And (m,) the group of each."""
        sizes = [hierarchy.sizes[level] for hierarchy, level in zip(self.hierarchies, vector, strict=True)]
        grouping = KeyGroups.of(*mixed_radix(columns, sizes))
        ordinals = tuple(column[grouping.first] for column in columns)
        rolled_up = replace(self, vector=vector, columns=ordinals, tally=self.tally.grouped(grouping))
        return rolled_up, grouping.group
