"""What the clustering methods have in common: parts, giving up rows where necessary, and mending groups.

Mondrian cuts the table into parts, and what is quadratic in the rows is done inside each. Groups that break a privacy
model are merged with the group that mends them at least cost, until none breaks any.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms import base, cuts, feasibility, remaining, splitting
from anonymize.algorithms.clustering import Corners, GroupBoxes, Penalty, UnionPenalties, codes_of
from anonymize.algorithms.splitting.grow import grow
from anonymize.classes import Bools, Floats, Ints, Partition, concatenated_ranges
from anonymize.judging import Judge
from anonymize.privacy import Requirement
from anonymize.recoding import Regions
from anonymize.table import Table

TRIED_NEIGHBOURS = (4, 16, 64)
"""How many of the neighbours that raise the NCP least are tried until one mends the group; if none does, the first is
taken."""
GROUP_CELLS = 1 << 18
"""Cells of (breaking groups x groups) that are worked on at once."""

Met = Callable[[Ints, Ints, int], Bools]
"""(rows, group of each row, number of groups) -> (groups,) whether each meets every requirement."""


def mend(penalty: Penalty, codes: Corners, partition: Partition, met: Met) -> Partition:
    """The partition with groups merged until each meets every requirement, or one is left; `codes` (attributes, n).

    In passes: every breaking group looks for the union that meets the requirements and raises the total NCP least, of
    equal ones the lowest number; where none of those tried does, for the one that raises it least. In order of their
    numbers those merge whose choice has not merged in the pass.
    """
    while partition.count > 1:
        groups = np.repeat(np.arange(partition.count), partition.sizes)
        breaking = np.flatnonzero(~met(partition.order.astype(np.int64), groups, partition.count))
        if not len(breaking):
            break
        labels = _merged(breaking, _choices(penalty, codes, partition, breaking, met), partition.count)
        partition = Partition.of_labels(labels[partition.class_of(codes.shape[1])])
    return partition


def _merged(breaking: Ints, choices: Ints, count: int) -> Ints:
    """(groups,) the number of each group when those merge that have not merged yet."""
    labels, free = np.arange(count), [True] * count
    for group, other in zip(breaking.tolist(), choices.tolist(), strict=True):
        if free[group] and free[other]:
            free[group] = free[other] = False
            labels[max(group, other)] = min(group, other)
    return labels


def _choices(penalty: Penalty, codes: Corners, partition: Partition, breaking: Ints, met: Met) -> Ints:
    """(breaking,) the group that each is to be merged with."""
    boxes = GroupBoxes.of(codes, partition)
    unions, ncp = UnionPenalties(penalty, boxes), boxes.ncp(penalty)
    step = max(GROUP_CELLS // boxes.count, 1)
    partners = [
        _tried(
            partition,
            breaking[begin : begin + step],
            _nearest(unions, boxes.sizes, ncp, breaking[begin : begin + step]),
            met,
        )
        for begin in range(0, len(breaking), step)
    ]
    return np.concatenate(partners)


def _nearest(unions: UnionPenalties, sizes: Ints, ncp: Floats, groups: Ints) -> Ints:
    """(groups, tried) the others, those first whose union with a group raises the total NCP least, and of equal ones
    those of the lowest number."""
    rise = unions(groups, np.arange(len(sizes)))
    rise *= sizes[groups, None] + sizes
    rise -= ncp
    rise[np.arange(len(groups)), groups] = np.inf
    return _lowest(rise, min(TRIED_NEIGHBOURS[-1], len(sizes) - 1))


def _lowest(cells: Floats, count: int) -> Ints:
    """(rows, count) where the lowest cells of each row are, in ascending order; of equal ones the first."""
    last = np.partition(cells, count - 1, axis=1)[:, count - 1, None]
    row, column = np.nonzero(cells <= last)
    order = np.lexsort((column, cells[row, column], row))
    begins = np.searchsorted(row, np.arange(len(cells)))
    return np.asarray(column[order][begins[:, None] + np.arange(count)])


def _tried(partition: Partition, groups: Ints, near: Ints, met: Met) -> Ints:
    """(groups,) the first of each group's neighbours (groups, tried) that mends it, or else the first."""
    choice = near[:, 0].copy()
    left, begin = np.arange(len(groups)), 0
    for end in TRIED_NEIGHBOURS:
        tried = near[left, begin:end]
        if not tried.size:
            break
        mends = _unions_meet(partition, np.repeat(groups[left], tried.shape[1]), tried.ravel(), met)
        mends = mends.reshape(tried.shape)
        mended, first = mends.any(axis=1), mends.argmax(axis=1)
        choice[left[mended]] = tried[mended, first[mended]]
        left, begin = left[~mended], end
    return choice


def _unions_meet(partition: Partition, first: Ints, second: Ints, met: Met) -> Bools:
    """(pairs,) whether the union of two groups meets every requirement."""
    groups = np.stack((first, second), axis=1).ravel()
    sizes = partition.sizes[groups]
    rows = partition.order[concatenated_ranges(partition.starts[groups], sizes)].astype(np.int64)
    return met(rows, np.repeat(np.arange(len(groups)) // 2, sizes), len(first))


# --- two stages -------------------------------------------------------------------------------------------------------

STARTS = WHOLE, MONDRIAN = "whole", "mondrian"
PART_ROWS = 1 << 10
"""Rows of a part at least; it has fewer than twice as many where values can be parted."""
SEVERAL = 16

Inside = Callable[[Corners], Partition]
"""codes (attributes, n) -> the partition of rows 0 ... n - 1."""


def parts(penalty: Penalty, codes: Corners, k: int, threads: int) -> Partition:
    """The parts of rows 0 ... n - 1, cut by Mondrian with the rule `rate`; each is large enough for several classes of
    k rows."""
    count, least = codes.shape[1], max(PART_ROWS, SEVERAL * k)
    whole = splitting.Batch.whole(np.arange(count, dtype=np.uint32), tuple(codes.astype(np.uint32)), ())
    rule = cuts.RULES["rate"](list(penalty.domains), list(penalty.weights), least, False)
    return grow(whole, rule, None, threads, lambda rows: None)


def in_parts(inside: Inside, codes: Corners, divided: Partition, threads: int) -> Partition:
    """The partition that `inside` makes of each part, side by side."""

    def labelled(part: int) -> Ints:
        rows = divided.order[divided.starts[part] : divided.starts[part + 1]]
        return inside(codes[:, rows]).class_of(len(rows)).astype(np.int64)

    labels, count = np.empty(codes.shape[1], np.int64), 0
    with ThreadPoolExecutor(threads) as executor:
        for part, group in enumerate(executor.map(labelled, range(divided.count))):
            labels[divided.order[divided.starts[part] : divided.starts[part + 1]]] = group + count
            count += int(group.max()) + 1
    return Partition.of_labels(labels)


# --- giving up rows, mending groups -----------------------------------------------------------------------------------

Method = Callable[[Penalty, Corners, int], Partition]
"""(penalty, codes (attributes, n), k) -> the partition of rows 0 ... n - 1 into groups of at least k; n >= k."""


def cluster(table: Table, requirements: tuple[Requirement, ...], method: Method, context: base.Context) -> Regions:
    """The groups that the method finds, merged where they break a model."""
    rows = remaining.remaining_in_region(table, requirements, context)
    if not len(rows):
        return Regions(Partition.of_blocks([], []), rows.suppressed)
    return Regions(grouped(table, requirements, rows.rows, method), rows.suppressed)


def grouped(table: Table, requirements: tuple[Requirement, ...], rows: NDArray[np.uint32], method: Method) -> Partition:
    """The groups that the method finds among some rows of the table, ascending, merged where they break a model."""
    codes, penalty = codes_of(table.attributes, rows), Penalty.of(table.attributes)
    partition = method(penalty, codes, feasibility.minimum_size(requirements))
    if feasibility.beyond_size(table, requirements):
        partition = mend(penalty, codes, partition, met_by(table, requirements, rows))
    return partition.renumbered(rows)


def met_by(table: Table, requirements: tuple[Requirement, ...], rows: NDArray[np.uint32]) -> Met:
    """Whether groups of some of the table's rows, numbered 0 ... n - 1, meet every requirement.

    These rows are all that is released: distributions are compared with theirs.
    """
    judge = Judge(table, requirements, rows)

    def met(numbers: Ints, groups: Ints, count: int) -> Bools:
        return judge.meets(groups, count, judge.pick(rows[numbers]))

    return met


# --- rows in the order of one number ----------------------------------------------------------------------------------
# Rows in the order of one number, cut into groups of at least k that cost least: dynamic programming.
#
# The least cost of the first n rows is that of a last group of some of them and of the least cost of the rows before
# it. A group of 2k rows is never dearer in two, so that only last groups of k to 2k - 1 rows are weighed: n x k costs.
# That is the optimum among all groups that follow each other; for sums of squares it is the optimum among all (Hansen
# and Mukherjee: A polynomial algorithm for optimal univariate microaggregation, TKDE 2003). By widths, a group that
# lies within another may save a little more.

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

    WINDOW_CELLS: ClassVar[int] = 1 << 22

    def __init__(self, columns: Floats, most: int) -> None:
        self.columns, self.most = columns, most
        self.first = self.stop = 0  # the ends that the table is of
        self.table = np.empty((0, most))

    def of(self, begins: Ints, end: int) -> Floats:
        """(begins,) the cost of each group from a row to before `end`; begins ascend one by one."""
        if end >= self.stop:
            self._work_out(end)
        least = end - int(begins[-1])
        return self.table[end - self.first, least - 1 : least - 1 + len(begins)][::-1]

    def _work_out(self, first: int) -> None:
        """The table (ends, lengths) of ends from this one on; groups that would begin before the first row have no
        meaning."""
        self.first, self.stop = first, min(first + max(self.WINDOW_CELLS // self.most, 1), self.columns.shape[1] + 1)
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
