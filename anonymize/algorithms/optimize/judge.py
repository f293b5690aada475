"""Which groups of rows fail the requirements, and which of them would with any of their rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anonymize.algorithms.feasibility import minimum_size
from anonymize.classes import Bools, Ints, concatenated_ranges
from anonymize.privacy import MODELS, Groups, Histogram, Requirement, check


@dataclass(frozen=True)
class Judge:
    """What the requirements say of groups of rows."""

    requirements: tuple[Requirement, ...]

    @cached_property
    def growing(self) -> tuple[Requirement, ...]:
        """Those that a group which meets them still meets with any further rows."""
        return tuple(requirement for requirement in self.requirements if MODELS[requirement.model].grows)

    @property
    def all_growing(self) -> bool:
        """Whether every requirement is such: then a group fails if and only if it is hopeless."""
        return len(self.growing) == len(self.requirements)

    @cached_property
    def minimum(self) -> int:
        """The fewest rows that a class may have."""
        return minimum_size(self.requirements)

    @property
    def by_size(self) -> bool:
        """Whether the size of a group says it all."""
        return all(MODELS[requirement.model].by_size for requirement in self.requirements)

    def verdict(self, groups: Groups) -> tuple[Bools, Bools]:
        """(n,) which groups fail, and (n,) which are hopeless: they fail, and so does any part of them."""
        if self.by_size:
            small = np.asarray(groups.sizes < self.minimum)
            return small, small
        failing = ~check(groups, self.requirements)
        return failing, failing if self.all_growing else ~check(groups, self.growing)


def pairs_of(groups: Groups, one: Ints, other: Ints) -> Groups:
    """Pairs (n,) of groups, each as one."""
    if groups.members is not None:
        return groups.members.joined(one, other).groups()
    return Groups(
        groups.sizes[one] + groups.sizes[other],
        {name: _paired(each, one, other) for name, each in groups.histograms.items()},
    )


def _paired(histogram: Histogram, one: Ints, other: Ints) -> Histogram:
    lengths = np.diff(histogram.starts)
    entries, owners = [], []
    for side in (one, other):
        entries.append(concatenated_ranges(histogram.starts[:-1][side], lengths[side]))
        owners.append(np.repeat(np.arange(len(side)), lengths[side]))
    return _assembled(histogram, np.concatenate(entries), np.concatenate(owners), len(one))


def _assembled(histogram: Histogram, entries: Ints, owners: Ints, count: int) -> Histogram:
    """The histogram of `count` groups made of some entries of another, given the group of each."""
    codes, counts = histogram.codes[entries], histogram.counts[entries]
    size, values = int(codes.max(initial=0)) + 1, None
    if histogram.values is not None:
        values = np.full(size, np.nan)
        values[codes] = histogram.values[entries]
    return Histogram.from_rows(owners, codes, count, size, values=values, counts=counts, whole=histogram.given)
