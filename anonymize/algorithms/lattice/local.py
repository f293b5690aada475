"""Local search over strings: descents from many starts, neighbours one step and several steps away, restarts.

A descent takes, of all attributes and levels that can come down alone, the safe one that gains most, as often as there
is one. Neighbours of the string so reached: each attribute goes back to its root, and the others descend first. When
none of these is better, some attributes go up by some steps, and a descent follows whose order is shuffled a little;
where that has not helped for a while, it starts at the root again. What is drawn is the same in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from anonymize.algorithms.lattice.lattice import Vector
from anonymize.algorithms.lattice.strings import StringSearch

CHECKS = 40
"""Checks for each level of an attribute above the lowest, where none are given."""
DESCENTS = 100
"""Shuffled descents, of which those in a small lattice meet little that has not been checked."""
PATIENCE = 12
"""Descents in vain, after which the next one starts at the root."""
NOISE = 0.5
"""By how much a gain may count more or less in a shuffled descent."""


class LocalSearch:
    """A search over the strings of `choices`, the levels of each attribute ascending.

    `left`: whether it may go on, given how many strings have been checked. Everything that is checked is noted in
    `strings`, whose best success is the answer.
    """

    def __init__(self, strings: StringSearch, choices: Sequence[Sequence[int]], left: Callable[[int], bool]) -> None:
        self.strings, self.choices, self.left = strings, choices, left
        self._random = Random(0)

    def begin(self) -> None:
        """The binary search, and one descent from the best of its successes, or from the root."""
        self.strings.locally(self.choices)
        root = tuple(levels[-1] for levels in self.choices)
        for start in self.strings.successes[:1] or [root]:
            if self._safe(start):
                self._descended(start)

    def run(self) -> None:
        """From the best success so far, or from the root; nothing where neither is safe."""
        self.strings.locally(self.choices)
        root = tuple(levels[-1] for levels in self.choices)
        starts = [root, *self.strings.successes[:1]]
        best = max((self._descended(start) for start in starts if self._safe(start)), key=self._worth, default=None)
        if best is None:
            return
        best = self._exchanged(best)
        current, vain = best, 0
        for _ in range(DESCENTS):
            if not self.left(len(self.strings.tested)):
                return
            start = root if vain > PATIENCE else self._perturbed(current)
            vain = 0 if vain > PATIENCE else vain + 1
            if not self._safe(start):
                continue
            current = max(current, self._descended(start, shuffled=True), key=self._worth)
            if self._worth(current) > self._worth(best):
                best, vain = self._exchanged(current), 0
            current = best if vain == PATIENCE else current

    def _worth(self, vector: Vector) -> float:
        return self.strings.total(vector)

    def _safe(self, vector: Vector) -> bool:
        return self.strings.check(vector).safe

    def _descended(self, vector: Vector, *, shuffled: bool = False, held: int | None = None) -> Vector:
        """A safe string below which no attribute but the one that is held can come down alone."""
        while self.left(len(self.strings.tested)):
            moves = sorted(self._moves(vector, held, shuffled), reverse=True)
            lower = next((move for _, move in moves if self._safe(move)), None)
            if lower is None:
                break
            vector = lower
        return vector

    def _moves(self, vector: Vector, held: int | None, shuffled: bool) -> Iterator[tuple[float, Vector]]:
        """The strings where one attribute is at any lower level, with what they gain."""
        worth = self._worth(vector)
        for index, level in enumerate(vector):
            for lower in self.choices[index] if index != held else ():
                if lower < level:
                    move = (*vector[:index], lower, *vector[index + 1 :])
                    noise = 1 + NOISE * (2 * self._random.random() - 1) if shuffled else 1.0
                    yield (self._worth(move) - worth) * noise, move

    def _exchanged(self, vector: Vector) -> Vector:
        """The best that comes of taking one attribute to its root, as long as that is better than what there was."""
        while True:
            better = vector
            for index, levels in enumerate(self.choices):
                if vector[index] == levels[-1] or not self.left(len(self.strings.tested)):
                    continue
                start = (*vector[:index], levels[-1], *vector[index + 1 :])
                if self._safe(start):
                    better = max(better, self._descended(self._descended(start, held=index)), key=self._worth)
            if self._worth(better) <= self._worth(vector):
                return vector
            vector = better

    def _perturbed(self, vector: Vector) -> Vector:
        """The string with one to three of its attributes, if it has so many to choose from, at higher levels."""
        movable = [index for index, levels in enumerate(self.choices) if vector[index] < levels[-1]]
        count = 1 + int(self._random.random() * min(3, len(movable)))
        picked = sorted(movable, key=lambda index: self._random.random())[:count]
        higher = list(vector)
        for index in picked:
            above = [level for level in self.choices[index] if level > vector[index]]
            higher[index] = above[int(self._random.random() * len(above))]
        return tuple(higher)
