"""Rows in the order of one number, cut into groups of at least k that cost least: dynamic programming.

The least cost of the first n rows is that of a last group of some of them and of the least cost of the rows before it.
A group of 2k rows is never dearer in two, so that only last groups of k to 2k - 1 rows are weighed: n x k costs. That
is the optimum among all groups that follow each other; for sums of squares it is the optimum among all (Hansen and
Mukherjee: A polynomial algorithm for optimal univariate microaggregation, TKDE 2003). By widths, a group that lies
within another may save a little more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from anonymize.classes import Floats, Ints, Partition

Cost = Callable[[Ints, int], Floats]
"""(begins (n,), end) -> (n,) what each group begin ... end - 1 costs; never less than its parts together."""


def ordered_groups(count: int, k: int, cost: Cost) -> Ints:
    """(groups + 1,) where the groups of `count` rows that cost least together begin, and the end of the last; one group
    where there are fewer than 2k rows. Of equal ones, last groups of most rows are taken."""
    least, begin_of = np.full(count + 1, np.inf), np.zeros(count + 1, np.int64)
    least[0] = 0
    for end in range(min(k, count), count + 1):
        begins = np.arange(max(end - 2 * k + 1, 0), max(end - k, 0) + 1)
        total = least[begins] + cost(begins, end)
        chosen = int(total.argmin())
        least[end], begin_of[end] = total[chosen], begins[chosen]
    starts = [count]
    while starts[-1]:
        starts.append(int(begin_of[starts[-1]]))
    return np.array(starts[::-1])


def grouped_by_width(position: Floats, k: int) -> Partition:
    """The groups of at least k rows, given the position of each (rows,), that follow each other and whose widths,
    summed over their rows, are least."""
    order = np.argsort(position, kind="stable")
    arranged = position[order]

    def cost(begins: Ints, end: int) -> Floats:
        return np.asarray((arranged[end - 1] - arranged[begins]) * (end - begins))

    return Partition(order.astype(np.uint32), ordered_groups(len(order), k, cost))


def grouped_by_squares(position: Floats, k: int, values: Floats | None = None) -> Partition:
    """The groups of at least k rows that follow each other by position (rows,) and whose squared distances from their
    means are least in sum. Of positions that is the optimum among all groups; of other values (rows, columns), among
    those that follow each other."""
    order = np.argsort(position, kind="stable")
    columns = position[None, order] if values is None else np.ascontiguousarray(values[order].T)
    squares = _Windows(columns, min(2 * k - 1, max(len(order), 1)))
    return Partition(order.astype(np.uint32), ordered_groups(len(order), k, squares.of))


class _Windows:
    """Sums of squares around the mean of rows that follow each other, `most` at most, worked out for many ends at once.
    Each row is added to those behind it, which loses no digits however large the values are."""

    CELLS: ClassVar[int] = 1 << 22

    def __init__(self, columns: Floats, most: int) -> None:
        self.columns, self.most = columns, most
        self.first = self.stop = 0  # the ends that the table is of
        self.table = np.empty((0, most))

    def of(self, begins: Ints, end: int) -> Floats:
        """See `Cost`; begins ascend one by one."""
        if end >= self.stop:
            self._work_out(end)
        least = end - int(begins[-1])
        return self.table[end - self.first, least - 1 : least - 1 + len(begins)][::-1]

    def _work_out(self, first: int) -> None:
        """The table (ends, lengths) of ends from this one on; groups that would begin before the first row have no
        meaning."""
        self.first, self.stop = first, min(first + max(self.CELLS // self.most, 1), self.columns.shape[1] + 1)
        ends = np.arange(self.first, self.stop)
        self.table = np.zeros((len(ends), self.most))
        for column in self.columns:
            mean, total = np.zeros(len(ends)), np.zeros(len(ends))
            for length in range(1, self.most + 1):
                value = column[np.maximum(ends - length, 0)]
                apart = value - mean
                mean += apart / length
                total += apart * (value - mean)
                self.table[:, length - 1] += total
