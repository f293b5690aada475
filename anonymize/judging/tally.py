"""What is in cells of rows, and how many people of a population share what a class shows, counted once.

Regions leave people between them, or overlap, so nobody counts as outside of them. Nodes of a level do neither.

Classes that are made of whole cells are measured without looking at the rows again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anonymize.classes import Bools, Codes, Integers, Ints, KeyGroups, mixed_radix, run_starts
from anonymize.privacy import Crowd, Groups, Histogram, Members, Requirement, check
from anonymize.table.population import Population, PopulationAxis


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
