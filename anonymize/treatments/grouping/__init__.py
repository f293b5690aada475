"""How microaggregation groups rows."""

from __future__ import annotations

import numpy as np

from anonymize.classes import Bools, Floats, Ints

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
