"""Recursive partitioning of a table, all classes of a batch at a time, which Mondrian's cut rules share. A batch:
neighbouring classes whose rows are copied out of the table and laid side by side, ready to be cut; the row of a rank
in each of them, and the cuts between two neighbouring leaves that lie nearest to such a rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Bools, Codes, Ints, Runs, concatenated_ranges, starts_of
from anonymize.records import dataclass

# --- ranks ------------------------------------------------------------------------------------------------------------
# The row of a rank in each of many classes, in the order of their codes.

Statistic = tuple[Ints, Ints, Ints]
"""(m,) each: the code at a rank of each class, how many rows have lower codes, how many have codes up to it."""


ONE_BY_ONE_ROWS = 1 << 10
"""Classes of so many rows, on average, are looked at one by one."""


def order_statistic(codes: Codes, sizes: Ints, size: int, rank: Ints) -> Statistic:
    """For each class (m,) of `sizes` rows the code at a 0-based rank (m,). `codes` (n,): the code of each row, class
    after class; `size`: what codes are below.

    Numbered by class, then code, the rows of class c come after all of the classes before it; so the row of rank r is
    at the class's start + r, in the counts and in the sorted keys alike."""
    if len(sizes) * size <= len(codes):
        return counted_statistic(Runs.count_classes(sizes, codes, size), sizes, rank)
    if len(sizes) * ONE_BY_ONE_ROWS <= len(codes):
        return _one_by_one(codes, sizes, rank)
    starts = starts_of(sizes)[:-1]
    origin = np.arange(len(sizes)) * size
    wide = np.uint32 if len(sizes) * size < 2**32 else np.uint64
    keys: NDArray[np.unsignedinteger[Any]] = np.repeat(origin.astype(wide), sizes)
    keys += codes
    keys.sort()
    cells = keys[starts + rank]
    below = np.searchsorted(keys, cells, side="left") - starts
    return cells.astype(np.int64) - origin, below, np.searchsorted(keys, cells, side="right") - starts


def _one_by_one(codes: Codes, sizes: Ints, rank: Ints) -> Statistic:
    """The statistic, class by class: to find the code at one rank is far less work than to sort a class."""
    statistic = np.empty((3, len(sizes)), np.int64)
    for place, (stop, size, own) in enumerate(
        zip(np.cumsum(sizes).tolist(), sizes.tolist(), rank.tolist(), strict=True)
    ):
        rows = codes[stop - size : stop]
        code = np.partition(rows, own)[own]
        statistic[:, place] = code, np.count_nonzero(rows < code), np.count_nonzero(rows <= code)
    return statistic[0], statistic[1], statistic[2]


def counted_statistic(runs: Runs, sizes: Ints, rank: Ints) -> Statistic:
    """The statistic of classes whose rows have been counted: the run that holds a rank is the first whose rows, with
    all before it, are more than that."""
    starts = starts_of(sizes)[:-1]
    upto = np.cumsum(runs.counts)
    places = np.searchsorted(upto, starts + rank, side="right")
    return runs.codes[places], upto[places] - runs.counts[places] - starts, upto[places] - starts


# --- batch ------------------------------------------------------------------------------------------------------------
# A batch: neighbouring classes whose rows are copied out of the table and laid side by side, ready to be cut.
#
# Copying the codes class by class is what keeps every later pass over them sequential and inside the cache.

Arranging = Callable[[Sequence[Codes]], list[Codes]]
"""Some columns of a batch (n,) -> the same rows of each of them, in another order, or some of them."""


@dataclass(frozen=True)
class Batch:
    """C classes of n rows in all.

    `rows` (n,) uint32 row numbers, class after class; `columns` one (n,) array of codes per quasi-identifier, or none
    of one that is settled: it had a single code in every class that these are parts of, which `settled` (C,
    attributes) has;
    `sensitive` the same per sensitive attribute that a requirement looks at, `targets` per target that a rule looks at;
    `sizes` (C,). `closed` (C, attributes): no cut of this class, nor of any part of it, is allowed on the attribute.
    `attempts` (C, attributes) uint8: cuts of this very class that a privacy model has refused. `notes`: what a rule has
    worked out about this batch and may need again. `ranked_codes`: of each attribute, the classes that it was last
    ranked in, and the codes of their rows: most often these are then cut there.
    """

    rows: NDArray[np.uint32]
    columns: tuple[Codes, ...]
    sensitive: tuple[Codes, ...]
    sizes: Ints
    closed: Bools
    attempts: NDArray[np.uint8]
    targets: tuple[Codes, ...] = ()
    settled: NDArray[np.uint32] | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    ranked_codes: dict[int, tuple[Ints, Codes]] = field(default_factory=dict)

    @classmethod
    def whole(
        cls,
        rows: NDArray[np.uint32],
        columns: tuple[Codes, ...],
        sensitive: tuple[Codes, ...],
        targets: tuple[Codes, ...] = (),
    ) -> Batch:
        """One class of all the given rows, in their order; `columns`, `sensitive` and `targets` hold the codes of the
        table's rows."""
        if len(rows) < len(columns[0]) or (rows[1:] < rows[:-1]).any():
            columns = tuple(codes[rows] for codes in columns)
            sensitive = tuple(codes[rows] for codes in sensitive)
            targets = tuple(codes[rows] for codes in targets)
        shape = (1, len(columns))
        size = np.array([len(rows)])
        return cls(rows, columns, sensitive, size, np.zeros(shape, np.bool_), np.zeros(shape, np.uint8), targets)

    @property
    def count(self) -> int:
        """Number of classes, C."""
        return len(self.sizes)

    @cached_property
    def starts(self) -> Ints:
        """(C + 1,) offsets of the classes among the rows."""
        return starts_of(self.sizes)

    @cached_property
    def labels(self) -> Ints:
        """(n,) class of each row."""
        return np.repeat(np.arange(self.count), self.sizes)

    @cached_property
    def low(self) -> NDArray[np.uint32]:
        """(C, attributes) lowest code of each class."""
        return self._reduced(np.minimum)

    @cached_property
    def high(self) -> NDArray[np.uint32]:
        """(C, attributes) highest code of each class."""
        return self._reduced(np.maximum)

    def _reduced(self, ufunc: np.ufunc) -> NDArray[np.uint32]:
        boxes = np.empty((self.count, len(self.columns)), np.uint32, order="F")
        for attribute, codes in enumerate(self.columns):
            if len(codes) or self.settled is None:
                boxes[:, attribute] = ufunc.reduceat(codes, self.starts[:-1])
            else:
                boxes[:, attribute] = self.settled[:, attribute]
        return boxes

    @property
    def unsettled(self) -> Batch:
        """The batch with the codes of all columns, for rules that look at them row by row."""
        if self.settled is None:
            return self
        columns = tuple(
            codes if len(codes) else np.repeat(own, self.sizes)
            for codes, own in zip(self.columns, self.settled.T, strict=True)
        )
        return replace(self, columns=columns, settled=None)

    def codes_of(self, attribute: int, classes: Ints) -> Codes:
        """The codes of an attribute in the rows of some classes (m,), ascending, class after class."""
        codes = self.columns[attribute]
        return codes if len(classes) == self.count else codes.take(self.rows_of(classes))

    def cut_codes(self, attribute: int, classes: Ints) -> Codes:
        """The codes of classes that are cut; where the attribute was ranked, they have been looked up already."""
        ranked = self.ranked_codes.get(attribute)
        if ranked is not None and np.array_equal(ranked[0], classes):
            return ranked[1]
        return self.codes_of(attribute, classes)

    def labels_of(self, classes: Ints) -> Ints:
        """The class of each of these rows, as an index into the classes."""
        return self.labels if len(classes) == self.count else np.repeat(np.arange(len(classes)), self.sizes[classes])

    def runs_of(self, attribute: int, classes: Ints, size: int) -> Runs:
        """The codes of an attribute, each below `size`, that occur in some classes (m,), ascending, with their rows."""
        return Runs.count_classes(self.sizes[classes], self.codes_of(attribute, classes), size)

    def ranked(self, attribute: int, classes: Ints, size: int, rank: Ints) -> Statistic:
        """The code at a rank (m,) of each of some classes; see `order_statistic`."""
        codes = self.codes_of(attribute, classes)
        self.ranked_codes[attribute] = classes, codes
        return order_statistic(codes, self.sizes[classes], size, rank)

    def rows_of(self, classes: Ints) -> Ints:
        """Positions in the batch of the rows of some classes (m,), class after class."""
        return concatenated_ranges(self.starts[:-1][classes], self.sizes[classes])

    def take(self, arrange: Arranging, sizes: Ints, parents: Ints, attempts: NDArray[np.uint8]) -> Batch:
        """The batch of other classes of the same rows: `arrange` picks and orders rows, `parents` says what class each
        class came from."""
        varies = np.any(self.low < self.high, axis=0).tolist()
        varied = [codes for codes, some in zip(self.columns, varies, strict=True) if some]
        laid: Iterator[Any] = iter(arrange([self.rows, *varied, *self.sensitive, *self.targets]))
        return Batch(
            next(laid),
            tuple(next(laid) if some else codes[:0] for codes, some in zip(self.columns, varies, strict=True)),
            tuple(islice(laid, len(self.sensitive))),
            sizes,
            self.closed[parents],
            attempts,
            tuple(laid),
            self.low[parents],
        )

    def pieces(self, limit: int) -> list[Batch]:
        """The batch cut into batches of neighbouring classes, each of at most `limit` rows or of one class."""
        if len(self.rows) <= limit or self.count == 1:
            return [self]
        bounds, first = [0], 0
        while first < self.count:
            fits = int(np.searchsorted(self.starts, self.starts[first] + limit, side="right")) - 1
            first = max(fits, first + 1)
            bounds.append(first)
        return [self._slice(a, b) for a, b in pairwise(bounds)]

    def _slice(self, first: int, stop: int) -> Batch:
        rows = slice(self.starts[first], self.starts[stop])
        return replace(
            self,
            rows=self.rows[rows],
            columns=tuple(codes[rows] for codes in self.columns),
            sensitive=tuple(codes[rows] for codes in self.sensitive),
            sizes=self.sizes[first:stop],
            closed=self.closed[first:stop],
            attempts=self.attempts[first:stop],
            targets=tuple(codes[rows] for codes in self.targets),
            settled=None if self.settled is None else self.settled[first:stop],
            notes={},
            ranked_codes={},
        )


# --- cuts near the median ---------------------------------------------------------------------------------------------
# Cuts between two neighbouring leaves, as near as can be to a given number of rows on the lower side.


def nearest_cut(
    batch: Batch,
    attribute: int,
    size: int,
    classes: Ints,
    lower_rows: Ints,
    minimum: int,
    preferred: Bools | None = None,
) -> tuple[Ints, Ints, Bools]:
    """Where to cut each class so that about `lower_rows` of its rows have lower codes; equal rows stay together.

    `size` is the attribute's number of leaves; `classes` (m,) ascending; `lower_rows` (m,) at least 1 and fewer than
    the class has. Both boundaries of the run of equal codes at that place are tried, the nearer one first, the upper
    one at a tie: a value that holds most of the rows is cut off from either side. Where both are allowed and one is
    `preferred` (size + 1,), by the code that the upper side begins with, that one is taken. Returns, (m,) each: the
    code below which rows go to the first side; 0, as no row at that code does; whether both sides have at least
    `minimum` rows.
    """
    sizes = batch.sizes[classes]
    code, below, upto = batch.ranked(attribute, classes, size, lower_rows - 1)
    lower_fits = (below >= minimum) & (sizes - below >= minimum)
    upper_fits = (upto >= minimum) & (sizes - upto >= minimum)
    first = upto - lower_rows <= lower_rows - below
    if preferred is not None:
        first = np.where(preferred[code] == preferred[code + 1], first, preferred[code + 1])
    upper = upper_fits & (~lower_fits | first)
    return np.where(upper, code + 1, code), np.zeros_like(code), upper_fits | lower_fits


def parting_cut(
    batch: Batch, attribute: int, size: int, classes: Ints, lower_rows: Ints, minimum: int
) -> tuple[Ints, Ints, Bools]:
    """Where to cut each class so that exactly `lower_rows` of its rows go to the first side; equal rows may part.

    The second result says how many of the rows at the code itself are among them: those that come first in the batch
    (see `parting_order`).
    """
    sizes = batch.sizes[classes]
    code, below, _ = batch.ranked(attribute, classes, size, lower_rows - 1)
    return code, lower_rows - below, (lower_rows >= minimum) & (sizes - lower_rows >= minimum)


def parting_order(rows: NDArray[np.uint32], columns: Sequence[Codes]) -> NDArray[np.uint32]:
    """The rows, ascending, in the order in which those that are equal where they are cut part: by their other values.

    Rows are laid by the attribute of fewest different values, then by that of next fewest, and so on; of equally many
    by the first. So what parts from its equals has as many values as can be in common, and in those with little to
    choose from, where a class that mixes them loses most. Rows that are alike throughout part in the order of the
    table. `columns`: the codes of the table's rows.
    """
    codes = [column[rows] for column in columns]
    different = [np.count_nonzero(np.bincount(own)) for own in codes]
    few = np.argsort(different, kind="stable")
    return np.asarray(rows[np.lexsort([codes[index] for index in few[::-1]])])
