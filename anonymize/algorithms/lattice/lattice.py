"""The generalization lattice: level vectors, one level an attribute, ordered attribute by attribute."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

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
