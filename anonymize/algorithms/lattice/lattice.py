"""The generalization lattice: level vectors, one level an attribute, ordered attribute by attribute.

On each level of an attribute its nodes are numbered from 0 in the order of leaves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Codes, Floats
from anonymize.table import Attribute, Table

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
    def of(cls, table: Table) -> Lattice:
        """The lattice of a table's quasi-identifiers."""
        return cls.between(table.attributes)

    @classmethod
    def between(cls, attributes: Sequence[Attribute]) -> Lattice:
        """The lattice of the levels that attributes may be released at."""
        lows = tuple(attribute.lowest for attribute in attributes)
        heights = tuple(_highest(attribute) for attribute in attributes)
        return cls(heights, lows)

    def __iter__(self) -> Iterator[Vector]:
        """All nodes from the bottom up: by height, then lexicographically."""
        for height in range(self.height(self.bottom), self.height(self.top) + 1):
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

    @staticmethod
    def height(vector: Vector) -> int:
        """Steps between the bottom and a node."""
        return sum(vector)

    def at_height(self, height: int) -> Iterator[Vector]:
        """The nodes of one height in lexicographic order."""
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


def _highest(attribute: Attribute) -> int:
    return attribute.hierarchy.height if attribute.highest is None else attribute.highest


# --- the levels of one attribute --------------------------------------------------------------------------------------

Ordinals = NDArray[np.int32]


@dataclass(frozen=True)
class Ladder:
    """`ordinals` (height + 1, leaves): which node of each level each leaf lies under. `sizes`: nodes of each level."""

    attribute: Attribute
    ordinals: Ordinals
    sizes: tuple[int, ...]
    _steps: dict[tuple[int, int], Ordinals] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, attribute: Attribute) -> Ladder:
        """The ladder of an attribute's hierarchy."""
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
            first = np.flatnonzero(np.diff(self.ordinals[low], prepend=-1))
            upwards = self._steps[low, high] = self.ordinals[high][first]
        return upwards

    def first(self, level: int) -> NDArray[np.int64]:
        """(nodes of the level,) the first leaf under each."""
        return np.flatnonzero(np.diff(self.ordinals[level], prepend=-1))

    def nodes(self, level: int) -> NDArray[np.int32]:
        """(nodes of the level,) their numbers in the taxonomy."""
        nodes = self.attribute.hierarchy.levels[level]
        return np.asarray(nodes[np.flatnonzero(np.diff(self.ordinals[level], prepend=-1))])

    def of_leaves(self, level: int, of_node: Floats) -> Floats:
        """(leaves,) the figure of the node of a level that each leaf lies under, given a figure of every node of the
        taxonomy."""
        return np.asarray(of_node[self.attribute.hierarchy.levels[level]])
