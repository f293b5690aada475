"""Frequency sets: the distinct combinations of quasi-identifiers at a node of the lattice, and how many rows each has.

The set of a node follows from that of any node below it, without a look at the rows: the roll-up property. Where
several rows may be about one unit, counts of units do not add up; pairs of a distinct row and a unit do, once those
that have become the same are dropped, so the set has these as well.

Source: LeFevre, DeWitt, Ramakrishnan, Incognito: efficient full-domain k-anonymity, SIGMOD 2005, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.lattice.ladders import Ladder, Ordinals
from anonymize.algorithms.lattice.lattice import Vector
from anonymize.classes import Bools, Integers, Ints, run_starts
from anonymize.privacy import Crowd, Groups, Histogram, Members, Requirement, Whole
from anonymize.table import SensitiveColumn, Table
from anonymize.table.population import Population


@dataclass(frozen=True)
class Grouping:
    """Equal keys put together. `order` (n,): positions group by group. `starts` (groups,): where each begins in it."""

    order: Ints
    starts: Ints

    @classmethod
    def of(cls, keys: Ints, span: int) -> Grouping:
        """Of keys (n,) below `span`, groups in ascending order of their keys, positions ascending within a group.

        Sorted as numbers that hold key and position where 63 bits are enough, which is the faster sort.
        """
        bits = max(len(keys) - 1, 1).bit_length()
        if span.bit_length() + bits > 63:
            order = np.argsort(keys, kind="stable")
            return cls(order, run_starts(keys[order]))
        packed = (keys << bits) | np.arange(len(keys))
        packed.sort()
        order = packed & ((1 << bits) - 1)
        packed >>= bits
        return cls(order, run_starts(packed))

    @property
    def first(self) -> Ints:
        """(groups,) position of a member of each group."""
        return self.order[self.starts]

    @cached_property
    def group(self) -> Ints:
        """(n,) which group each position is in."""
        sizes = np.diff(self.starts, append=len(self.order))
        group = np.empty(len(self.order), np.int64)
        group[self.order] = np.repeat(np.arange(len(self.starts)), sizes)
        return group


def mixed_radix(columns: Sequence[Integers], sizes: Sequence[int]) -> tuple[Ints, int]:
    """(n,) a number for each combination of the columns, and what all are below; renumbered where 63 bits are short."""
    keys, span = np.zeros(len(columns[0]) if columns else 0, np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if size == 1:
            continue
        if span * size >= 2**62:
            keys, span = np.unique(keys, return_inverse=True)[1].astype(np.int64), len(keys)
        keys *= size
        keys += column
        span *= size
    return keys, span


def histograms_of(
    table: Table,
    requirements: tuple[Requirement, ...],
    group: Ints,
    count: int,
    rows: NDArray[np.uint32] | None,
) -> dict[str, Histogram]:
    """Of the sensitive attributes that requirements look at, in `count` groups: the group (n,) of each of the rows, by
    default all. These are what distributions are compared with. None where rows are about units (see `members_of`)."""
    picked = slice(None) if rows is None else rows
    return {
        column.name: Histogram.of(column, group, count, column.codes[picked], Whole.of(column, rows))
        for column in _looked_at(table, requirements)
        if table.units is None
    }


def members_of(
    table: Table,
    requirements: tuple[Requirement, ...],
    group: Ints,
    count: int,
    rows: NDArray[np.uint32] | None,
) -> Members | None:
    """Whom the groups are about, in place of `histograms_of`; None where each row is about somebody else."""
    if table.units is None:
        return None
    return Members.of_rows(_looked_at(table, requirements), group, count, table.units, rows)


def _looked_at(table: Table, requirements: tuple[Requirement, ...]) -> list[SensitiveColumn]:
    asked = {requirement.attribute for requirement in requirements}
    return [column for column in table.sensitive if column.name in asked]


@dataclass(frozen=True)
class FrequencySet:
    """The distinct rows of a table at one node.

    `vector`: the node. `columns`: per attribute (m,) the ordinal number of the node that each distinct row shows, among
    those of its level. `counts` (m,) rows each stands for. `histograms`: of the sensitive attributes that requirements
    look at; a class is a distinct row. `ladders`: of the attributes. `populations`: those that requirements name.
    `members`: whom the distinct rows are about, where the table says so; then there are no histograms beside it.
    """

    vector: Vector
    columns: tuple[Ordinals, ...]
    counts: Ints
    histograms: Mapping[str, Histogram]
    ladders: tuple[Ladder, ...]
    populations: Mapping[str, Population] = field(default_factory=dict)
    members: Members | None = None

    @classmethod
    def of_table(
        cls, table: Table, requirements: tuple[Requirement, ...], rows: NDArray[np.uint32] | None = None
    ) -> FrequencySet:
        """At the bottom, the values themselves, of all rows or of some."""
        return cls.with_classes(table, requirements, rows)[0]

    @classmethod
    def with_classes(
        cls, table: Table, requirements: tuple[Requirement, ...], rows: NDArray[np.uint32] | None = None
    ) -> tuple[FrequencySet, Ints]:
        """As `of_table`, and (rows,) which distinct row each row is."""
        ladders = tuple(Ladder.of(attribute) for attribute in table.attributes)
        picked: slice | NDArray[np.uint32] = slice(None) if rows is None else rows
        codes = [attribute.codes[picked] for attribute in table.attributes]
        leaves = [ladder.leaf_of(code).astype(np.int32) for ladder, code in zip(ladders, codes, strict=True)]
        grouping = Grouping.of(*mixed_radix(leaves, [ladder.sizes[0] for ladder in ladders]))
        first, count = grouping.first, len(grouping.starts)
        group = grouping.group
        histograms = histograms_of(table, requirements, group, count, rows)
        counts = np.diff(grouping.starts, append=len(group))
        members = members_of(table, requirements, group, count, rows)
        columns = tuple(leaf[first] for leaf in leaves)
        return cls((0,) * len(ladders), columns, counts, histograms, ladders, table.populations, members), group

    @property
    def size(self) -> int:
        """Number of distinct rows."""
        return len(self.counts)

    def groups(self) -> Groups:
        """The distinct rows as the privacy models see them."""
        crowds = {path: self._crowd(population) for path, population in self.populations.items()}
        if self.members is not None:
            return replace(self.members.groups(), crowds=crowds)
        return Groups(self.counts, self.histograms, crowds)

    def _crowd(self, population: Population) -> Crowd:
        """How many people of a population are at the nodes of each distinct row."""
        own, theirs, sizes = [], [], []
        for axis, ladder, level, ordinals in zip(population.axes, self.ladders, self.vector, self.columns, strict=True):
            own.append(axis.at_level(level, axis.leaf_of(ladder.first(level)))[ordinals])
            theirs.append(axis.at_level(level, axis.leaves))
            sizes.append(len(axis.wide.hierarchy.labels))
        both = [np.concatenate(pair).astype(np.int32) for pair in zip(own, theirs, strict=True)]
        keys = np.unique(mixed_radix(both, sizes)[0], return_inverse=True)[1]
        people = np.zeros(int(keys.max(initial=-1)) + 1, np.int64)
        np.add.at(people, keys[self.size :], population.counts)
        return Crowd(people[keys[: self.size]], population.total)

    def roll_up(self, vector: Vector) -> FrequencySet:
        """The frequency set of a node that is not below this one's."""
        return self._at(vector, *self.grouping(vector))

    def rolled(self, vector: Vector) -> tuple[FrequencySet, Ints]:
        """As `roll_up`, and (m,) which distinct row of the new set each of this one became part of."""
        grouping, columns = self.grouping(vector)
        return self._at(vector, grouping, columns), grouping.group

    def subset(self, kept: Bools) -> FrequencySet:
        """The frequency set of the rows that are behind some of the distinct rows alone."""
        histograms = {name: histogram.subset(kept) for name, histogram in self.histograms.items()}
        columns = tuple(column[kept] for column in self.columns)
        members = None if self.members is None else self.members.subset(kept)
        return replace(self, columns=columns, counts=self.counts[kept], histograms=histograms, members=members)

    def restrict(self, attributes: Sequence[int]) -> FrequencySet:
        """The frequency set of some of the attributes alone, at their levels."""
        columns = [self.columns[index] for index in attributes]
        ladders = tuple(self.ladders[index] for index in attributes)
        vector = tuple(self.vector[index] for index in attributes)
        sizes = [ladder.sizes[level] for ladder, level in zip(ladders, vector, strict=True)]
        grouping = Grouping.of(*mixed_radix(columns, sizes))
        populations = {path: each.restricted(attributes) for path, each in self.populations.items()}
        return replace(self, ladders=ladders, populations=populations)._at(vector, grouping, columns)

    def grouping(self, vector: Vector) -> tuple[Grouping, list[Ordinals]]:
        """How the distinct rows come together at a node, and (m,) per attribute the ordinals there."""
        columns = [
            column if low == high else ladder.step(low, high)[column]
            for column, ladder, low, high in zip(self.columns, self.ladders, self.vector, vector, strict=True)
        ]
        sizes = [ladder.sizes[level] for ladder, level in zip(self.ladders, vector, strict=True)]
        return Grouping.of(*mixed_radix(columns, sizes)), columns

    def _at(self, vector: Vector, grouping: Grouping, columns: Sequence[Ordinals]) -> FrequencySet:
        """The distinct rows put together; `columns`: the ordinals of each before that."""
        first = grouping.first
        counts = np.add.reduceat(self.counts[grouping.order], grouping.starts)
        histograms = {}
        if self.histograms:
            group, count = grouping.group, len(grouping.starts)
            histograms = {name: histogram.merge(group, count) for name, histogram in self.histograms.items()}
        members = None if self.members is None else self.members.merge(grouping.group, len(grouping.starts))
        shown = tuple(column[first] for column in columns)
        return replace(self, vector=vector, columns=shown, counts=counts, histograms=histograms, members=members)
