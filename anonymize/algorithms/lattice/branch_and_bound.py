"""Branch and bound over generalization strings, attribute by attribute, the best of fewer attributes bounding that of
more.

An attribute's gain at a level is what its research value is above that at the top. The best string of the last
attributes alone (the others at the top) bounds what these can add to any string, so the problem is solved for the last
attribute, then for the last two, and so on: each solution is inside of the next, as Russian dolls are. A branch ends
where its string is ruled out, or where its gain and that bound together are not above the best. The attributes that can
gain most come first.

Such a string is a node of the lattice like any other, and every string that has its levels in those attributes is at
or below it: where it is ruled out, so are they. Adding an attribute splits the classes that there are; nothing is
sorted. Rows of classes that are too small for every model are counted at once; only where they are no more than may be
suppressed is the checker asked, unless size is all that is required.

Source: Verfaillie, Lemaitre, Schiex, Russian doll search for solving constraint optimization problems, AAAI 1996.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from anonymize.algorithms.deadline import Deadline
from anonymize.algorithms.lattice import Vector
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.strings import StringSearch
from anonymize.classes import Floats, Ints, KeyGroups, mixed_radix
from anonymize.privacy import Requirement
from anonymize.spec.base import Means

GAIN_TOLERANCE = 1e-12
"""Gains that differ by no more are equal."""
SUBSET_STRINGS = 1 << 12
"""Strings of a subset of the attributes that is searched by itself, at most."""


class StringClasses(NamedTuple):
    """The distinct rows as a string shows them. `group` (m,): the class of each. `classes`: how many there are."""

    group: Ints
    classes: int


class StringClassifier:
    """What strings make of the distinct rows of a checker. `sized`: whether the size of classes is all that is
    required."""

    def __init__(self, checker: Checker) -> None:
        bottom, requirements, self.checker = checker.bottom, checker.requirements, checker
        self.sized = checker.table.units is None and all(map(_is_size, requirements))
        people = [int(each.parameters.given(Means.PEOPLE)) for each in requirements if _is_size(each)]
        self._minimum = max([1, *people])  # a class of fewer rows has fewer units too
        self._counts: Floats | None = None if (bottom.counts == 1).all() else bottom.counts.astype(np.float64)
        self._sizes = [hierarchy.sizes for hierarchy in bottom.hierarchies]
        self._columns: list[list[Ints]] = [
            [hierarchy.step(0, level)[column].astype(np.int64) for level in range(hierarchy.height + 1)]
            for hierarchy, column in zip(bottom.hierarchies, bottom.columns, strict=True)
        ]

    @cached_property
    def whole(self) -> StringClasses:
        """The classes at the top of the lattice, which is seldom another than the roots, where there is one."""
        top = self.checker.lattice.top
        columns = [of_level[level] for of_level, level in zip(self._columns, top, strict=True)]
        sizes = [of_level[level] for of_level, level in zip(self._sizes, top, strict=True)]
        grouping = KeyGroups.of(*mixed_radix(columns, sizes))
        return StringClasses(grouping.group, len(grouping.starts))

    def refined(self, classes: StringClasses, index: int, level: int) -> StringClasses | None:
        """The classes once an attribute has come down to a level; None where too many rows are in ones too small.

        A class is numbered by its old class and the new node, so that one `bincount` finds all sizes; the numbers in
        use are then made consecutive, which keeps them small.
        """
        size = self._sizes[index][level]
        keys = classes.group * size + self._columns[index][level]
        rows = np.bincount(keys, self._counts, minlength=classes.classes * size)
        lost = int(rows[rows < self._minimum].sum())
        if lost > self.checker.suppression_limit or lost == self.checker.rows:
            return None
        numbers = np.cumsum(rows > 0) - 1
        return StringClasses(numbers[keys], int(numbers[-1]) + 1)

    def ruled_out(self, vector: Vector) -> bool:
        """Whether a string is ruled out whose classes are not too small."""
        return not self.sized and self.checker.check(vector).ruled_out

    def safe(self, vector: Vector) -> bool:
        """Whether such a string is safe."""
        return self.sized or self.checker.check(vector).safe


def _is_size(requirement: Requirement) -> bool:
    return requirement.model == "k-anonymity" and requirement.population is None


class BranchAndBound:
    """The search over the strings of `choices`, ascending levels of each attribute that has any.

    What it meets is noted in `strings`, whose best success so far is where it begins, and whose bound it lowers.
    `work`: strings that it looks at, at most.
    """

    def __init__(
        self,
        checker: Checker,
        strings: StringSearch,
        choices: Sequence[Sequence[int]],
        work: float,
        deadline: Deadline,
    ) -> None:
        self.checker, self.strings, self.work, self.deadline = checker, strings, work, deadline
        self.looked_at, self.proved = 0, False
        self._top, self._classifier = checker.lattice.top, StringClassifier(checker)
        pairs = list(zip(strings.values, choices, self._top, strict=True))
        self._gains: list[list[float]] = [(values - values[top]).tolist() for values, _, top in pairs]
        self._lower = [[level for level in levels if level < top] for _, levels, top in pairs]
        self._best, self._gain = self._top, -np.inf

    def run(self) -> None:
        """Searches, from the best string that is known or from the top of the lattice where that is safe, until the
        best string is proved or a limit is reached."""
        for vector in self.strings.successes[:1] or [self._top]:
            self._offer(vector)
        order = sorted(range(len(self._top)), key=lambda index: (-self._most(index), index))
        before = self._before(order)
        for place in self._nested(order):
            self._report(place, self._bounds[place] + before[place])
        self.proved = all(self._solved(place, self._gain, safe=True) for place in range(len(order)))
        if self.proved:
            self._report(0, self._gain)

    @property
    def account(self) -> dict[str, Any]:
        """For the report."""
        return {"optimal": self.proved, "strings_looked_at": self.looked_at}

    def _before(self, order: Sequence[int]) -> list[float]:
        """(attributes + 1,) what the attributes before each place of the order can gain at the most: where they are
        many, by solving the problem for subsets of them."""
        subsets, before = list(self._subsets(order)), [0.0]
        if len(subsets) < 2:
            return list(accumulate(map(self._most, order), initial=0.0))
        for subset in subsets:
            list(self._nested(subset[::-1]))
            before += [before[-1] + bound for bound in self._bounds[-2::-1]]
        return before

    def _subsets(self, order: Sequence[int]) -> Iterator[list[int]]:
        """Consecutive attributes of the order that have no more than `SUBSET_STRINGS` strings, or one attribute."""
        subset: list[int] = []
        for index in order:
            if subset and math.prod(len(self._lower[each]) + 1 for each in [*subset, index]) > SUBSET_STRINGS:
                yield subset
                subset = []
            subset.append(index)
        yield subset

    def _nested(self, order: Sequence[int]) -> Iterator[int]:
        """What the last attribute of an order can gain at the most, the last two, and so on, by strings that are not
        ruled out: the places from which on that is known, one after the other. Each bounds the next. Where a limit is
        reached, less is known."""
        self._order, self._bounds = order, [0.0] * (len(order) + 1)
        for place in reversed(range(len(order))):
            after = self._bounds[place + 1]
            self._bounds[place] = after + self._most(order[place])
            if self._solved(place, max(after, self._gained(self._best, place)), safe=False):
                self._bounds[place] = self._floor
            yield place

    def _solved(self, place: int, floor: float, *, safe: bool) -> bool:
        """Looks for the best string, and one that gains more than the floor, among those in which the attribute at a
        place of the order is the first one below its top; `safe`: it has to be safe, else one that is not ruled out
        will do. Whether the search came to its end."""
        self._safe, self._floor = safe, floor
        self._above_floor: list[Vector] = []  # each gains more than the one before
        ended = self._visited([place], self._classifier.whole, self._top, 0.0)
        if self._above_floor and self._floor > self._gain + GAIN_TOLERANCE:
            self._offer(self._above_floor[-1])
        return ended

    def _visited(self, places: Sequence[int], classes: StringClasses, vector: Vector, gain: float) -> bool:
        """Goes through all strings that follow from one by attributes at later places coming down, the first of them
        at one of these places. Whether it came to an end.

        The bounds fall from place to place: where one of them leaves nothing to gain, none after it does.
        """
        for place in places:
            if gain + self._bounds[place] <= self._floor + GAIN_TOLERANCE:
                break
            index = self._order[place]
            for level in self._lower[index]:
                more = gain + self._gains[index][level]
                if more + self._bounds[place + 1] <= self._floor + GAIN_TOLERANCE:
                    break
                if self.looked_at >= self.work or self.deadline.passed:
                    return False
                self.looked_at += 1
                finer = self._classifier.refined(classes, index, level)
                lower = (*vector[:index], level, *vector[index + 1 :])
                if finer is None or self._classifier.ruled_out(lower):
                    continue
                if more > self._floor + GAIN_TOLERANCE and (not self._safe or self._classifier.safe(lower)):
                    self._floor = more
                    self._above_floor.append(lower)
                if not self._visited(range(place + 1, len(self._order)), finer, lower, more):
                    return False
        return True

    def _offer(self, vector: Vector) -> None:
        """A string that gains more than the best one; it is the best one if it is safe."""
        if self.strings.check(vector).safe:
            self._best, self._gain = vector, sum(of[level] for of, level in zip(self._gains, vector, strict=True))

    def _most(self, index: int) -> float:
        return max([0.0, *(self._gains[index][level] for level in self._lower[index][:1])])

    def _gained(self, vector: Vector, place: int) -> float:
        """The gain of a string by the attributes from a place of the order on alone."""
        return sum(self._gains[index][vector[index]] for index in self._order[place:])

    def _report(self, place: int, bound: float) -> None:
        """Notes what all attributes can gain at the most. The further the subproblems are, the more is settled."""
        total = sum(float(values[top]) for values, top in zip(self.strings.values, self._top, strict=True))
        self.strings.bound = min(self.strings.bound, total + max(bound, self._gain))
        count = len(self._top)
        self.checker.settled(self.checker.total * (count - place) // (count + 1))
