"""All strings of a few attributes: which of them are hopeless, and the frontier of minimal ones that are not.

Every string with the same levels in those attributes is at or below such a string, so the table settles whole parts of
the lattice without a look at the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anonymize.algorithms.lattice.faces import Face, Faces
from anonymize.algorithms.lattice.lattice import Vector
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.classes import Bools

WORK = 100_000
"""Refinements of a subset at the most; strings that are not looked at then count as possible."""


@dataclass(frozen=True)
class Frontier:
    """The strings of some attributes by number: levels in mixed radix, the last attribute fastest.

    `possible` (strings,): not hopeless. `minimal`: how many of these have only hopeless ones directly below them.
    `whole`: whether all were looked at. `work`: refinements.
    """

    attributes: tuple[int, ...]
    heights: Vector
    possible: bytes
    minimal: int
    whole: bool
    work: int

    @property
    def start(self) -> int:
        """The number of the string with every attribute at its root, the last one."""
        return len(self.possible) - 1

    def offset(self, index: int, level: int) -> int:
        """What the number of a string changes by where an attribute leaves its root for a level."""
        position = self.attributes.index(index)
        stride = math.prod(height + 1 for height in self.heights[position + 1 :])
        return (level - self.heights[position]) * stride


class _Table:
    """Fills the table, depth first: where a level is hopeless beside the levels so far, so are all below it."""

    def __init__(self, faces: Faces, attributes: Sequence[int], choices: Sequence[Sequence[int]]) -> None:
        self.faces, self.attributes, self.choices = faces, list(attributes), choices
        self.judge: Checker | None = faces.judge()
        self.vector = list(faces.heights)
        self.possible: Bools = np.zeros([faces.heights[index] + 1 for index in attributes], np.bool_)
        self.work = 0

    def fill(self, place: int, face: Face) -> None:
        """All strings that go on from one that is possible, from an attribute on."""
        if self.work >= WORK:
            self.possible[self._rest(place)] = True
            return
        self.possible[self._here] = True
        for position in range(place, len(self.attributes)):
            index = self.attributes[position]
            for level in reversed(self.choices[index]):
                self.work += 1
                finer = self.faces.refined(face, index, level)
                self.vector[index] = level
                if finer is None or self._hopeless():
                    break
                self.fill(position + 1, finer)
            self.vector[index] = self.faces.heights[index]

    @property
    def _here(self) -> Vector:
        return tuple(self.vector[index] for index in self.attributes)

    def _rest(self, place: int) -> tuple[int | slice, ...]:
        """This string and all below it in the attributes from a place on."""
        return tuple(level if position < place else slice(None) for position, level in enumerate(self._here))

    def _hopeless(self) -> bool:
        return self.judge is not None and self.judge.check(tuple(self.vector)).hopeless


def frontier(faces: Faces, attributes: Sequence[int], choices: Sequence[Sequence[int]]) -> Frontier:
    """The frontier of some attributes, the others at their roots. `choices`: per attribute of the table its levels
    below the root that may be safe, ascending."""
    table = _Table(faces, attributes, choices)
    table.fill(0, faces.whole())
    return Frontier(
        tuple(attributes),
        tuple(faces.heights[index] for index in attributes),
        table.possible.tobytes(),
        int(np.count_nonzero(_minimal(table.possible))),
        table.work < WORK,
        table.work,
    )


def _minimal(possible: Bools) -> Bools:
    """Those that are possible, with nothing possible directly below them."""
    minimal = possible.copy()
    for axis in range(possible.ndim):
        above = tuple(slice(1, None) if each == axis else slice(None) for each in range(possible.ndim))
        below = tuple(slice(None, -1) if each == axis else slice(None) for each in range(possible.ndim))
        minimal[above] &= ~possible[below]
    return minimal
