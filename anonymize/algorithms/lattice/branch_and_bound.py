"""Branch and bound over generalization strings, attribute by attribute, the best of fewer attributes bounding that of
more.

An attribute's gain at a level is what its research value is above that at the root. The best string of the last
attributes alone (the others at their roots) bounds what these can add to any string, so the problem is solved for the
last attribute, then for the last two, and so on: each solution is inside of the next, as Russian dolls are. A branch
ends where its string is ruled out, where the table of its subset says so without a look at the rows, or where its
gain and that bound together are not above the best.

Source: Verfaillie, Lemaitre, Schiex, Russian doll search for solving constraint optimization problems, AAAI 1996.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from anonymize.algorithms.lattice import Vector
from anonymize.algorithms.lattice.frontiers import Frontier, StringClasses, StringClassifier
from anonymize.records import dataclass

GAIN_TOLERANCE = 1e-12
"""Gains that differ by no more are equal."""

Partial = tuple[tuple[int, int], ...]
"""Attributes with their levels, in the order of the search; the others are at their roots."""


@dataclass(frozen=True)
class Gains:
    """What is searched. `order`: the attributes, the first one outermost. `choices`: per attribute its levels below the
    root that may be safe, ascending. `of`: per attribute, the gain of each of its levels; none has more than one below
    it."""

    order: Sequence[int]
    choices: Sequence[Sequence[int]]
    of: Sequence[Sequence[float]]

    def most(self, index: int) -> float:
        """The most that an attribute can gain."""
        return max([0.0, *(self.of[index][level] for level in self.choices[index][:1])])

    def total(self, partial: Partial) -> float:
        """The gain of a string."""
        return sum(self.of[index][level] for index, level in partial)


class SearchBranch(NamedTuple):
    """A part of one subproblem's search. `partial`: where it begins. `place`: the next attribute of the order. `floor`:
    the gain that is to be exceeded. `bounds` (places + 1,): what the attributes from a place on can gain at the most.
    `safe`: whether a string has to be safe to count; else one that is not ruled out will do. `work`: refinements after
    which it stops. `until`: the time at which it stops; 0 for none."""

    partial: Partial
    place: int
    floor: float
    bounds: tuple[float, ...]
    safe: bool
    work: int
    until: float


class Outcome(NamedTuple):
    """What came of a branch. `best`: the best string with a gain above the floor, None where there is none. `work`:
    refinements. `complete`: whether nothing was left out."""

    best: Partial | None
    gain: float
    work: int
    complete: bool


class Diver:
    """Searches branches, depth first. `frontiers`: tables of subsets, which know some ruled out strings beforehand."""

    def __init__(self, classifier: StringClassifier, gains: Gains, frontiers: Sequence[Frontier] = ()) -> None:
        self.classifier, self.gains, self.frontiers = classifier, gains, frontiers
        self.refinements = 0
        self._judge, self._top = classifier.judge(), classifier.heights
        self._moves = {
            (index, level): (number, each.offset(index, level))
            for number, each in enumerate(frontiers)
            for index in each.attributes
            for level in range(self._top[index])
        }

    def dive(self, branch: SearchBranch) -> Outcome:
        """The best string of a branch."""
        run, before = _Dive(self, branch, self.refinements), self.refinements
        gain = self.gains.total(branch.partial)
        if gain + branch.bounds[branch.place] <= branch.floor + GAIN_TOLERANCE:
            return Outcome(None, branch.floor, 0, True)
        classes: StringClasses | None = self.classifier.whole()
        places = [each.start for each in self.frontiers]
        for index, level in branch.partial:
            classes = None if classes is None else self.step(classes, index, level, places)
        if classes is not None and self.possible(branch.partial):
            run.visit(branch.place, classes, list(branch.partial), gain, places)
        return Outcome(run.best, run.floor, self.refinements - before, not run.stopped)

    def step(self, classes: StringClasses, index: int, level: int, places: list[int]) -> StringClasses | None:
        """One attribute down to a level; None where a table or sizes alone say that this is ruled out. Moves `places`,
        the string's number in each table."""
        if self.frontiers:
            number, offset = self._moves[index, level]
            places[number] += offset
            if not self.frontiers[number].possible[places[number]]:
                return None
        self.refinements += 1
        return self.classifier.refined(classes, index, level)

    def back(self, index: int, level: int, places: list[int]) -> None:
        """Undoes the move of `step`."""
        if self.frontiers:
            number, offset = self._moves[index, level]
            places[number] -= offset

    def possible(self, partial: Partial) -> bool:
        """Whether a string is not ruled out, given that its classes are not too small."""
        return self._judge is None or not self._judge.check(self._vector(partial)).ruled_out

    def accepts(self, partial: Partial, safe: bool) -> bool:
        """Whether a string that is possible counts."""
        return not safe or self._judge is None or self._judge.check(self._vector(partial)).safe

    def _vector(self, partial: Partial) -> Vector:
        vector = list(self._top)
        for index, level in partial:
            vector[index] = level
        return tuple(vector)


class _Dive:
    """One branch while it is searched; `before`: refinements until now."""

    def __init__(self, diver: Diver, branch: SearchBranch, before: int) -> None:
        self.diver, self.branch = diver, branch
        self.floor, self.stopped = branch.floor, False
        self.best: Partial | None = None
        self._last = before + branch.work
        self._looks = 0

    def visit(
        self, place: int, classes: StringClasses, partial: list[tuple[int, int]], gain: float, places: list[int]
    ) -> None:
        """All strings that go on from one that is possible, with attributes from a place of the order on."""
        if gain > self.floor + GAIN_TOLERANCE and self.diver.accepts(tuple(partial), self.branch.safe):
            self.floor, self.best = gain, tuple(partial)
        for index, level, position in self._steps(place, gain):
            if self._out():
                return
            finer = self.diver.step(classes, index, level, places)
            if finer is not None:
                partial.append((index, level))
                if self.diver.possible(tuple(partial)):
                    self.visit(position + 1, finer, partial, gain + self.diver.gains.of[index][level], places)
                partial.pop()
            self.diver.back(index, level, places)

    def _steps(self, place: int, gain: float) -> Iterator[tuple[int, int, int]]:
        """The next attributes to come down, with their levels and places, as long as that can exceed the floor.

        The bounds fall from place to place: where one of them leaves nothing to gain, none after it does.
        """
        gains, bounds = self.diver.gains, self.branch.bounds
        for position in range(place, len(gains.order)):
            if gain + bounds[position] <= self.floor + GAIN_TOLERANCE:
                return
            index = gains.order[position]
            for level in gains.choices[index]:
                if gain + gains.of[index][level] + bounds[position + 1] <= self.floor + GAIN_TOLERANCE:
                    break
                yield index, level, position

    def _out(self) -> bool:
        """Whether to stop: all work is done that may be, or time is up."""
        self._looks += 1
        late = self.branch.until and self._looks % 64 == 0 and time.time() > self.branch.until
        self.stopped = self.stopped or self.diver.refinements >= self._last or bool(late)
        return self.stopped
