"""Equivalence classes as the privacy models see them: sizes, and histograms of the sensitive attributes.

Nothing here knows a quasi-identifier: a class is a number in [0, C). Everything is an array over all classes.

Where several rows may be about one individual, a class has as many members as it has individuals, and a value occurs in
it as often as it has individuals with that value. An individual in two classes is in their union only once, so the
counts of a union are not the sums of those of its parts: `members` has what they are counted from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Integers, Ints
from anonymize.privacy.histogram import Histogram, Whole
from anonymize.privacy.members import Members

__all__ = ["Crowd", "Groups", "Histogram", "Members", "Whole"]


@dataclass(frozen=True)
class Crowd:
    """A population under classes: `matched` (C,) people under what each shows, `total` all people."""

    matched: NDArray[np.int64]
    total: int

    @property
    def outside(self) -> int:
        """People under no class, where no two have the same people under them."""
        return max(self.total - int(self.matched.sum()), 0)


@dataclass(frozen=True)
class Groups:
    """All equivalence classes of a table: C sizes, and a histogram for each sensitive attribute."""

    sizes: NDArray[np.int64]
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    crowds: Mapping[str, Crowd] = field(default_factory=dict)
    """The crowd of each population, by its path."""
    members: Members | None = None
    """The individuals in each class, where that is known; None if each row is about a different individual, or classes
    never merge."""

    @classmethod
    def of_members(cls, members: Members, crowds: Mapping[str, Crowd] | None = None) -> Groups:
        """The classes whose individuals, and what these hold, are known."""
        histograms = {name: each.histogram(members.count) for name, each in members.holdings.items()}
        return cls(members.sizes, histograms, crowds or {}, members)

    def crowd(self, population: Path) -> Crowd:
        """What a population has under these classes. KeyError if the groups were made without it."""
        return self.crowds[str(population)]

    def of(self, attribute: str | None) -> Histogram:
        """The histogram of a requirement's attribute. KeyError if the groups were made without it."""
        return self.histograms[attribute or ""]

    def merge(self, into: Integers, class_count: int) -> Groups:
        """The same rows in fewer classes: class c becomes part of class `into[c]` of `class_count`."""
        sizes = np.zeros(class_count, dtype=np.int64)
        np.add.at(sizes, into, self.sizes)
        crowds = {}
        for path, crowd in self.crowds.items():
            matched = np.zeros(class_count, dtype=np.int64)
            np.add.at(matched, into, crowd.matched)
            crowds[path] = Crowd(matched, crowd.total)
        if self.members is not None:
            return Groups.of_members(self.members.merge(into, class_count), crowds)
        histograms = {name: histogram.merge(into, class_count) for name, histogram in self.histograms.items()}
        return Groups(sizes, histograms, crowds)

    def joined(self, one: Ints, other: Ints) -> Groups:
        """Pairs (n,) of the classes, each pair as one class; without populations."""
        if self.members is not None:
            return Groups.of_members(self.members.joined(one, other))
        histograms = {name: each.joined(one, other) for name, each in self.histograms.items()}
        return Groups(self.sizes[one] + self.sizes[other], histograms)

    def as_root(self, populations: Mapping[str, int]) -> Groups:
        """The same classes, showing nothing: everybody of each population (by its path, the number of its people) is
        under each."""
        crowds = {path: Crowd(np.full(self.sizes.size, total), total) for path, total in populations.items()}
        return replace(self, crowds=crowds)

    def subset(self, mask: NDArray[np.bool_]) -> Groups:
        """Some of the classes (C,), renumbered; what they are compared with stays."""
        crowds = {path: replace(crowd, matched=crowd.matched[mask]) for path, crowd in self.crowds.items()}
        histograms = {name: each.subset(mask) for name, each in self.histograms.items()}
        members = None if self.members is None else self.members.subset(mask)
        return Groups(self.sizes[mask], histograms, crowds, members)

    def by_itself(self) -> Groups:
        """The same classes as the whole release: compared with what they are together."""
        if self.members is not None:
            return Groups.of_members(self.members.by_itself(), self.crowds)
        return replace(self, histograms={name: each.by_itself() for name, each in self.histograms.items()})
