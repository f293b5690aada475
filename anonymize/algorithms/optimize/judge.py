"""Which groups of rows fail the requirements, and which of them would with any of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from anonymize.algorithms.feasibility import minimum_size
from anonymize.algorithms.lattice.frequency import Grouping
from anonymize.classes import Bools, Ints, concatenated_ranges, run_starts, starts_of
from anonymize.privacy import MODELS, Groups, Histogram, Requirement, check


@dataclass(frozen=True)
class Judge:
    """What the requirements say of groups of rows."""

    requirements: tuple[Requirement, ...]

    @cached_property
    def growing(self) -> tuple[Requirement, ...]:
        """Those that a group which meets them still meets with any further rows."""
        return tuple(requirement for requirement in self.requirements if MODELS[requirement.model].GROWING)

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
        return all(MODELS[requirement.model].BY_SIZE for requirement in self.requirements)

    def verdict(self, groups: Groups) -> tuple[Bools, Bools]:
        """(n,) which groups fail, and (n,) which are hopeless: they fail, and so does any part of them."""
        small = np.asarray(groups.sizes < self.minimum)
        if self.by_size:
            return small, small
        failing = small | ~check(groups, self.requirements)
        return failing, failing if self.all_growing else small | ~check(groups, self.growing)


def pairs_of(groups: Groups, one: Ints, other: Ints) -> Groups:
    """Pairs (n,) of groups, each as one."""
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


BATCH = 1 << 22
"""Numbers in a table of sums at a time."""

Own: TypeAlias = tuple[Ints, Ints, Ints]
"""Of some heads the first and the last run, and (runs,) the head of each run, all counted from the first."""
Side: TypeAlias = tuple[Ints, Bools, Bools]
"""Of the halves on one side, (runs,) each: their sizes, which fail, and which are hopeless."""


def halves_of(judge: Judge, runs: Groups, head: Ints, lost: Bools) -> Iterator[tuple[slice, Own, tuple[Side, Side]]]:
    """Every way to part a head between its runs: the runs up to each, and those after it.

    `head` (r,): the head of each run, ascending. `lost` (r,): runs of hopeless heads. In batches: which runs, of whole
    heads; what `sides` needs; the halves before and after each run, of which those at the last of a head mean nothing.
    """
    begin = run_starts(head)
    stop = np.append(begin[1:], len(head))
    ahead = starts_of((stop - begin) * _widest(runs, begin, stop))
    at = 0
    while at < len(begin):
        last = max(int(np.searchsorted(ahead, ahead[at] + BATCH, side="right")) - 1, at + 1)
        picked = slice(int(begin[at]), int(stop[last - 1]))
        local = np.repeat(np.arange(last - at), stop[at:last] - begin[at:last])
        own = (begin[at:last] - picked.start, stop[at:last] - picked.start - 1, local)
        yield picked, own, _judged(judge, runs, picked, own, lost[picked])
        at = last


def sides(figures: Ints, own: Own) -> tuple[Ints, Ints]:
    """Sums of figures (r,) or (r, n) over the runs of the same head up to each, and after it."""
    first, last, local = own
    total = np.cumsum(figures, axis=0)
    start = (total - figures)[first]
    return total - start[local], total[last][local] - total


def _widest(runs: Groups, begin: Ints, stop: Ints) -> Ints:
    """(heads,) the most columns that a table of sums of each head may need."""
    found = np.ones(len(begin), np.int64)
    for each in runs.histograms.values():
        entries = each.starts[stop] - each.starts[begin]
        found = np.maximum(found, np.minimum(entries, each.codes.max(initial=0) + 1))
    return found


def _judged(judge: Judge, runs: Groups, picked: slice, own: Own, lost: Bools) -> tuple[Side, Side]:
    """The halves at each run. Those that are too small, or of hopeless heads, fail without a look at their values."""
    tables = {name: Sums.of(each, picked, own) for name, each in runs.histograms.items()}
    found = []
    for after, sizes in enumerate(sides(runs.sizes[picked], own)):
        looked = (sizes >= judge.minimum) & ~lost
        looked[own[1]] = False

        def verdict(at: Ints, after: bool = bool(after), sizes: Ints = sizes) -> tuple[Bools, Bools]:
            return judge.verdict(Groups(sizes[at], {name: each.histogram(at, after) for name, each in tables.items()}))

        found.append((sizes, *(_grown if judge.all_growing else _each)(verdict, looked, own, bool(after))))
    return found[0], found[1]


Verdict: TypeAlias = Callable[[Ints], tuple[Bools, Bools]]
"""Of the halves at some runs, which fail, and which are hopeless."""


def _each(verdict: Verdict, looked: Bools, own: Own, after: bool) -> tuple[Bools, Bools]:
    """(runs,) which halves fail, and which are hopeless: those that are not looked at, and what is found of others."""
    failing, hopeless = ~looked, ~looked
    at = np.flatnonzero(looked)
    failing[at], hopeless[at] = verdict(at)
    return failing, hopeless


def _grown(verdict: Verdict, looked: Bools, own: Own, after: bool) -> tuple[Bools, Bools]:
    """As `_each`, where a half that has all of another fails only if that one does: by bisection in all heads at once.
    Of each head, the runs that are looked at are neighbours."""
    first, last, local = own
    count = np.add.reduceat(looked, first, dtype=np.int64)
    begin = first if after else last - count
    low, high = np.zeros(len(first), np.int64), count.copy()  # how many of them pass; the widest halves come first
    while (active := np.flatnonzero(low < high)).size:
        middle = (low[active] + high[active]) // 2
        fails = verdict(begin[active] + (middle if after else count[active] - 1 - middle))[0]
        high[active] = np.where(fails, middle, high[active])
        low[active] = np.where(fails, low[active], middle + 1)
    place = np.arange(len(local)) - (begin if after else last - low)[local]
    failing = (place < 0) | (place >= low[local])
    return failing, failing


@dataclass(frozen=True)
class Sums:
    """How often each sensitive value occurs in the runs up to each run and after it. A head has a table: a row for each
    of its values, a column for each of its runs. `table`: all of them, one after the other, each row summed up from its
    first column; `total` (values,): of each row. `begin` (values,): where each row begins. `value` (heads,): the first
    row of each head. `source`: the histogram; `entry` (values,): one of its entries with the value."""

    source: Histogram
    own: Own
    table: Ints
    total: Ints
    begin: Ints
    value: Ints
    entry: Ints

    @classmethod
    def of(cls, histogram: Histogram, picked: slice, own: Own) -> Sums:
        """Those of some runs."""
        first, last, local = own
        chosen = slice(int(histogram.starts[picked.start]), int(histogram.starts[picked.stop]))
        run, codes, counts = (each[chosen] for each in (histogram.classes, histogram.codes, histogram.counts))
        run = run - picked.start
        size = int(codes.max(initial=0)) + 1
        grouping = Grouping.of(local[run] * size + codes, len(first) * size)
        head = local[run[grouping.first]]
        ends = starts_of((last - first + 1)[head])
        table = np.zeros(ends[-1], np.int64)
        table[ends[:-1][grouping.group] + run - first[local[run]]] = counts
        np.cumsum(table, out=table)
        summed = np.append(0, table)[ends]
        table -= np.repeat(summed[:-1], np.diff(ends))
        value = np.searchsorted(head, np.arange(len(first) + 1))
        return cls(histogram, own, table, np.diff(summed), ends[:-1], value, chosen.start + grouping.first)

    def histogram(self, at: Ints, after: bool) -> Histogram:
        """Of the runs up to each of some runs (n,), or after it."""
        first, _, local = self.own
        head = local[at]
        begin, count = self.value[head], self.value[head + 1] - self.value[head]
        value = concatenated_ranges(begin, count)
        found = self.table[self.begin[value] + np.repeat(at - first[head], count)]
        if after:
            found = self.total[value] - found
        there = np.flatnonzero(found)
        classes = np.repeat(np.arange(len(at)), count)[there]
        entry = self.entry[value[there]]
        source = self.source
        return Histogram(
            classes=classes,
            codes=source.codes[entry],
            counts=found[there],
            starts=np.searchsorted(classes, np.arange(len(at) + 1)).astype(np.int64),
            values=None if source.values is None else source.values[entry],
            given=source.given,
        )
