"""The generalization lattice: level vectors, one level an attribute, ordered attribute by attribute."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from anonymize.table import Table

Vector: TypeAlias = tuple[int, ...]
"""A node: the level of each attribute, 0 the values themselves."""


@dataclass(frozen=True)
class Lattice:
    """All level vectors from the bottom, 0 everywhere, to the top, the root everywhere.

    `heights`: the level of each attribute's root.
    """

    heights: Vector

    @classmethod
    def of(cls, table: Table) -> Lattice:
        """The lattice of a table's quasi-identifiers."""
        return cls(tuple(attribute.hierarchy.height for attribute in table.attributes))

    def __iter__(self) -> Iterator[Vector]:
        """All nodes from the bottom up: by height, then lexicographically."""
        for height in range(self.height(self.top) + 1):
            yield from self.at_height(height)

    @property
    def size(self) -> int:
        """Number of nodes."""
        return math.prod(height + 1 for height in self.heights)

    @property
    def bottom(self) -> Vector:
        """The values themselves."""
        return (0,) * len(self.heights)

    @property
    def top(self) -> Vector:
        """The root everywhere."""
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
            if level > 0:
                yield (*vector[:index], level - 1, *vector[index + 1 :])

    def _suffixes(self, start: int, height: int) -> Iterator[Vector]:
        """The levels of the attributes from `start` on which sum to `height`."""
        if start == len(self.heights):
            if height == 0:
                yield ()
            return
        rest = sum(self.heights[start + 1 :])
        for level in range(max(height - rest, 0), min(height, self.heights[start]) + 1):
            for suffix in self._suffixes(start + 1, height - level):
                yield (level, *suffix)
