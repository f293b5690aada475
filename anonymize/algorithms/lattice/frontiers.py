"""Strings of some attributes, the others at the top of the lattice, judged while they are built attribute by attribute.

Such a string is a node of the lattice like any other, and every string that has its levels in those attributes is at
or below it: where it is ruled out, so are they. Adding an attribute parts the classes that there are; nothing is
sorted. Rows of classes that are too small for every model are counted at once; only where they are no more than may
be suppressed is the judge of nodes asked, unless size is all that is required.

A table of all strings of a few attributes says which of them are ruled out, and has the frontier of minimal ones that
are not: whole parts of the lattice are settled without a look at the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.lattice import FrequencySet, HierarchyLevels, Vector
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.classes import Bools, Floats, Ints, KeyGroups, mixed_radix
from anonymize.domain.generalization import Generalization
from anonymize.privacy import Requirement
from anonymize.records import dataclass
from anonymize.spec.base import Means
from anonymize.table import Attribute, Table


class StringClasses(NamedTuple):
    """The distinct rows as a string shows them. `group` (m,): the class of each. `classes`: how many there are."""

    group: Ints
    classes: int


@dataclass(frozen=True)
class StringClassifier:
    """What judges strings. Can be sent to another process.

    `heights`: the highest level of each attribute. `columns`: per attribute and level (m,) the node that each distinct
    row shows. `sizes`: nodes of each level. `counts` (m,): rows that each distinct row stands for, None where that is
    one. `minimum`: the fewest rows of a class that meets the requirements. `limit`: rows that may be suppressed.
    `bottom`: what the judge of nodes is made of, None where size is all that is required.
    """

    heights: Vector
    columns: Sequence[Sequence[NDArray[np.int64]]]
    sizes: Sequence[Sequence[int]]
    counts: Floats | None
    rows: int
    minimum: int
    limit: int
    bottom: FrequencySet | None
    requirements: tuple[Requirement, ...]
    table: Table

    @classmethod
    def of(cls, checker: Checker) -> StringClassifier:
        """The classifier of a checker's table."""
        bottom, requirements = checker.bottom, checker.requirements
        counts = bottom.counts.astype(np.float64)
        sized = checker.table.units is None and all(_is_size(each) for each in requirements)
        return cls(
            checker.lattice.top,
            [_columns(hierarchy, column) for hierarchy, column in zip(bottom.hierarchies, bottom.columns, strict=True)],
            [hierarchy.sizes for hierarchy in bottom.hierarchies],
            None if (counts == 1).all() else counts,
            checker.rows,
            _fewest(requirements),
            checker.suppression_limit,
            None if sized else _bare(bottom),
            requirements,
            replace(checker.table, attributes=(), sensitive=(), targets=(), source=_nothing()),
        )

    @property
    def distinct(self) -> int:
        """Distinct rows: what a refinement reads."""
        return len(self.columns[0][0])

    def whole(self) -> StringClasses:
        """Every attribute at its highest level. That is seldom another one than the root, which parts nothing."""
        keys, span = mixed_radix(
            [columns[level] for columns, level in zip(self.columns, self.heights, strict=True)],
            [sizes[level] for sizes, level in zip(self.sizes, self.heights, strict=True)],
        )
        grouping = KeyGroups.of(keys, span)
        return StringClasses(grouping.group, len(grouping.starts))

    def refined(self, classes: StringClasses, index: int, level: int) -> StringClasses | None:
        """The classes once an attribute has come down to a level; None where too many rows are in ones too small.

        A class is numbered by its old class and the new node, so that one `bincount` finds all sizes; the numbers in
        use are then made consecutive, which keeps them small.
        """
        size = self.sizes[index][level]
        keys = classes.group * size + self.columns[index][level]
        rows = np.bincount(keys, self.counts, minlength=classes.classes * size)
        lost = int(rows[rows < self.minimum].sum())
        if lost > self.limit or lost == self.rows:
            return None
        numbers = np.cumsum(rows > 0) - 1
        return StringClasses(numbers[keys], int(numbers[-1]) + 1)

    def judge(self) -> Checker | None:
        """A judge of nodes, where size is not all."""
        if self.bottom is None:
            return None
        return Checker.over(self.table, self.bottom, self.requirements, self.limit)


def _fewest(requirements: tuple[Requirement, ...]) -> int:
    """The rows that every class has to have at the least, by k-anonymity: a class of fewer rows has fewer units too."""
    return max([1, *(int(each.parameters.given(Means.PEOPLE)) for each in requirements if _is_size(each))])


def _is_size(requirement: Requirement) -> bool:
    return requirement.model == "k-anonymity" and requirement.population is None


def _columns(hierarchy: HierarchyLevels, column: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    return [hierarchy.step(0, level)[column].astype(np.int64) for level in range(hierarchy.height + 1)]


def _bare(bottom: FrequencySet) -> FrequencySet:
    """A frequency set that can be sent to a process: without codes of rows, and with all that is made on demand
    made."""
    return replace(
        bottom,
        hierarchies=tuple(
            replace(hierarchy, attribute=_materialized(hierarchy.attribute)) for hierarchy in bottom.hierarchies
        ),
    )


def _materialized(attribute: Attribute) -> Attribute:
    """An attribute whose hierarchy has been made."""
    generalize = partial(_same, attribute.generalization)
    return replace(attribute, codes=attribute.codes[:0], rules=(), generalize=generalize, categorize=None)


def _same(generalization: Generalization) -> Generalization:
    return generalization


def _nothing() -> Any:
    """In place of a source, which the judge does not look at."""
    return None


# --- all strings of a few attributes ----------------------------------------------------------------------------------

REFINEMENTS = 100_000
"""Refinements of a subset at the most; strings that are not looked at then count as possible."""


@dataclass(frozen=True)
class Frontier:
    """The strings of some attributes by number: levels in mixed radix, the last attribute fastest.

    `possible` (strings,): not ruled out. `minimal`: how many of these have only ruled out ones directly below them.
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
    """Fills the table, depth first: where a level is ruled out beside the levels so far, so are all below it."""

    def __init__(
        self, classifier: StringClassifier, attributes: Sequence[int], choices: Sequence[Sequence[int]]
    ) -> None:
        self.classifier, self.attributes, self.choices = classifier, list(attributes), choices
        self.judge: Checker | None = classifier.judge()
        self.vector = list(classifier.heights)
        self.possible: Bools = np.zeros([classifier.heights[index] + 1 for index in attributes], np.bool_)
        self.work = 0

    def fill(self, place: int, classes: StringClasses) -> None:
        """All strings that go on from one that is possible, from an attribute on."""
        if self.work >= REFINEMENTS:
            self.possible[self._rest(place)] = True
            return
        self.possible[self._here] = True
        for position in range(place, len(self.attributes)):
            index = self.attributes[position]
            for level in reversed(self.choices[index]):
                self.work += 1
                finer = self.classifier.refined(classes, index, level)
                self.vector[index] = level
                if finer is None or self._ruled_out():
                    break
                self.fill(position + 1, finer)
            self.vector[index] = self.classifier.heights[index]

    @property
    def _here(self) -> Vector:
        return tuple(self.vector[index] for index in self.attributes)

    def _rest(self, place: int) -> tuple[int | slice, ...]:
        """This string and all below it in the attributes from a place on."""
        return tuple(level if position < place else slice(None) for position, level in enumerate(self._here))

    def _ruled_out(self) -> bool:
        return self.judge is not None and self.judge.check(tuple(self.vector)).ruled_out


def frontier(classifier: StringClassifier, attributes: Sequence[int], choices: Sequence[Sequence[int]]) -> Frontier:
    """The frontier of some attributes, the others at their roots. `choices`: per attribute of the table its levels
    below the root that may be safe, ascending."""
    table = _Table(classifier, attributes, choices)
    table.fill(0, classifier.whole())
    return Frontier(
        tuple(attributes),
        tuple(classifier.heights[index] for index in attributes),
        table.possible.tobytes(),
        int(np.count_nonzero(_minimal(table.possible))),
        table.work < REFINEMENTS,
        table.work,
    )


def _minimal(possible: Bools) -> Bools:
    """The possible strings that have no possible one directly below them."""
    minimal = possible.copy()
    for axis in range(possible.ndim):
        above = tuple(slice(1, None) if each == axis else slice(None) for each in range(possible.ndim))
        below = tuple(slice(None, -1) if each == axis else slice(None) for each in range(possible.ndim))
        minimal[above] &= ~possible[below]
    return minimal
