"""Every way to part classes between the intervals of an attribute: which halves fail the requirements, and which are
ruled out, as any of their rows alone would fail as well.

A group is judged by itself, which is all there is to know where nothing is asked of the table as a whole and no group
is compared with the rest of a release in which some rows are suppressed. Otherwise groups that fail here are suppressed
in every release whose suppressed rows are published, and maybe others with them: `Suppression` says which, once all
classes of a set are known.

Where several rows may be about one individual, an individual in several intervals counts once in each half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

import numpy as np

from anonymize.algorithms.feasibility import necessary_size
from anonymize.classes import Bools, Floats, Ints, KeyGroups, concatenated_ranges, run_starts, starts_of
from anonymize.privacy import MODELS, Groups, Histogram, Requirement, check
from anonymize.privacy.groups import Members
from anonymize.records import dataclass


@dataclass(frozen=True)
class SplitJudge:
    """What the requirements say of groups of rows."""

    requirements: tuple[Requirement, ...]

    @cached_property
    def growing(self) -> tuple[Requirement, ...]:
        """The requirements that a group which meets them still meets with any further rows."""
        return tuple(
            requirement
            for requirement in self.requirements
            if MODELS[requirement.model].growing(requirement.parameters)
        )

    @property
    def all_growing(self) -> bool:
        """Whether every requirement is such: then a group fails if and only if it is ruled out."""
        return len(self.growing) == len(self.requirements)

    @cached_property
    def minimum(self) -> int:
        """The fewest rows that a class may have."""
        return necessary_size(self.requirements)

    @property
    def by_size(self) -> bool:
        """Whether the size of a group alone decides."""
        return all(MODELS[requirement.model].sized(requirement.parameters) for requirement in self.requirements)

    def verdict(self, groups: Groups) -> tuple[Bools, Bools]:
        """(n,) which groups fail, and (n,) which are ruled out: they fail, and so does any part of them."""
        if self.by_size:
            small = np.asarray(groups.sizes < self.minimum)
            return small, small
        failing = ~check(groups, self.requirements, "necessary")
        return failing, failing if self.all_growing else ~check(groups, self.growing, "necessary")


# --- halves -----------------------------------------------------------------------------------------------------------

BATCH = 1 << 22
"""How many numbers a table of sums holds at a time."""

HeadRuns: TypeAlias = tuple[Ints, Ints, Ints]
"""The first and the last run of some heads, and (runs,) the head of each run, all counted from the first."""
Side: TypeAlias = tuple[Ints, Bools, Bools]
"""For the halves on one side, (runs,) each: their rows, which fail, and which are ruled out."""
Halves: TypeAlias = tuple[slice, HeadRuns, tuple[Side, Side]]
"""Which runs, of whole heads; what `sides` needs; the halves before and after each run."""


@dataclass(frozen=True)
class Values:
    """The sensitive values that occur in each head, of the cells that have them. `value` (entries,): a number for each
    head and value, ascending; `cell`, `count` (entries,): where it occurs, and how often. `begin` (values + 1,): the
    first entry of each value; `of_head` (heads + 1,): the first value of each head. `codes` and, of numbers, `numbers`
    (values,); `source`: the histogram of the cells."""

    value: Ints
    cell: Ints
    count: Ints
    begin: Ints
    of_head: Ints
    codes: Ints
    numbers: Floats | None
    source: Histogram

    @classmethod
    def of(cls, histogram: Histogram, head: Ints, heads: int) -> Values:
        """The values of a histogram of cells, given the head (cells,) of each cell."""
        size = int(histogram.codes.max(initial=0)) + 1
        above = head[histogram.classes]
        grouping = KeyGroups.of(above * size + histogram.codes, heads * size)
        order, first = grouping.order, grouping.first
        begin = np.append(grouping.starts, len(order))
        return cls(
            value=np.repeat(np.arange(len(first)), np.diff(begin)),
            cell=histogram.classes[order],
            count=histogram.counts[order],
            begin=begin,
            of_head=np.searchsorted(above[first], np.arange(heads + 1)),
            codes=histogram.codes[first],
            numbers=None if histogram.values is None else histogram.values[first],
            source=histogram,
        )


def halves_of(
    judge: SplitJudge, sizes: Ints, head: Ints, run_of: Ints, lost: Bools, values: Mapping[str, Values]
) -> Iterator[Halves]:
    """Every way to part a head between its runs: the runs up to each, and those after it.

    `sizes`, `head` (r,): rows and head of each run, all heads, ascending. `run_of` (cells,): the run of each cell.
    `lost` (r,): runs of ruled out heads. In batches; halves at the last run of a head mean nothing.
    """
    counts = [np.diff(each.of_head) for each in values.values()]
    widest = np.maximum(np.max(counts, axis=0), 1) if counts else 1
    for heads, picked, head_runs in batches(head, widest):
        tables = {name: Sums.of(each, heads, run_of - picked.start, head_runs) for name, each in values.items()}
        before, after = sides(sizes[picked], head_runs)
        first = _side(judge, before, tables, head_runs, lost[picked], after=False)
        yield picked, head_runs, (first, _side(judge, after, tables, head_runs, lost[picked], after=True))


def batches(head: Ints, width: Ints | int) -> Iterator[tuple[slice, slice, HeadRuns]]:
    """Heads and their runs in batches of about BATCH numbers, of which each run takes `width`, or (heads,) that of its
    head; a batch is one head at least. Which heads, which runs, and what `sides` needs."""
    begin = run_starts(head)
    stop = np.append(begin[1:], len(head))
    ahead = starts_of((stop - begin) * width)
    start = 0
    while start < len(begin):
        last = max(int(np.searchsorted(ahead, ahead[start] + BATCH, side="right")) - 1, start + 1)
        picked = slice(int(begin[start]), int(stop[last - 1]))
        local = np.repeat(np.arange(last - start), stop[start:last] - begin[start:last])
        yield slice(start, last), picked, (begin[start:last] - picked.start, stop[start:last] - picked.start - 1, local)
        start = last


def sides(figures: Ints, head_runs: HeadRuns) -> tuple[Ints, Ints]:
    """Sums of figures (r,) or (r, n) over the runs of the same head up to each, and after it. As the runs of a head are
    neighbours, both are differences of one running total over all heads."""
    first, last, local = head_runs
    total = np.cumsum(figures, axis=0)
    start = (total - figures)[first]
    return total - start[local], total[last][local] - total


def _side(
    judge: SplitJudge, sizes: Ints, tables: Mapping[str, Sums], head_runs: HeadRuns, lost: Bools, after: bool
) -> Side:
    """The halves before or after each run. Those that are too small, or of ruled out heads, fail without a look at
    their values."""
    looked = (sizes >= judge.minimum) & ~lost
    looked[head_runs[1]] = False

    def verdict(runs: Ints) -> tuple[Bools, Bools]:
        return judge.verdict(Groups(sizes[runs], {name: each.histogram(runs, after) for name, each in tables.items()}))

    if judge.by_size:
        return sizes, ~looked, ~looked
    return sizes, *(_grown(verdict, looked, head_runs, after) if judge.all_growing else _each(verdict, looked))


Verdict: TypeAlias = Callable[[Ints], tuple[Bools, Bools]]
"""Which of the halves at some runs fail, and which are ruled out."""


def _each(verdict: Verdict, looked: Bools) -> tuple[Bools, Bools]:
    """(runs,) which halves fail, and which are ruled out: all those that are not looked at, and of the others those for
    which the verdict says so."""
    failing, ruled_out = ~looked, ~looked
    runs = np.flatnonzero(looked)
    failing[runs], ruled_out[runs] = verdict(runs)
    return failing, ruled_out


def _grown(verdict: Verdict, looked: Bools, head_runs: HeadRuns, after: bool) -> tuple[Bools, Bools]:
    """Which halves fail, and which are ruled out, where one that contains another fails only if that one does. Passing
    halves are then the widest ones of a head, so bisection, in all heads at once, finds where they begin. The runs of a
    head that are looked at are neighbours."""
    first, last, local = head_runs
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
    first column; `total`, `begin` (values,): of each row, the sum and the place. `of_head` (heads + 1,): the first row
    of each head."""

    values: Values
    head_runs: HeadRuns
    table: Ints
    total: Ints
    begin: Ints
    of_head: Ints
    skipped: int

    @classmethod
    def of(cls, values: Values, heads: slice, run_of: Ints, head_runs: HeadRuns) -> Sums:
        """The sums for some heads; `run_of` (cells,): the run of each cell, counted as in `head_runs`."""
        first, last, _ = head_runs
        of_head = values.of_head[heads.start : heads.stop + 1]
        skipped = int(of_head[0])
        entries = slice(int(values.begin[skipped]), int(values.begin[of_head[-1]]))
        head = np.repeat(np.arange(len(first)), np.diff(of_head))
        ends = starts_of((last - first + 1)[head])
        place = (ends[:-1] - first[head])[values.value[entries] - skipped] + run_of[values.cell[entries]]
        table = np.bincount(place, weights=values.count[entries], minlength=int(ends[-1])).astype(np.int64)
        np.cumsum(table, out=table)
        summed = np.append(0, table)[ends]
        table -= np.repeat(summed[:-1], np.diff(ends))
        return cls(values, head_runs, table, np.diff(summed), ends[:-1], of_head - skipped, skipped)

    def histogram(self, runs: Ints, after: bool) -> Histogram:
        """The histogram of the runs up to each of some runs (n,), or after it."""
        first, _, local = self.head_runs
        head = local[runs]
        begin, count = self.of_head[head], self.of_head[head + 1] - self.of_head[head]
        value = concatenated_ranges(begin, count)
        counts = self.table[self.begin[value] + np.repeat(runs - first[head], count)]
        if after:
            counts = self.total[value] - counts
        occurring = np.flatnonzero(counts)
        classes = np.repeat(np.arange(len(runs)), count)[occurring]
        value = value[occurring] + self.skipped
        values = self.values
        return Histogram(
            classes=classes,
            codes=values.codes[value],
            counts=counts[occurring],
            starts=np.searchsorted(classes, np.arange(len(runs) + 1)).astype(np.int64),
            values=None if values.numbers is None else values.numbers[value],
            given=values.source.given,
        )


# --- several rows of an individual ------------------------------------------------------------------------------------


def halves_of_units(
    judge: SplitJudge, rows: Ints, head: Ints, runs: Members, codes: Mapping[str, int]
) -> Iterator[Halves]:
    """Every way to part a head between its runs: the runs up to each, and those after it.

    `rows`, `head` (r,): rows and head of each run, all heads, ascending; `runs`: the individuals that each is about.
    `codes`: of each sensitive attribute, how many. In batches; halves at the last run of a head mean nothing.
    """
    leading, trailing = (Groups.of_members(members) for members in runs.ends(head))
    for _, picked, head_runs in batches(head, max([codes[name] for name in leading.histograms], default=1)):
        before, after = sides(rows[picked], head_runs)
        left = judge.verdict(_summed(leading, picked, head_runs, codes, 0))
        right = judge.verdict(_summed(trailing, picked, head_runs, codes, 1))
        yield picked, head_runs, ((before, *left), (after, *right))


def _summed(groups: Groups, picked: slice, head_runs: HeadRuns, codes: Mapping[str, int], side: int) -> Groups:
    histograms = {name: _half(each, picked, head_runs, codes[name], side) for name, each in groups.histograms.items()}
    return Groups(sides(groups.sizes[picked], head_runs)[side], histograms)


def _half(histogram: Histogram, picked: slice, head_runs: HeadRuns, size: int, side: int) -> Histogram:
    entries = slice(int(histogram.starts[picked.start]), int(histogram.starts[picked.stop]))
    dense = np.zeros((picked.stop - picked.start, size), np.int64)
    dense[histogram.classes[entries] - picked.start, histogram.codes[entries]] = histogram.counts[entries]
    summed = sides(dense, head_runs)[side]
    classes, codes = np.nonzero(summed)
    numbers = None
    if histogram.values is not None:
        values = np.full(size, np.nan)
        values[histogram.codes[entries]] = histogram.values[entries]
        numbers = values[codes]
    starts = np.searchsorted(classes, np.arange(len(summed) + 1))
    return Histogram(classes, codes, summed[classes, codes], starts, numbers, histogram.given)
