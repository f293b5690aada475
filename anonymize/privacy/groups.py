"""Equivalence classes as the privacy models see them: sizes, histograms of the sensitive attributes, and, where
several rows may be about one individual, the individuals in each class and their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Bools, Integers, Ints, Runs, concatenated_ranges, run_starts
from anonymize.privacy.histogram import Histogram, Whole
from anonymize.records import dataclass

if TYPE_CHECKING:
    from anonymize.table import SensitiveColumn

__all__ = ["Crowd", "Groups", "Histogram", "Members", "Whole"]


# --- members ----------------------------------------------------------------------------------------------------------
# The individuals in each class and their sensitive values, where several rows may be about one individual.
#
# Counts of individuals do not add up: one who is in both parts of a merged class is in it only once. Sets of pairs can
# be merged: those of a merged class are the pairs of its parts, without repetition. So for classes that may be merged,
# the pairs of a class and an individual are kept, and those of a class and a holding. A holding is a sensitive value
# together with an individual who has it.


@dataclass(frozen=True)
class Pairs:
    """Different pairs of a class and a thing, in ascending order. `owners` (p,): the class of each. `things` (p,): the
    thing, below `span`."""

    owners: Ints
    things: Ints
    span: int

    @classmethod
    def of(cls, owners: Integers, things: Integers, span: int) -> Pairs:
        """The different pairs among pairs (n,) in any order. Packed into one number each, equal pairs become neighbours
        when sorted."""
        bits = max(span - 1, 1).bit_length()
        keys = owners.astype(np.int64) << bits
        keys |= things
        keys.sort()
        keys = keys[run_starts(keys)]
        return cls(keys >> bits, keys & ((1 << bits) - 1), span)

    def merge(self, into: Integers) -> Pairs:
        """The pairs of merged classes: class c becomes part of class `into[c]`, or is left out where that is below
        0."""
        owners = into[self.owners]
        stays = owners >= 0
        return self.of(owners[stays], self.things[stays], self.span)

    def joined(self, one: Ints, other: Ints) -> Pairs:
        """The pairs of unions (n,) of two classes each."""
        count = int(max(one.max(initial=-1), other.max(initial=-1))) + 1
        starts = np.searchsorted(self.owners, np.arange(count + 1))
        lengths = np.diff(starts)
        entries = [concatenated_ranges(starts[:-1][side], lengths[side]) for side in (one, other)]
        owners = [np.repeat(np.arange(len(side)), lengths[side]) for side in (one, other)]
        return self.of(np.concatenate(owners), self.things[np.concatenate(entries)], self.span)

    def ends(self, head: Ints) -> tuple[Pairs, Pairs]:
        """For classes (C,) that are listed head after head, `head` being the head of each: the pairs whose thing occurs
        in no earlier class of their head, and those whose thing occurs in no later one. A thing then counts exactly
        once in a sum over the classes up to, or from, any class of its head."""
        order = np.argsort(head[self.owners] * self.span + self.things, kind="stable")
        keys = head[self.owners[order]] * self.span + self.things[order]
        first = run_starts(keys)
        last = np.append(first[1:], len(keys)) - 1 if len(keys) else first
        some = (np.sort(order[each]) for each in (first, last))
        leading, trailing = (replace(self, owners=self.owners[each], things=self.things[each]) for each in some)
        return leading, trailing

    def counts(self, class_count: int) -> Ints:
        """(C,) different things of each class."""
        return np.bincount(self.owners, minlength=class_count)


@dataclass(frozen=True)
class Holdings:
    """Who has which value of a sensitive attribute. `pairs`: each class with its holdings; there are none of missing
    values. `codes` (holdings,): the value of each. `whole`: what the classes are compared with."""

    column: SensitiveColumn
    pairs: Pairs
    codes: Ints
    whole: Whole

    @classmethod
    def of(cls, column: SensitiveColumn, classes: Integers, codes: Integers, units: Ints, whole: Whole) -> Holdings:
        """The holdings in rows (n,), given the class, the code and the individual of each."""
        if column.missing is not None:
            present = codes != column.missing
            classes, codes, units = classes[present], codes[present], units[present]
        span = int(units.max(initial=0)) + 1
        holdings, holding = np.unique(codes.astype(np.int64) * span + units, return_inverse=True)
        return cls(column, Pairs.of(classes, holding, max(len(holdings), 1)), holdings // span, whole)

    def histogram(self, class_count: int) -> Histogram:
        """How many individuals of each class have each value."""
        column, codes = self.column, self.codes[self.pairs.things]
        runs = Runs.count_values(self.pairs.owners, codes, class_count, column.size)
        return Histogram.of(column, runs, class_count, self.whole)

    def by_itself(self) -> Holdings:
        """The holdings, compared with what the classes are together; an individual in several classes counts once for
        each value."""
        present = np.zeros(len(self.codes), np.bool_)
        present[self.pairs.things] = True
        counts = np.bincount(self.codes[present], minlength=len(self.whole.counts))
        return replace(self, whole=replace(self.whole, counts=counts))


@dataclass(frozen=True)
class Members:
    """The individuals in `count` classes. `units`: the pairs of a class and an individual. `holdings`: by sensitive
    attribute."""

    count: int
    units: Pairs
    holdings: Mapping[str, Holdings]

    @classmethod
    def of_rows(
        cls,
        columns: Iterable[SensitiveColumn],
        class_of: Integers,
        class_count: int,
        units: Integers,
        rows: NDArray[np.uint32] | None = None,
    ) -> Members:
        """The members of classes of all rows of a table or some, given the class (n,) of each. `units`: the individual
        that each row of the table is about. Distributions are compared with those of these rows."""
        picked = slice(None) if rows is None else rows
        whom = units[picked].astype(np.int64)
        holdings = {
            column.name: Holdings.of(column, class_of, column.codes[picked], whom, Whole.of(column, rows, units))
            for column in columns
        }
        return cls(class_count, Pairs.of(class_of, whom, int(whom.max(initial=0)) + 1), holdings)

    @cached_property
    def sizes(self) -> Ints:
        """(count,) individuals in each class."""
        return self.units.counts(self.count)

    @property
    def entries(self) -> int:
        """How many numbers this is made of."""
        return 2 * sum(len(pairs.owners) for pairs in (self.units, *(each.pairs for each in self.holdings.values())))

    def merge(self, into: Integers, class_count: int) -> Members:
        """The members of fewer classes: class c becomes part of class `into[c]` of `class_count`, or is left out where
        that is below 0."""
        return self._with(class_count, lambda pairs: pairs.merge(into))

    def joined(self, one: Ints, other: Ints) -> Members:
        """The unions (n,) of two classes each."""
        return self._with(len(one), lambda pairs: pairs.joined(one, other))

    def ends(self, head: Ints) -> tuple[Members, Members]:
        """The two ends of `Pairs`, as members of the same classes. Summed over the classes from the beginning of a
        head, the first counts what these have together; the second does so for the classes up to the end of the
        head."""
        units = self.units.ends(head)
        ends = {name: each.pairs.ends(head) for name, each in self.holdings.items()}
        leading, trailing = (
            Members(
                self.count,
                units[side],
                {name: replace(each, pairs=ends[name][side]) for name, each in self.holdings.items()},
            )
            for side in (0, 1)
        )
        return leading, trailing

    def _with(self, count: int, changed: Callable[[Pairs], Pairs]) -> Members:
        """The individuals and values in `count` other classes."""
        holdings = {name: replace(each, pairs=changed(each.pairs)) for name, each in self.holdings.items()}
        return Members(count, changed(self.units), holdings)

    def subset(self, mask: Bools) -> Members:
        """Some of the classes (count,), renumbered; what they are compared with stays."""
        return self.merge(np.where(mask, np.cumsum(mask) - 1, -1), int(np.count_nonzero(mask)))

    def by_itself(self) -> Members:
        """The classes as the whole release, compared with what they are together."""
        return replace(self, holdings={name: each.by_itself() for name, each in self.holdings.items()})


# --- groups -----------------------------------------------------------------------------------------------------------
# Equivalence classes as the privacy models see them: sizes, and histograms of the sensitive attributes.
#
# Nothing here knows a quasi-identifier: a class is a number in [0, C). Everything is an array over all classes.
#
# Where several rows may be about one individual, a class has as many members as it has individuals, and a value occurs
# in it as often as it has individuals with that value. An individual in two classes is in their union only once, so the
# counts of a union are not the sums of those of its parts: `members` has what they are counted from.


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
    kept: NDArray[np.float64] | None = None
    """(C,) the share of the information that each class keeps, where a model weighs it: 1 for single values, 0 where
    nothing is shown. It follows from what a class shows, so that merged classes do not have it."""

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
        """The groups merged into fewer: class c becomes part of class `into[c]` of `class_count`."""
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
        """The groups as if they showed nothing: everybody of each population (by its path, the number of its people) is
        under each."""
        crowds = {path: Crowd(np.full(self.sizes.size, total), total) for path, total in populations.items()}
        return replace(self, crowds=crowds, kept=np.zeros(self.sizes.size))

    def subset(self, mask: NDArray[np.bool_]) -> Groups:
        """Some of the classes (C,), renumbered; what they are compared with stays."""
        crowds = {path: replace(crowd, matched=crowd.matched[mask]) for path, crowd in self.crowds.items()}
        histograms = {name: each.subset(mask) for name, each in self.histograms.items()}
        members = None if self.members is None else self.members.subset(mask)
        return Groups(self.sizes[mask], histograms, crowds, members, None if self.kept is None else self.kept[mask])

    def by_itself(self) -> Groups:
        """The classes as the whole release, compared with what they are together."""
        if self.members is not None:
            return replace(Groups.of_members(self.members.by_itself(), self.crowds), kept=self.kept)
        return replace(self, histograms={name: each.by_itself() for name, each in self.histograms.items()})
