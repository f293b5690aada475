"""How microaggregation groups rows."""

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

# --- MDAV -------------------------------------------------------------------------------------------------------------
# MDAV: groups of k rows around the rows that lie farthest out.
#
# As long as 3k rows are left, the row farthest from their mean gets a group with the k - 1 rows nearest to it, and the
# row farthest from that one gets another; of fewer than 3k rows, the first k are grouped so; the others are the last
# group. Equally far rows are taken in the order of the table, so that a table in another order may be grouped otherwise
# where it has ties, and only there. (Domingo-Ferrer and Torra: Ordinal, continuous and heterogeneous k-anonymity
# through microaggregation, Data Mining and Knowledge Discovery 2005.)
#
# Blocks of one size are worked on side by side. The rows of a whole table are one block: that takes a look at all rows
# that are left for every two groups, rows squared over k. A large table in blocks of near rows takes rows times the
# rows of a block instead, and loses little.

COMPACT = 0.75
"""Once less than this share of a block's rows is left, the others are dropped from memory."""


def mdav(values: Floats, k: int) -> Ints:
    """(rows,) the group of each row, from 0, given the values (rows, columns): k to 2k - 1 rows in each, or all rows
    where there are fewer than 2k."""
    return np.asarray(mdav_of_blocks(values, np.arange(len(values))[None], k)[0])


def mdav_in_blocks(values: Floats, k: int, rows: int) -> Ints:
    """(rows,) the group of each row, from 0, where groups lie in blocks of at most so many rows, and at least 2k."""
    group, count = np.empty(len(values), np.int64), 0
    blocks = near_blocks(values, k, rows)
    sizes = np.array([len(block) for block in blocks])
    for size in np.unique(sizes):
        same = np.stack([blocks[index] for index in np.flatnonzero(sizes == size)])
        groups = mdav_of_blocks(values, same, k)
        each = int(groups.max()) + 1
        group[same] = count + groups + each * np.arange(len(same))[:, None]
        count += each * len(same)
    return group


def near_blocks(values: Floats, k: int, rows: int) -> list[Ints]:
    """The rows halved along the column in which they spread most until there are at most so many, each block ascending.

    Blocks are cut at multiples of k: all but the last have as many rows as whole groups of k.
    """
    todo, blocks = [np.arange(len(values))], []
    while todo:
        block = todo.pop()
        if len(block) <= max(rows, 4 * k):
            blocks.append(np.sort(block))
            continue
        own = values[block]
        order = np.argsort(own[:, own.var(axis=0).argmax()], kind="stable")
        middle = len(block) // (2 * k) * k
        todo += [block[order[middle:]], block[order[:middle]]]
    return blocks


def mdav_of_blocks(values: Floats, blocks: Ints, k: int) -> Ints:
    """(blocks, rows of each) the group of each row within its block, given the rows of each block, ascending.

    All blocks lose k rows at a time, so that what is left of them stays one array.
    """
    count, size = blocks.shape
    group = np.empty((count, size), np.int64)
    left = _Left(np.ascontiguousarray(np.moveaxis(values[blocks], 2, 0)), k)
    number = 0
    while left.rows >= 2 * k:
        far = left.farthest(left.squares(left.mean()))
        distance = left.squares(left.columns[:, left.each, far])
        if left.rows < 3 * k:
            left.take(left.nearest(distance), number, group)
            number += 1
            break
        other = left.columns[:, left.each, left.farthest(distance)]
        left.take(left.nearest(distance), number, group)
        left.take(left.nearest(left.squares(other)), number + 1, group)
        left.compact()
        number += 2
    left.take(left.there, number, group)
    return group


class _Left:
    """The rows that are in no group yet: `columns` (columns, blocks, places), `place` (blocks, places) where each
    stands in its block; `there` (blocks, places): whether it is left; `rows`: how many are, in each block."""

    def __init__(self, columns: Floats, k: int) -> None:
        self.columns, self.k = columns, k
        _, blocks, self.rows = columns.shape
        self.each = np.arange(blocks)
        self.place = np.tile(np.arange(self.rows), (blocks, 1))
        self.there = np.ones((blocks, self.rows), np.bool_)
        self.total = columns.sum(axis=2)
        self._work = np.empty((blocks, self.rows))

    def mean(self) -> Floats:
        """(columns, blocks)"""
        return np.asarray(self.total / self.rows)

    def squares(self, point: Floats) -> Floats:
        """(blocks, places) squared distance to a point of each block (columns, blocks)."""
        distance, work = np.zeros(self.there.shape), self._work
        for column, middle in zip(self.columns, point, strict=True):
            np.subtract(column, middle[:, None], out=work)
            work *= work
            distance += work
        return distance

    def farthest(self, distance: Floats) -> Ints:
        """(blocks,) the place of the row of greatest distance, of equal ones the first."""
        return np.asarray(np.where(self.there, distance, -1.0).argmax(axis=1))

    def nearest(self, distance: Floats) -> Bools:
        """(blocks, places) the k rows of least distance, of equal ones the first."""
        distance[~self.there] = np.inf
        bound = np.partition(distance, self.k - 1, axis=1)[:, self.k - 1, None]
        chosen = distance <= bound
        for block in np.flatnonzero(np.count_nonzero(chosen, axis=1) > self.k):
            equal = np.flatnonzero(distance[block] == bound[block])
            spare = np.count_nonzero(chosen[block]) - self.k
            chosen[block, equal[len(equal) - spare :]] = False
        return chosen

    def take(self, chosen: Bools, number: int, group: Ints) -> None:
        """Gives rows, as many of each block, a group's number."""
        block, place = np.nonzero(chosen)
        group[block, self.place[block, place]] = number
        self.there[block, place] = False
        taken = self.columns[:, block, place].reshape(len(self.columns), len(self.each), -1)
        self.total -= taken.sum(axis=2)
        self.rows -= taken.shape[2]

    def compact(self) -> None:
        """Drops the rows that are in groups from memory, once they are many."""
        blocks, places = self.there.shape
        if self.rows < COMPACT * places:
            self.columns = self.columns[:, self.there].reshape(-1, blocks, self.rows)
            self.place = self.place[self.there].reshape(blocks, self.rows)
            self.there = np.ones((blocks, self.rows), np.bool_)
            self._work = np.empty((blocks, self.rows))


# --- redivision -------------------------------------------------------------------------------------------------------
# Two or three groups of rows at once are divided anew: one of all divisions is drawn, by its sum of squares.
#
# A group of n rows loses the sum of the squared distances of its pairs of rows over n. So the sums of all divisions of
# some rows are one product of matrices: which pairs of rows a division leaves together, times the distances of these
# pairs. A division is drawn from their Gibbs distribution at a temperature, at 0 the best. Of two groups of three rows
# there are 10 divisions, of three such groups 280, of two groups of five rows 126; where there are too many, nothing is
# divided here.
#
# Distances are whole numbers in double precision, so that their sums are exact, in whatever order they are added.

ROWS_WITH_DISTANCES = 2048
"""Rows of a table whose distances are kept, at most."""
USUAL, MOST = 512, 4096
"""Divisions of groups of k rows, at most, and of larger ones."""
NOISE = 1 << 17
"""Gumbel numbers, of which every sweep takes a run that begins at random."""
LARGEST_DISTANCE = float(1 << 30)
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
        self.k, self.unit = k, max(float(squares.max()), np.finfo(np.float64).tiny) / LARGEST_DISTANCE
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
