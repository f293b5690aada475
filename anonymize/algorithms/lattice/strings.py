"""Generalization strings: nodes of the lattice in the order of their research value, and the searches over them.

A string is a level vector; its research value is the sum of those of its attributes' levels, compared in 12 decimals so
that sums of the same figures are equal.

Source: Morton, Mahoui, Gibson, Yechuri, An enhanced utility-driven data anonymization method, section 5.3, figures 4
and 5.

**Local search** makes descents from many starts, to neighbours one step and several steps away. A descent takes, of all
attributes and levels that can come down alone, the safe one that gains most, as often as there is one. Neighbours of
the string so reached: each attribute goes back to its root, and the others descend first. When none of these is better,
some attributes go up by some steps, and a descent follows whose order is shuffled a little; where that has not helped
for a while, it starts at the root again. What is drawn is the same in every run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.lattice import Vector
from anonymize.algorithms.lattice.nodes import NodeCheck
from anonymize.classes import Floats
from anonymize.records import dataclass

Columns = NDArray[np.int16]
DECIMALS = 12


@dataclass(frozen=True)
class Strings:
    """A list of strings. `levels` (attributes, n) int16, `totals` (n,) their research values, ascending."""

    levels: Columns
    totals: Floats

    @classmethod
    def of(cls, levels: Columns, values: Sequence[Floats]) -> Strings:
        """These strings (attributes, n), given the research value (levels,) of each attribute's levels.

        Strings of equal research value stay in their order.
        """
        research_value = totals(levels, values)
        order = np.argsort(research_value, kind="stable")
        return cls(levels[:, order], research_value[order])

    def __len__(self) -> int:
        return len(self.totals)

    def ranked_at(self, share: float = 0.5) -> Vector:
        """The string that so many of the others are before, of two the upper one: by default the one in the middle."""
        return tuple(self.levels[:, int(len(self) * share)].tolist())

    def after(self, outcome: NodeCheck, total: float) -> Strings:
        """What is left to be looked at once a string, of this research value, has been checked.

        After a success, no string of lower research value, and none that is more general (at the same level or a higher
        one in every attribute). After a failure, none that is more specific, if failure carries over to them; otherwise
        only the string itself is dropped. More general strings have a lower or equal value and more specific ones a
        higher or equal value, so only the strings on that side are looked at.
        """
        first = int(np.searchsorted(self.totals, total, side="left"))
        last = int(np.searchsorted(self.totals, total, side="right"))
        if outcome.safe:
            return self._without(first, first, last, outcome.vector, np.greater_equal)
        if outcome.ruled_out:
            return self._without(0, first, len(self), outcome.vector, np.less_equal)
        return self._without(0, first, last, outcome.vector, np.equal)

    def _without(self, begin: int, first: int, last: int, vector: Vector, compare: np.ufunc) -> Strings:
        """The strings from `begin` on, without those of `first` to `last` that compare so with the vector
        throughout."""
        gone = np.ones(last - first, np.bool_)
        for levels, level in zip(self.levels[:, first:last], vector, strict=True):
            gone &= compare(levels, np.int16(level))
        pieces: list[Any] = [slice(begin, first), first + np.flatnonzero(~gone), slice(last, None)]
        return Strings(
            np.concatenate([self.levels[:, part] for part in pieces], axis=1),
            np.concatenate([self.totals[part] for part in pieces]),
        )


def totals(levels: Columns, values: Sequence[Floats]) -> Floats:
    """(n,) research value of each string (attributes, n)."""
    total = np.zeros(levels.shape[1])
    for column, of_level in zip(levels, values, strict=True):
        total += of_level[column]
    return np.round(total, DECIMALS)


def every_string(choices: Sequence[Sequence[int]]) -> Columns:
    """(attributes, n) all strings of these levels of each attribute, in lexicographic order."""
    grids = np.meshgrid(*(np.array(levels, np.int16) for levels in choices), indexing="ij", copy=False)
    return np.stack([grid.ravel() for grid in grids])


@dataclass
class StringSearch:
    """What the searches have in common.

    `values`: per attribute (levels,) the research values. `judge`: the check of a string. `report`: is given how many
    strings are left. `tested`: the outcome of every string that was checked, in order. `bound`: no string has a higher
    research value, as far as that is known.
    """

    values: Sequence[Floats]
    judge: Callable[[Vector], NodeCheck]
    report: Callable[[int], None] = lambda left: None
    tested: dict[Vector, NodeCheck] = field(default_factory=dict)
    bound: float = math.inf

    @property
    def successes(self) -> list[Vector]:
        """The safe strings that were met, the highest research value first, ties in lexicographic order."""
        safe = [vector for vector, outcome in self.tested.items() if outcome.safe]
        return sorted(safe, key=lambda vector: (-self.total(vector), vector))

    def total(self, vector: Vector) -> float:
        """The research value of a string."""
        return float(totals(np.array([vector], np.int16).T, self.values)[0])

    def check(self, vector: Vector) -> NodeCheck:
        """The outcome of a string, noted in `tested`."""
        if vector not in self.tested:
            self.tested[vector] = self.judge(vector)
        return self.tested[vector]

    def globally(self, levels: Columns, late: Callable[[], bool] = lambda: False, share: float = 0.5) -> None:
        """Global search: one of the strings that are left, by default the middle one, is checked until none is left, or
        it is `late`. `share`: of the strings that are left, those below the one that is checked.

        The best string is among the successes then, if any of the strings is safe. What was checked before counts.
        Where it is late before any success, the most general string is checked, and if that is not safe either, the
        search goes on to a success. `bound` is that of the strings which are left then.
        """
        strings = Strings.of(levels, self.values)
        for outcome in self.tested.values():
            strings = strings.after(outcome, self.total(outcome.vector))
        while len(strings):
            self.report(len(strings))
            self.bound = float(strings.totals[-1])
            if late() and (self.successes or self.check(tuple(strings.levels.max(axis=1).tolist())).safe):
                return
            outcome = self.check(strings.ranked_at(share))
            strings = strings.after(outcome, self.total(outcome.vector))
        self.bound = max((self.total(vector) for vector in self.successes[:1]), default=-math.inf)

    def locally(self, choices: Sequence[Sequence[int]]) -> None:
        """Local search: a binary search in every attribute at once, all of them up or all down.

        `choices` are the levels of each attribute, ascending. Positions count from the most general one. Of an
        attribute, `low` is the last position that was in a success, or the root; `high` is one that was in a failure,
        or one beyond the most specific. Ends when no attribute moves.
        """
        general = [list(reversed(levels)) for levels in choices]
        low, high = [0] * len(general), [len(levels) for levels in general]
        middle = [(a + b) // 2 for a, b in zip(low, high, strict=True)]
        while True:
            outcome = self.check(tuple(levels[position] for levels, position in zip(general, middle, strict=True)))
            low, high = (middle, high) if outcome.safe else (low, middle)
            moved = [(a + b) // 2 for a, b in zip(low, high, strict=True)]
            if moved == middle:
                return
            middle = moved


# --- local search -----------------------------------------------------------------------------------------------------

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
