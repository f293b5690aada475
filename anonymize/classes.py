"""Equivalence classes in batches: every class of a table at once, as a row permutation and an array of class starts.

Nothing here loops over classes. Each property of a class (its size, its box in each attribute, its rows) is one array
over all classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from anonymize.records import dataclass

Codes = NDArray[np.unsignedinteger]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Integers = NDArray[np.integer[Any]]
Weight = TypeVar("Weight", np.int64, np.float64)


@dataclass(frozen=True)
class Partition:
    """Disjoint classes of rows.

    `order` (rows,) uint32: row numbers, class after class, ascending within a class. `starts` (classes + 1,) int64:
    class c holds `order[starts[c]:starts[c + 1]]`. Classes are numbered by their first row, so that equal partitions
    are equal arrays whatever order they were found in. Rows of no class (left out of the release) are simply absent
    from `order`.
    """

    order: NDArray[np.uint32]
    starts: Ints

    @classmethod
    def of_blocks(cls, rows: list[NDArray[np.uint32]], sizes: list[Ints]) -> Partition:
        """The partition whose classes are listed block by block: each block's rows, which are freed, and the sizes of
        its classes."""
        order = np.concatenate(rows) if rows else np.empty(0, np.uint32)
        rows.clear()
        size = np.concatenate(sizes) if sizes else np.empty(0, np.int64)
        starts = starts_of(size)
        rank = np.argsort(order[starts[:-1]], kind="stable")
        begins, ranked = starts[:-1][rank], starts_of(size[rank])
        arranged = np.empty_like(order)
        for first, stop in pairwise(_bounds(ranked)):
            block = slice(first, stop)
            arranged[ranked[first] : ranked[stop]] = order[concatenated_ranges(begins[block], size[rank[block]])]
        return cls(arranged, ranked)

    @classmethod
    def of_labels(cls, labels: NDArray[np.integer]) -> Partition:
        """The partition of rows 0 ... n - 1 in which rows share a class when their labels (n,) are equal.

        >>> partition = Partition.of_labels(np.array([7, 3, 7, 3, 9]))
        >>> partition.order.tolist(), partition.starts.tolist()
        ([0, 2, 1, 3, 4], [0, 2, 4, 5])
        """
        order = np.argsort(labels, kind="stable").astype(np.uint32)
        edges = np.flatnonzero(np.diff(labels[order])) + 1
        sizes = np.diff(np.concatenate(([0], edges, [len(labels)]))) if len(labels) else np.empty(0, np.int64)
        return cls.of_blocks([order], [sizes.astype(np.int64)])

    @classmethod
    def of_kept(cls, labels: Ints, mask: Bools) -> tuple[Partition, NDArray[np.uint32]]:
        """The partition of rows given by their class (rows,), and the rows of the classes that are not kept (classes,),
        ascending."""
        grouping = KeyGroups.of(labels, len(mask))
        order = grouping.order.astype(np.uint32)
        sizes = np.diff(grouping.starts, append=len(order))
        stays = mask[labels[grouping.first]]
        rows = np.repeat(stays, sizes)
        return cls.of_blocks([order[rows]], [sizes[stays]]), np.sort(order[~rows])

    @property
    def count(self) -> int:
        """Number of classes."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> Ints:
        """(classes,) rows of each class."""
        return np.diff(self.starts)

    @property
    def labels(self) -> Ints:
        """(rows of the classes,) number of the class of each row of `order`."""
        return np.repeat(np.arange(self.count), self.sizes)

    def boxes(self, codes: Codes) -> tuple[Codes, Codes]:
        """Lowest and highest code of each class, (classes,) each, from the codes (rows,) of one attribute.

        >>> low, high = Partition.of_labels(np.array([7, 3, 7, 3])).boxes(np.array([5, 1, 2, 1], np.uint8))
        >>> low.tolist(), high.tolist()
        ([2, 1], [5, 1])
        """
        arranged = codes[self.order]
        return np.minimum.reduceat(arranged, self.starts[:-1]), np.maximum.reduceat(arranged, self.starts[:-1])

    def renumbered(self, rows: NDArray[np.uint32]) -> Partition:
        """The classes under other row numbers: row i becomes `rows[i]`, which ascend."""
        return Partition(rows[self.order], self.starts)

    def class_of(self, rows: int) -> NDArray[np.int32]:
        """(rows,) number of each row's class, -1 for a row of no class."""
        labels = np.full(rows, -1, np.int32)
        for first, stop in pairwise(_bounds(self.starts)):
            numbers = np.arange(first, stop, dtype=np.int32)
            labels[self.order[self.starts[first] : self.starts[stop]]] = np.repeat(numbers, self.sizes[first:stop])
        return labels


PIECE = 1 << 20
"""Rows that are arranged at once."""


def _bounds(starts: Ints) -> list[int]:
    """Classes between which pieces of about `PIECE` rows lie, from 0 to all of them."""
    ends = np.arange(0, starts[-1] + PIECE, PIECE)
    bounds = np.minimum(np.searchsorted(starts, ends), len(starts) - 1).tolist()
    return sorted({0, *bounds, len(starts) - 1})


def starts_of(sizes: Ints | Bools) -> Ints:
    """(classes + 1,) offsets of consecutive classes of the given sizes (classes,); of a mask, how many are taken before
    each."""
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def concatenated_ranges(starts: Ints, sizes: Ints) -> Ints:
    """The indices `starts[i] ... starts[i] + sizes[i] - 1` of every i, one after the other.

    >>> concatenated_ranges(np.array([10, 3]), np.array([2, 3])).tolist()
    [10, 11, 3, 4, 5]
    """
    offsets = starts_of(sizes)
    return np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes)


def run_starts(ordered: NDArray[np.generic]) -> Ints:
    """Where each run of equal neighbours (n,) begins."""
    begins = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return np.flatnonzero(begins)


def summed_by_key(keys: Ints, weights: NDArray[Weight]) -> tuple[Ints, NDArray[Weight]]:
    """The different keys (rows,), ascending, and the sum of the weights (rows,) of each: by a sort, which is quick
    where keys come in runs that ascend."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = run_starts(keys)
    return keys[first], np.add.reduceat(weights[order], first)


MOST_KEYS = 1 << 62
"""Numbers of combinations stay below this, so that none overflows and a position can be packed with a small one."""


def mixed_radix(columns: Sequence[Integers], sizes: Sequence[int]) -> tuple[Ints, int]:
    """(n,) a number for each combination of the columns (n,), equal for equal ones, and what all numbers are below.

    Each column is below its size. The numbers are in lexicographic order of the combinations. Where they would grow too
    large, those so far are replaced by their ranks, of which there are at most n: that changes neither their order nor
    which of them are equal.
    """
    keys, span = np.zeros(len(columns[0]) if columns else 0, np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if size == 1:
            continue
        if span * size >= MOST_KEYS:
            keys, span = np.unique(keys, return_inverse=True)[1].astype(np.int64), len(keys)
        keys *= size
        keys += column
        span *= size
    return keys, span


def same_rows(some: Sequence[Integers], others: Sequence[Integers]) -> bool:
    """Whether two tables have the same rows, in whatever order: columns of codes (n,), (m,), none below 0."""
    if not some or len(some[0]) != len(others[0]):
        return not some
    both = [np.concatenate(pair) for pair in zip(some, others, strict=True)]
    keys, _ = mixed_radix(both, [int(each.max(initial=0)) + 1 for each in both])
    rows = len(some[0])
    return bool(np.array_equal(np.sort(keys[:rows]), np.sort(keys[rows:])))


def first_of_each(*keys: Integers) -> Ints:
    """Positions, ascending, of the first of the rows that have the same of every key (n,), of which none is below 0."""
    joined, _ = mixed_radix(keys, [int(key.max(initial=0)) + 1 for key in keys])
    order = np.argsort(joined, kind="stable")
    return np.sort(order[run_starts(joined[order])])


@dataclass(frozen=True)
class KeyGroups:
    """Equal keys put together. `order` (n,): positions group by group. `starts` (groups,): where each begins in it."""

    order: Ints
    starts: Ints

    @classmethod
    def of(cls, keys: Ints, span: int) -> KeyGroups:
        """The groups of keys (n,) below `span`, in ascending order of their keys, positions ascending within a group.

        Where 63 bits hold a key and a position, these are packed into one number: sorting plain numbers is faster than
        an argsort, and the low bits keep equal keys in the order of their positions.
        """
        bits = max(len(keys) - 1, 1).bit_length()
        if span.bit_length() + bits > 63:
            order = np.argsort(keys, kind="stable")
            return cls(order, run_starts(keys[order]))
        packed = (keys << bits) | np.arange(len(keys))
        packed.sort()
        order = packed & ((1 << bits) - 1)
        packed >>= bits
        return cls(order, run_starts(packed))

    @property
    def first(self) -> Ints:
        """(groups,) position of a member of each group."""
        return self.order[self.starts]

    @cached_property
    def group(self) -> Ints:
        """(n,) which group each position is in."""
        sizes = np.diff(self.starts, append=len(self.order))
        group = np.empty(len(self.order), np.int64)
        group[self.order] = np.repeat(np.arange(len(self.starts)), sizes)
        return group


DENSE = 1 << 16
"""A table of counts with at most this many cells is always worth it,"""
DENSE_PER_ROW = 4
"""and so is one with at most this many cells per row."""
ROWS_EACH = 1 << 14
"""Classes of so many rows, on average, are counted one by one,"""
PIECE_COUNTED = 1 << 16
"""so many rows at once, as near the processor as their codes and their counts then are."""


@dataclass(frozen=True)
class Runs:
    """Distinct values of one attribute in each class, with their counts: three parallel arrays sorted by class, then
    code."""

    classes: Ints
    codes: Ints
    counts: Ints

    @classmethod
    def count_values(
        cls, labels: Integers, codes: Integers, classes: int, size: int, weights: Integers | None = None
    ) -> Runs:
        """Runs of rows given by their class (rows,) and code (rows,), in any order.

        `size` is the number of leaves of the attribute, `weights` (rows,) how many rows each row stands for, None for
        one. Counted in a dense (classes x leaves) table where that is worth it, else by a sort.
        """
        keys = labels.astype(np.int64) * size + codes
        if weights is None:
            return cls._of_keys(keys, classes, size)
        return cls._of_cells(*summed_by_key(keys, weights.astype(np.int64)), size)

    @classmethod
    def of_one(cls, counts: Ints) -> Runs:
        """The runs of rows that are all in one class: (size,) how many have each code."""
        codes = np.flatnonzero(counts)
        return cls(np.zeros(len(codes), np.int64), codes, counts[codes])

    @classmethod
    def count_classes(cls, sizes: Ints, codes: Codes, size: int) -> Runs:
        """The runs of rows that come class after class: `sizes` (classes,) rows of each class, `codes` (rows,)."""
        if 0 < len(sizes) * ROWS_EACH <= len(codes) and _is_dense(len(sizes), size, len(codes)):
            table = np.concatenate([_counted(codes[a:b], size) for a, b in pairwise(starts_of(sizes).tolist())])
            return cls._of_table(table, size)
        keys = np.repeat(np.arange(len(sizes)) * size, sizes)
        keys += codes
        return cls._of_keys(keys, len(sizes), size)

    @classmethod
    def _of_keys(cls, keys: Ints, classes: int, size: int) -> Runs:
        """The runs of rows given by class * size + code (rows,), which are overwritten."""
        if _is_dense(classes, size, len(keys)):
            return cls._of_table(np.bincount(keys, minlength=classes * size), size)
        keys.sort()
        edges = run_starts(keys)
        return cls._of_cells(keys[edges], np.diff(edges, append=len(keys)), size)

    @classmethod
    def _of_table(cls, table: Ints, size: int) -> Runs:
        """The runs of rows counted in each class * size + code, (classes * size,)."""
        occupied = np.flatnonzero(table)
        return cls._of_cells(occupied, table[occupied], size)

    @classmethod
    def _of_cells(cls, cells: Ints, counts: Ints, size: int) -> Runs:
        """The runs of cells class * size + code (runs,), ascending."""
        owner = cells // size
        return cls(owner, cells - owner * size, counts)

    def subset(self, mask: Bools) -> Runs:
        """Some of the entries (entries,)."""
        return Runs(self.classes[mask], self.codes[mask], self.counts[mask])

    @classmethod
    def joined(cls, pieces: Sequence[Runs]) -> Runs:
        """The runs of successive classes, at least one piece of them, in one."""
        if len(pieces) == 1:
            return pieces[0]
        columns = ([each.classes, each.codes, each.counts] for each in pieces)
        return cls(*(np.concatenate(arrays) for arrays in zip(*columns, strict=True)))


def _is_dense(classes: int, size: int, rows: int) -> bool:
    """Whether so many rows are counted in a table with a cell for every code of every class."""
    return classes * size <= max(DENSE_PER_ROW * rows, DENSE)


def _counted(codes: Codes, size: int) -> Ints:
    """(size,) how many rows (n,) have each code."""
    counts = np.zeros(size, np.int64)
    step = max(PIECE_COUNTED, size)
    for first in range(0, len(codes), step):
        counts += np.bincount(codes[first : first + step], minlength=size)
    return counts


def distinct_values(partition: Partition, codes: Codes, size: int) -> Ints:
    """(classes,) how many different codes (rows,) of an attribute with `size` leaves each class has.

    Only classes whose box is wider than two codes are counted.
    """
    if not partition.count:
        return np.zeros(0, np.int64)
    low, high = partition.boxes(codes)
    span = high.astype(np.int64) - low
    distinct: Ints = np.minimum(span, 1) + 1
    wide = np.flatnonzero(span > 1)
    sizes = partition.sizes[wide]
    rows = partition.order[concatenated_ranges(partition.starts[wide], sizes)]
    labels = np.repeat(np.arange(len(wide)), sizes)
    runs = Runs.count_values(labels, codes[rows], len(wide), size)
    distinct[wide] = np.bincount(runs.classes, minlength=len(wide))
    return distinct
