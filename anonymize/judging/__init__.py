"""Rows in classes, measured against requirements: individuals, sensitive values and populations are counted here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Bools, Codes, Integers, Ints, KeyGroups, Runs, first_of_each, mixed_radix, run_starts
from anonymize.errors import DataError, Problem
from anonymize.judging.suppression import Suppression
from anonymize.privacy import Crowd, Groups, Histogram, Members, Requirement, Whole, check, weigh
from anonymize.privacy.histogram import Names, absent, values_of
from anonymize.records import dataclass
from anonymize.table import SensitiveColumn, Table
from anonymize.table.population import Population, PopulationAxis

__all__ = ["Extract", "Judge", "Suppression", "Tally", "crowd_of_nodes", "crowds_around", "withheld"]


# --- what is counted --------------------------------------------------------------------------------------------------
# Regions leave people between them, or overlap, so nobody counts as outside of them. Nodes of a level do neither.
#
# Classes that are made of whole cells are measured without looking at the rows again.


def crowds_around(
    populations: Mapping[str, Population], columns: Sequence[Codes], labels: Integers, count: int
) -> dict[str, Crowd]:
    """How many people of each population are within the region around each of `count` groups of rows.

    `columns`: the codes (n,) of each quasi-identifier, `labels` (n,) the group of each row. Nobody is within the region
    of a group that has no rows. Sorted by group, the rows of a group are one segment, so a single `reduceat` finds the
    ends of all regions.
    """
    if not populations:
        return {}
    order = np.argsort(labels, kind="stable")
    begins = run_starts(labels[order])
    arranged = [codes[order] for codes in columns]
    low = [np.minimum.reduceat(codes, begins).astype(np.int64) for codes in arranged]
    high = [np.maximum.reduceat(codes, begins).astype(np.int64) for codes in arranged]
    axes = next(iter(populations.values())).axes
    highest = [_highest(axis, codes, begins, last) for axis, codes, last in zip(axes, arranged, high, strict=True)]
    crowds = {}
    for path, population in populations.items():
        matched = np.zeros(count, np.int64)
        matched[labels[order][begins]] = population.within(low, high, highest)
        crowds[path] = Crowd(matched, 0)
    return crowds


def _highest(axis: PopulationAxis, codes: Codes, begins: Ints, last: Ints) -> Ints:
    """The highest code of each group that is not missing, of numbers; of what is missing alone, or no number, the
    highest there is. `codes` (n,) group by group."""
    if not axis.numeric or axis.missing is None:
        return last
    present = np.where(codes == axis.missing, -1, codes.astype(np.int64))
    highest = np.maximum.reduceat(present, begins)
    return np.where(highest < 0, last, highest)


def crowd_of_nodes(population: Population, levels: Sequence[int], leaves: Sequence[Ints]) -> Crowd:
    """How many people are under the nodes that each of m cells shows.

    `levels`: that of each quasi-identifier; `leaves`: of each (m,) a leaf under the node of each cell.

    Cells and people are numbered together by the nodes that they show, so that a look-up by number takes the place of
    a join.
    """
    columns, sizes = [], []
    for axis, level, column_leaves in zip(population.axes, levels, leaves, strict=True):
        both = np.concatenate((axis.at_level(level, axis.leaf_of(column_leaves)), axis.at_level(level, axis.leaves)))
        columns.append(both)
        sizes.append(len(axis.wide.hierarchy.labels))
    keys = np.unique(mixed_radix(columns, sizes)[0], return_inverse=True)[1]
    cells = len(leaves[0]) if leaves else 0
    people = np.zeros(int(keys.max(initial=-1)) + 1, np.int64)
    np.add.at(people, keys[cells:], population.counts)
    return Crowd(people[keys[:cells]], population.total)


# --- cells of rows ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tally:
    """What m cells hold, as far as the requirements look at it.

    `counts` (m,): rows of each. `histograms`: by sensitive attribute. `members`: the individuals in the cells, where
    several rows may be about one; then there are no histograms. Counts of individuals do not add up, as one may be in
    two cells; pairs of a cell and an individual do, once those that have become equal are dropped.
    """

    requirements: Sequence[Requirement]
    counts: Ints
    histograms: Mapping[str, Histogram]
    members: Members | None = None

    @property
    def entries(self) -> int:
        """How many numbers this is made of, besides the counts."""
        members = 0 if self.members is None else self.members.entries
        return 3 * sum(len(histogram.codes) for histogram in self.histograms.values()) + members

    def groups(self) -> Groups:
        """The cells as the privacy models see them, each as a class."""
        return Groups(self.counts, self.histograms) if self.members is None else Groups.of_members(self.members)

    def meets(self, labels: Integers, count: int) -> Bools:
        """(count,) whether each class meets every requirement, given the class (m,) of each cell, below 0 for none."""
        return check(self.merge(labels, count).groups(), self.requirements)

    def sizes(self, labels: Integers, count: int) -> Ints:
        """(count,) individuals of each class, given the class (m,) of each cell, below 0 for none."""
        if self.members is not None:
            return self.members.units.merge(labels).counts(count)
        return self._rows(labels, count)

    def merge(self, labels: Integers, count: int) -> Tally:
        """What classes of cells hold, given the class (m,) of each cell, below 0 for none."""
        return self._in_classes(self._rows(labels, count), labels, count)

    def grouped(self, grouping: KeyGroups) -> Tally:
        """What groups of cells hold; no cell is left out."""
        counts = np.add.reduceat(self.counts[grouping.order], grouping.starts)
        if not self.histograms and self.members is None:
            return replace(self, counts=counts)
        return self._in_classes(counts, grouping.group, len(grouping.starts))

    def subset(self, mask: Bools) -> Tally:
        """Some of the cells (m,); what they are compared with stays."""
        histograms = {name: each.subset(mask) for name, each in self.histograms.items()}
        members = None if self.members is None else self.members.subset(mask)
        return replace(self, counts=self.counts[mask], histograms=histograms, members=members)

    def _rows(self, labels: Integers, count: int) -> Ints:
        within = labels >= 0
        return np.bincount(labels[within], self.counts[within], minlength=count).astype(np.int64)

    def _in_classes(self, counts: Ints, labels: Integers, count: int) -> Tally:
        histograms = {name: each.merge(labels, count) for name, each in self.histograms.items()}
        members = None if self.members is None else self.members.merge(labels, count)
        return replace(self, counts=counts, histograms=histograms, members=members)


# --- the question -----------------------------------------------------------------------------------------------------
# The answer to one question: do these rows, in these classes, meet the requirements?
#
# A `Judge` knows the table, the requirements and the rows that are to be released. It alone builds classes from rows,
# and so it alone counts the individuals that rows are about, their sensitive values, and the people of a population who
# look like them. Searches that work on distinct rows take a `Tally` from it once and ask the tally.

HINT = "a value that is protected and misspelt would not be protected: write it as the table does, or leave it out"


def check_protected(table: Table, requirements: Iterable[Requirement]) -> None:
    """Raises DataError for protected values that their column does not have; they are named, as the spec names them."""
    columns = {column.name: column for column in table.sensitive}
    lacking: dict[tuple[str, str], None] = {}
    for requirement in requirements:
        column, values = columns.get(requirement.attribute or ""), values_of(requirement.parameters)
        if column is not None and values is not None:
            lacking |= dict.fromkeys((column.name, value) for value in absent(occurring(column), values))
    refuse_absent(lacking)


def refuse_absent(lacking: Iterable[tuple[str, str]]) -> None:
    """Raises DataError for values, each with its sensitive attribute, if there are any."""
    messages = [f"{name}: the protected value {value!r} does not occur in it" for name, value in lacking]
    if messages:
        raise DataError([Problem(message, hint=HINT) for message in messages])


def occurring(column: SensitiveColumn) -> Names:
    """The values of a column, but the missing one, as they are compared with those of a spec."""
    present = [code for code in range(column.size) if code != column.missing]
    return column.values[present] if column.values is not None else [column.texts[code] for code in present]


# --- the judge --------------------------------------------------------------------------------------------------------


class Extract(Protocol):
    """Some rows of a table (n,), with their codes laid out in the same order."""

    @property
    def rows(self) -> Integers | slice:
        """Their numbers in the table."""

    @property
    def columns(self) -> Sequence[Codes]:
        """(n,) codes of each quasi-identifier."""

    @property
    def sensitive(self) -> Sequence[Codes]:
        """(n,) codes of each sensitive attribute that the judge looks at."""


@dataclass(frozen=True)
class Picked:
    """An `Extract` whose codes are read from the table when they are needed."""

    judge: Judge
    rows: Integers | slice

    @property
    def columns(self) -> list[Codes]:
        return [attribute.codes[self.rows] for attribute in self.judge.table.attributes]

    @property
    def sensitive(self) -> list[Codes]:
        return [column.codes[self.rows] for column in self.judge.columns]


@dataclass(frozen=True)
class Judge:
    """What the requirements say of classes of a table's rows.

    `rows`: those that are released together, with which the classes are compared; None for all rows of the table.
    """

    table: Table
    requirements: Sequence[Requirement]
    rows: NDArray[np.uint32] | None = None

    @cached_property
    def columns(self) -> tuple[SensitiveColumn, ...]:
        """The sensitive attributes that requirements are about."""
        names = {requirement.attribute for requirement in self.requirements}
        return tuple(column for column in self.table.sensitive if column.name in names)

    @cached_property
    def wholes(self) -> dict[str, Whole]:
        """The sensitive attributes in all rows that are released."""
        table = self.table
        return {column.name: Whole.of(column, self.rows, table.units, table.counts) for column in self.columns}

    @property
    def everyone(self) -> Picked:
        return self.pick(slice(None) if self.rows is None else self.rows)

    def pick(self, rows: Integers | slice) -> Picked:
        return Picked(self, rows)

    def meets(self, labels: Integers, count: int, among: Extract | None = None) -> Bools:
        """(count,) whether each class meets every requirement, given the class (n,) of each row.

        `among`: the rows; by default those that are released.
        """
        return check(self.groups(labels, count, among), self.requirements)

    def grants(self, labels: Integers, count: int) -> Bools:
        """(count,) which classes of the released rows meet the requirements, or fail only what the table as a whole
        meets."""
        return check(self.groups(labels, count), self.requirements, "granted")

    def groups(self, labels: Integers, count: int, among: Extract | None = None) -> Groups:
        """The classes as the privacy models see them."""
        extract = among or self.everyone
        groups = self._counted(labels, count, extract)
        if weigh(self.requirements):  # regions keep something, and nodes do not follow from rows: the least, nothing
            groups = replace(groups, kept=np.zeros(count))
        if not self.table.populations:
            return groups
        return replace(groups, crowds=crowds_around(self.table.populations, extract.columns, labels, count))

    def one_class(self) -> Groups:
        """All rows that are released as one class that shows nothing: everybody of a population is under it."""
        rows = self.table.rows if self.rows is None else len(self.rows)
        return self._counted(np.zeros(rows, np.int64), 1, self.everyone).as_root(self.table.people)

    def _counted(self, labels: Integers, count: int, extract: Extract) -> Groups:
        """The classes without populations."""
        individuals = None if self.table.units is None else self.table.units[extract.rows]
        counts = None if self.table.counts is None else self.table.counts[extract.rows]  # rows that each stands for
        histograms = {}
        for column, codes in zip(self.columns, extract.sensitive, strict=True):
            some = slice(None) if individuals is None else first_of_each(labels, codes, individuals)
            runs = Runs.count_values(labels[some], codes[some], count, column.size, counts)
            histograms[column.name] = Histogram.of(column, runs, count, self.wholes[column.name])
        return Groups(_sizes(labels, count, individuals, counts), histograms)

    def tally(self, labels: Integers, count: int) -> Tally:
        """What is in each of `count` cells, given the cell (n,) of each row that is released."""
        if self.table.units is not None:
            members = Members.of_rows(self.columns, labels, count, self.table.units, self.rows)
            return Tally(self.requirements, np.bincount(labels, minlength=count), {}, members)
        cells = self._counted(labels, count, self.everyone)
        return Tally(self.requirements, cells.sizes, cells.histograms)


def withheld(table: Table, requirements: Sequence[Requirement]) -> bool:
    """Whether suppressed rows are left out whatever they hold: everybody of a population would be under them, or they
    would be worth nothing to the publisher."""
    return bool(table.populations) or weigh(requirements)


def _sizes(labels: Integers, count: int, individuals: Integers | None, counts: Integers | None) -> NDArray[np.int64]:
    """(count,) members of each class, given the class (n,) of each row, and the individual (n,) it is about or how many
    rows (n,) it stands for."""
    counted = labels if individuals is None else labels[first_of_each(labels, individuals)]
    return np.bincount(counted, counts, minlength=count).astype(np.int64, copy=False)
