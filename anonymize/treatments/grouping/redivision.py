"""Two or three groups of rows at once are divided anew: one of all divisions is drawn, by its sum of squares.

A group of n rows loses the sum of the squared distances of its pairs of rows over n. So the sums of all divisions of
some rows are one product of matrices: which pairs of rows a division leaves together, times the distances of these
pairs. A division is drawn from their Gibbs distribution at a temperature, at 0 the best. Of two groups of three rows
there are 10 divisions, of three such groups 280, of two groups of five rows 126; where there are too many, nothing is
divided here.

Distances are whole numbers in double precision, so that their sums are exact, in whatever order they are added.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.refining import Singles
from anonymize.algorithms.refining.exchanges import ClassRows
from anonymize.classes import Bools, Floats, Ints
from anonymize.records import dataclass

ROWS = 2048
"""Rows of a table whose distances are kept, at most."""
USUAL, MOST = 512, 4096
"""Divisions of groups of k rows, at most, and of larger ones."""
NOISE = 1 << 17
"""Gumbel numbers, of which every sweep takes a run that begins at random."""
WHOLE = float(1 << 30)
"""The largest distance as a whole number."""


@dataclass(frozen=True)
class Divisions:
    """All divisions of n rows. `order` (divisions, n): the rows, those of the first group first; `sizes` (divisions,
    groups); `weights` (divisions, pairs of rows): whole numbers, by which the distance of each pair counts; `scale`
    (divisions, 1): what their sum is divided by; `pairs` (2, pairs)."""

    order: Ints
    sizes: Ints
    weights: Floats
    scale: Floats
    pairs: NDArray[np.intp]


@cache
def divisions(rows: int, groups: int, k: int) -> Divisions | None:
    """The divisions of so many rows into two groups of at least k rows, or into three of k; None of more than `MOST`,
    and where a group could have more than 2k rows."""
    if _count(rows, groups, k) > MOST or not groups * k <= rows <= (groups + 1) * k or (groups > 2 and rows > 3 * k):
        return None
    labels = np.array(_two(rows, k) if groups == 2 else _three(k))
    sizes = np.stack([(labels == group).sum(axis=1) for group in range(groups)], axis=1)
    scale = np.lcm.reduce(sizes, axis=1)[:, None]
    pairs = np.stack(np.triu_indices(rows, 1))
    together = labels[:, pairs[0]] == labels[:, pairs[1]]
    weights = together * (scale // np.take_along_axis(sizes, labels[:, pairs[0]], axis=1))
    order = np.argsort(labels, axis=1, kind="stable")
    return Divisions(order, sizes, weights.astype(np.float64), scale.astype(np.float64), pairs)


def _count(rows: int, groups: int, k: int) -> int:
    """How many divisions there are."""
    if groups == 3:
        return comb(3 * k - 1, k - 1) * comb(2 * k - 1, k - 1)
    return sum(comb(rows - 1, size - 1) for size in range(k, rows - k + 1))


def _two(rows: int, k: int) -> list[list[int]]:
    """The group of each row in all divisions into two; the first row is in the first."""
    return [
        [int(row not in first) for row in range(rows)]
        for size in range(k, rows - k + 1)
        for first in ({0, *others} for others in combinations(range(1, rows), size - 1))
    ]


def _three(k: int) -> list[list[int]]:
    """The group of each row in all divisions of 3k rows into three of k."""
    made = []
    for first in ({0, *others} for others in combinations(range(1, 3 * k), k - 1)):
        left = [row for row in range(3 * k) if row not in first]
        made += [
            [0 if row in first else 1 if row in second else 2 for row in range(3 * k)]
            for second in ({left[0], *others} for others in combinations(left[1:], k - 1))
        ]
    return made


class Redivision:
    """Groups of at least `k` rows of a table, which are divided anew. `distances` (rows, rows): whole numbers, in units
    of `unit`."""

    def __init__(self, values: Floats, k: int, rng: np.random.Generator) -> None:
        squares = np.zeros((len(values), len(values)))
        for column in values.T:
            squares += np.square(column[:, None] - column)
        self.k, self.unit = k, max(float(squares.max()), np.finfo(np.float64).tiny) / WHOLE
        self.distances = np.rint(squares / self.unit)
        self.rng, self.noise = rng, rng.gumbel(size=NOISE)

    @staticmethod
    def most(k: int) -> int:
        """How many groups of k rows can be divided at once: three, two, or 0."""
        return next((groups for groups in (3, 2) if _count(groups * k, groups, k) <= USUAL), 0)

    def divide(self, members: ClassRows, groups: Ints, temperature: Singles) -> Bools:
        """Divides groups (n, two or three), none of which is there twice; returns (n,) which were divided.
        `temperature` (n,)."""
        rows = members.sizes[groups].sum(axis=1)
        done: Bools = np.zeros(len(groups), np.bool_)
        for count in np.unique(rows).tolist():
            ways = divisions(count, groups.shape[1], self.k)
            if ways is not None:
                some = np.flatnonzero(rows == count)
                self._divide(members, groups[some], temperature[some], ways)
                done[some] = True
        return done

    def _divide(self, members: ClassRows, groups: Ints, temperature: Singles, ways: Divisions) -> None:
        """Divides groups that have the same number of rows together."""
        own = members.rows[groups]
        place = np.arange(own.shape[2])
        rows = own[place < members.sizes[groups][:, :, None]].reshape(len(groups), -1)
        lost = ways.weights @ self.distances[rows[:, ways.pairs[0]], rows[:, ways.pairs[1]]].T
        lost *= self.unit / ways.scale
        if temperature.any():
            begin = int(self.rng.integers(0, max(NOISE - lost.size, 1)))
            lost -= temperature * np.resize(self.noise[begin : begin + lost.size], lost.shape)
        chosen = lost.argmin(axis=0)
        own[place < ways.sizes[chosen][:, :, None]] = np.take_along_axis(rows, ways.order[chosen], 1).ravel()
        members.rows[groups], members.sizes[groups] = own, ways.sizes[chosen]
