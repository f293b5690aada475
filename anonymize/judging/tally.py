"""What is in cells of rows, counted once: classes that are made of whole cells can then be measured without looking at
the rows again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anonymize.classes import Bools, Integers, Ints, KeyGroups
from anonymize.privacy import Groups, Histogram, Members, Requirement, check


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
