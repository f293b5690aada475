"""An ordinary attacker of a table without equivalence classes: who knows a person's quasi-identifiers, works out from
the release how often each sensitive value goes with them, and names the most frequent one.

The bound 1/l of releases without classes is about one who guesses in proportion; this one is right more often. What is
counted: of all people of the release whose value is not missing, the share for whom the guess is right. Beside it stand
two guesses to compare it with: the most frequent value of the release, for everybody (`baseline`), and the same attack
on the original table (`original`), which no release can be asked to be below without losing what it is made for.

The guess is computed from what is published alone; whether it is right, from the original.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anonymize import channels
from anonymize.channels import Floats
from anonymize.classes import Codes, Ints, concatenated_ranges, mixed_radix, summed_by_key
from anonymize.records import dataclass

MOST_CELLS = 20_000_000
"""Cells of the largest joint table that is reconstructed."""
Guesses = dict[str, float | None]


@dataclass(frozen=True)
class Seen:
    """An attribute shown through a channel: (rows,) codes below `size` as they were and as they show, and its p."""

    original: Codes
    released: Codes
    size: int
    p: float


@dataclass(frozen=True)
class Subjects:
    """The people who are attacked: (n,) which combination of quasi-identifiers each has, below `count`, and (n,) the
    code of the sensitive value, below `size`; `missing`: the code that is not a value."""

    groups: Ints
    values: Codes
    count: int
    size: int
    missing: int | None

    def right(self, guesses: Ints) -> float | None:
        """The share of people for whom a guess (count,) is right; None where nobody has a value."""
        present = np.ones(len(self.values), np.bool_) if self.missing is None else self.values != self.missing
        hits = guesses[self.groups[present]] == self.values[present]
        return float(hits.mean()) if hits.size else None

    def everybody(self, totals: Floats) -> Ints:
        """(count,) the value of the largest of some totals (size,), for every combination."""
        return np.full(self.count, int(np.argmax(self.present(totals))))

    def present(self, weights: Floats) -> Floats:
        """Weights (..., size) with none for what is missing."""
        if self.missing is not None:
            weights = weights.copy()
            weights[..., self.missing] = -np.inf
        return weights

    def most_frequent(self, groups: Ints, values: Ints, weights: Floats) -> Ints:
        """(count,) the value of each combination that weighs most, the first of several, given the combination, the
        value and the weight of entries (m,) in any order; that of everybody for a combination without entries."""
        if self.missing is not None:
            present = values != self.missing
            groups, values, weights = groups[present], values[present], weights[present]
        guesses = self.everybody(np.bincount(values, weights, self.size).astype(np.float64))
        if not len(groups):
            return guesses
        pairs, totals = summed_by_key(groups * self.size + values, weights)
        owners, values = np.divmod(pairs, self.size)
        rank = np.lexsort((-values, np.round(totals, 9), owners))
        last = rank[np.append(np.flatnonzero(np.diff(owners[rank])), len(rank) - 1)]
        guesses[owners[last]] = values[last]
        return guesses


def _compared(people: Subjects, guesses: Ints, totals: Floats) -> Guesses:
    """A guess (count,), and those to compare it with. `totals` (size,): how frequent each value is in the release."""
    original = people.most_frequent(people.groups, people.values.astype(np.int64), np.ones(len(people.values)))
    return {
        "success": people.right(guesses),
        "baseline": people.right(people.everybody(totals)),
        "original": people.right(original),
    }


def of_channels(quasi: Sequence[Seen], sensitive: Seen, missing: int | None) -> Guesses | None:
    """How often the attacker of values shown through channels is right; None where the joint table is too large for it.

    The guess is the largest cell of the unbiased estimate of the joint table; where no cell of a combination is above
    0, that of everybody. Quasi-identifiers that were left alone part the table, and are one axis of it.
    """
    moved = [each for each in quasi if each.p < 1]
    rest, parts = mixed_radix([each.original for each in quasi if each.p >= 1], [e.size for e in quasi if e.p >= 1])
    if not len(rest):
        rest = np.zeros(len(sensitive.original), np.int64)
    present, rest = np.unique(rest, return_inverse=True)
    parts = len(present)
    shape = (parts, *(each.size for each in moved), sensitive.size)
    if math.prod(shape) > MOST_CELLS:
        return None
    groups = np.ravel_multi_index((rest, *(each.original for each in moved)), shape[:-1])
    people = Subjects(groups, sensitive.original, math.prod(shape[:-1]), sensitive.size, missing)
    cells = np.ravel_multi_index((rest, *(each.released for each in moved), sensitive.released), shape)
    joint = np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(np.float64)
    factors = [(1.0, 0.0), *(channels.inverse(each.p, each.size) for each in (*moved, sensitive))]
    estimate = channels.apply(factors, joint)
    totals = estimate.reshape(-1, people.size).sum(axis=0)
    values = people.present(estimate.reshape(people.count, people.size))
    guesses = np.where(values.max(axis=1) > 0, values.argmax(axis=1), people.everybody(totals))
    return _compared(people, guesses, totals)


def of_buckets(people: Subjects, buckets: NDArray[np.int32]) -> Guesses:
    """How often the attacker of a bucketized table is right, given the group (n,) of each of its people.

    The values of a group are spread evenly over its rows: a row has each value with the share that it has of the group.
    The guess is what is most frequent by that over all rows of a combination of quasi-identifiers.
    """
    listed = _counts(buckets, people.values, people.size)
    rows = np.bincount(buckets)
    seen = _counts(buckets, people.groups, people.count)
    starts = np.searchsorted(listed[0], np.arange(len(rows) + 1))
    lengths = np.diff(starts)[seen[0]]
    entries = concatenated_ranges(starts[:-1][seen[0]], lengths)
    groups, count = np.repeat(seen[1], lengths), np.repeat(seen[2], lengths)
    weights = count * listed[2][entries] / rows[listed[0][entries]]
    guesses = people.most_frequent(groups, listed[1][entries], weights)
    return _compared(people, guesses, np.bincount(people.values, minlength=people.size).astype(np.float64))


def _counts(buckets: NDArray[np.int32], things: Codes | Ints, size: int) -> tuple[Ints, Ints, Ints]:
    """The different pairs of a bucket and a thing, and how many rows have each, in ascending order."""
    pairs, counts = np.unique(buckets.astype(np.int64) * size + things, return_counts=True)
    return pairs // size, pairs % size, counts
