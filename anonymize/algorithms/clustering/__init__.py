"""Clusters of rows by the weighted normalized certainty penalty (NCP) of their boxes, for many boxes at once: what
the bottom-up and the top-down method share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Floats, Integers, Ints, Partition
from anonymize.domain import Domain
from anonymize.domain.numeric import Numeric
from anonymize.records import dataclass
from anonymize.table import Attribute

# --- NCP --------------------------------------------------------------------------------------------------------------
# Weighted normalized certainty penalty (NCP) of many boxes at once.
#
# A box is the lowest and the highest code of some rows in each quasi-identifier. The box of a union has the lower of
# the two lows and the higher of the two highs, so the penalty of a union is a function of two boxes, whatever the kind
# of the attribute: an interval of numbers, or the lowest node of a hierarchy above both.

Corners = NDArray[np.int32]
"""(attributes, ...) codes: one end of boxes, or rows."""

TABLE_SIZE = 512
"""With at most this many leaves, the penalties of all intervals of an attribute are looked up in a table."""

PAIRED_BOXES = 1024
"""With at most this many different intervals, the penalties of all unions of two are looked up in a table."""


def codes_of(attributes: Sequence[Attribute], rows: Integers | slice = slice(None)) -> Corners:
    """(attributes, rows) codes of some rows."""
    return np.stack([attribute.codes[rows].astype(np.int32) for attribute in attributes])


class Penalty:
    """Weighted NCP of one row of a box: the sum over attributes of weight x cost, added up in their order.

    A box inside another never has the greater penalty, down to the last bit, as long as that holds for each domain's
    cost. The pruning of the searches relies on it.
    """

    def __init__(self, domains: Sequence[Domain], weights: Sequence[float]) -> None:
        self.domains, self.weights = tuple(domains), tuple(weights)
        self._tabled = [index for index, domain in enumerate(domains) if domain.size <= TABLE_SIZE]
        sizes = [domains[index].size for index in self._tabled]
        tables = [self._table(index) for index in self._tabled]
        self._flat: Floats = np.concatenate(tables) if tables else np.empty(0)
        self._sizes = np.array(sizes, np.intp)
        self._offsets = np.array([0, *np.cumsum(np.square(sizes))][: len(sizes)], np.intp)
        self._whole = len(self._tabled) == len(self.domains)

    @classmethod
    def of(cls, attributes: Sequence[Attribute]) -> Penalty:
        """The penalty of boxes of these quasi-identifiers."""
        return cls([attribute.domain for attribute in attributes], [attribute.weight for attribute in attributes])

    def __call__(self, low: Corners, high: Corners) -> Floats:
        """(...) penalty of each box from its ends (attributes, ...); an attribute whose ends cross adds nothing."""
        tabled = self._lookup(low, high) if self._whole else self._lookup(low[self._tabled], high[self._tabled])
        costs = dict(zip(self._tabled, tabled, strict=True))
        total = np.zeros(low.shape[1:])
        for index in range(len(self.domains)):
            total += costs[index] if index in costs else self.part(index, low[index], high[index])
        return total

    def part(self, index: int, low: Integers, high: Integers) -> Floats:
        """(...) what one attribute adds to the penalty of each box; 0 where the ends cross."""
        cost = self.domains[index].cost(np.minimum(low, high), high)
        return np.where(low < high, self.weights[index] * cost, 0.0)

    def _lookup(self, low: Corners, high: Corners) -> Floats:
        shape = (-1,) + (1,) * (low.ndim - 1)
        cells = np.multiply(low, self._sizes.reshape(shape), dtype=np.intp)
        cells += high
        cells += self._offsets.reshape(shape)
        return self._flat.take(cells)

    def _table(self, index: int) -> Floats:
        """(size * size,) the penalties of one attribute, at low x size + high."""
        low, high = np.divmod(np.arange(self.domains[index].size ** 2), max(self.domains[index].size, 1))
        return self.part(index, low, high)


@dataclass(frozen=True)
class GroupBoxes:
    """Groups of rows as the penalty sees them: `low`, `high` (attributes, groups) and `sizes` (groups,)."""

    low: Corners
    high: Corners
    sizes: Ints

    @classmethod
    def of(cls, codes: Corners, partition: Partition) -> GroupBoxes:
        """The boxes of a partition of rows whose codes (attributes, rows) are given."""
        arranged = codes[:, partition.order]
        starts = partition.starts[:-1]
        low = np.minimum.reduceat(arranged, starts, axis=1)
        return cls(low, np.maximum.reduceat(arranged, starts, axis=1), partition.sizes)

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.sizes)

    def ncp(self, penalty: Penalty) -> Floats:
        """(groups,) NCP of each group, summed over its rows."""
        return penalty(self.low, self.high) * self.sizes


def weighted_ncp(attributes: Sequence[Attribute], partition: Partition) -> float:
    """Weighted NCP of a partition as it will read, summed over its rows."""
    return float(shown_ncp(attributes, codes_of(attributes), partition).sum())


def shown_ncp(attributes: Sequence[Attribute], codes: Corners, partition: Partition) -> Floats:
    """(classes,) weighted NCP of each class as it will read, summed over its rows, from codes (attributes, rows).

    A class of numbers and missing values costs what its numbers span, and a leaf's share; its box alone says no more
    than that they are below the highest of all. Where ends are rounded it costs what that comes to on average.
    """
    boxes = GroupBoxes.of(codes, partition)
    total = boxes.ncp(Penalty.of(attributes))
    for index, attribute in enumerate(attributes):
        domain, low, high = attribute.domain, boxes.low[index], boxes.high[index]
        if not isinstance(domain, Numeric):
            continue
        if domain.missing is not None:
            mixed = np.flatnonzero((high == domain.missing) & (low < high))
            numbers = np.where(codes[index] == domain.missing, 0, codes[index])
            high = high.copy()
            high[mixed] = partition.boxes(numbers)[1][mixed]
            cost = np.minimum(domain.cost(low[mixed], high[mixed]) + 1 / domain.size, 1)
            rise = domain.cost(low[mixed], boxes.high[index][mixed]) - cost
            total[mixed] -= attribute.weight * rise * boxes.sizes[mixed]
        if domain.rounds:
            wider = domain.expected_cost(low, high) - domain.cost(low, high)
            total += attribute.weight * wider * boxes.sizes
    return total


class UnionPenalties:
    """Penalties of the unions of any two of some boxes, many at a time.

    An attribute in which the boxes show few different intervals is looked up in a table of pairs of these.
    """

    def __init__(self, penalty: Penalty, boxes: GroupBoxes) -> None:
        self._penalty, self._boxes = penalty, boxes
        self._tables: list[tuple[Ints, Floats] | None] = [self._paired(index) for index in range(len(boxes.low))]

    def __call__(self, first: Ints, second: Ints) -> Floats:
        """(a, b) penalty of one row of each union of a group of `first` (a,) with one of `second` (b,)."""
        total = np.zeros((len(first), len(second)))
        for index, paired in enumerate(self._tables):
            if paired is None:
                low, high = self._boxes.low[index], self._boxes.high[index]
                lows = np.minimum(low[first][:, None], low[second])
                total += self._penalty.part(index, lows, np.maximum(high[first][:, None], high[second]))
            else:
                number, table = paired
                total += table[number[first]].take(number[second], axis=1)
        return total

    def _paired(self, index: int) -> tuple[Ints, Floats] | None:
        """Which of the different intervals each box has in an attribute, and their unions' penalties."""
        size = max(self._penalty.domains[index].size, 1)
        key = self._boxes.low[index].astype(np.int64) * size + self._boxes.high[index]
        different, number = np.unique(key, return_inverse=True)
        if len(different) > PAIRED_BOXES:
            return None
        low, high = np.divmod(different, size)
        lows, highs = np.minimum(low[:, None], low), np.maximum(high[:, None], high)
        return number, self._penalty.part(index, lows, highs)
