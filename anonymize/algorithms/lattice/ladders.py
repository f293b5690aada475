"""The levels of one attribute as numbers: on each level the nodes are numbered from 0 in the order of leaves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Codes, Floats
from anonymize.table import Attribute

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
