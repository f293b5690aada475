"""Which groups of rows fail the requirements, and which of them would with any of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from anonymize.algorithms.feasibility import minimum_size
from anonymize.classes import Bools, Floats, Ints, concatenated_ranges, run_starts
from anonymize.privacy import MODELS, Groups, Histogram, Requirement, Whole, check


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
        if self.by_size:
            failing = np.asarray(groups.sizes < self.minimum)
            return failing, failing
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


BATCH = 1 << 22
"""Numbers in a table of sums at a time."""

Own: TypeAlias = tuple[Ints, Ints, Ints]
"""Of some heads the first and the last run, and (runs,) the head of each run, all counted from the first."""


def halves_of(runs: Groups, head: Ints, sizes: Mapping[str, int]) -> Iterator[tuple[slice, Own, Groups, Groups]]:
    """Every way to part a head between its runs: the runs up to each, and those after it.

    `head` (r,): the head of each run, ascending. `sizes`: numbers of codes. In batches: which runs, of whole heads;
    what `sides` needs; the two halves at each run, of which those at the last run of a head have no meaning.
    """
    leading = trailing = runs
    if runs.members is not None:
        leading, trailing = (members.groups() for members in runs.members.ends(head))
    begin = run_starts(head)
    stop = np.append(begin[1:], len(head))
    step = max(BATCH // max([sizes[name] for name in leading.histograms], default=1), 1)
    at = 0
    while at < len(begin):
        last = max(int(np.searchsorted(stop, begin[at] + step, side="right")), at + 1)
        picked = slice(int(begin[at]), int(stop[last - 1]))
        local = np.repeat(np.arange(last - at), stop[at:last] - begin[at:last])
        own = (begin[at:last] - picked.start, stop[at:last] - picked.start - 1, local)
        yield picked, own, *_halves(leading, trailing, picked, own, sizes)
        at = last


def _halves(
    leading: Groups, trailing: Groups, picked: slice, own: Own, sizes: Mapping[str, int]
) -> tuple[Groups, Groups]:
    """The two halves at each run: what `leading` has up to it, and what `trailing` has after it, summed. These are one
    and the same, all that is in the runs, where nobody is in several."""
    before, after = sides(leading.sizes[picked], own)
    halves = {name: _parted(each, picked, own, sizes[name]) for name, each in leading.histograms.items()}
    left = Groups(before, {name: half[0] for name, half in halves.items()})
    if trailing is not leading:
        after = sides(trailing.sizes[picked], own)[1]
        halves = {name: _parted(each, picked, own, sizes[name]) for name, each in trailing.histograms.items()}
    return left, Groups(after, {name: half[1] for name, half in halves.items()})


def sides(figures: Ints, own: Own) -> tuple[Ints, Ints]:
    """Sums of figures (r,) or (r, n) over the runs of the same head up to each, and after it."""
    first, last, local = own
    total = np.cumsum(figures, axis=0)
    start = (total - figures)[first]
    return total - start[local], total[last][local] - total


def _parted(histogram: Histogram, picked: slice, own: Own, size: int) -> tuple[Histogram, Histogram]:
    """The histograms of both halves at each run."""
    entries = slice(int(histogram.starts[picked.start]), int(histogram.starts[picked.stop]))
    dense = np.zeros((picked.stop - picked.start, size), np.int64)
    dense[histogram.classes[entries] - picked.start, histogram.codes[entries]] = histogram.counts[entries]
    values = None
    if histogram.values is not None:
        values = np.full(size, np.nan)
        values[histogram.codes[entries]] = histogram.values[entries]
    before, after = sides(dense, own)
    return _sparse(before, values, histogram.given), _sparse(after, values, histogram.given)


def _sparse(dense: Ints, values: Floats | None, whole: Whole | None) -> Histogram:
    classes, codes = np.nonzero(dense)
    starts = np.searchsorted(classes, np.arange(len(dense) + 1))
    found = None if values is None else values[codes]
    return Histogram(classes, codes, dense[classes, codes], starts, found, whole)
