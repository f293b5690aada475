"""Clusters of rows by the weighted normalized certainty penalty (NCP) of their boxes, for many boxes at once: what
the bottom-up and the top-down method share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Bools, Floats, Integers, Ints, Partition, concatenated_ranges, starts_of
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


# --- cutting parts in two ---------------------------------------------------------------------------------------------
# Parts of a table, each cut in two again and again around far seeds, all parts of a level at once.
#
# Seeds are two rows of a part that lie far apart, by repeated scans for the row farthest from the last.
#
# The rows of a part join one of its two groups in random order, each the one that loses less by it. That is one row
# after the other; but parts do not depend on each other, so one step takes a row of every part. Where few large parts
# would mean many such steps, a part is assigned by itself: boxes grow seldom, so what every row would cost is worked
# out for many rows ahead, until a box grows. Both ways give the same groups.


def seeds(penalty: Penalty, codes: Corners, starts: Ints, rounds: int) -> tuple[Ints, Ints]:
    """Positions (parts,) of two rows of each part, different ones: the last pair of the scans that still gained.

    `codes` (attributes, n) of rows laid part after part, `starts` (parts + 1,) where each part of at least two rows
    begins. The first scan starts at a part's first row. A part is scanned for as long as the penalty of the pair grows,
    `rounds` times at most. Ties go to the first row.
    """
    part = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    from_row = starts[:-1].copy()
    to_row, reached = _farthest(penalty, codes, starts, part, from_row)
    for _ in range(rounds - 1):
        next_row, farther = _farthest(penalty, codes, starts, part, to_row)
        grows = farther > reached
        if not grows.any():
            break
        from_row, to_row = np.where(grows, to_row, from_row), np.where(grows, next_row, to_row)
        reached = np.maximum(farther, reached)
    return from_row, to_row


def _farthest(penalty: Penalty, codes: Corners, starts: Ints, part: Ints, seed: Ints) -> tuple[Ints, Floats]:
    """Position of the row farthest from each part's seed, another one, and the penalty of the two (parts,)."""
    away = distances(penalty, codes, part, seed)
    away[seed] = -1.0
    farthest = np.maximum.reduceat(away, starts[:-1])
    hits = np.flatnonzero(away == farthest[part])
    return hits[np.searchsorted(hits, starts[:-1])], farthest


def distances(penalty: Penalty, codes: Corners, part: Ints, seed: Ints) -> Floats:
    """(n,) penalty of one row of the box around each row and its part's seed."""
    corner = codes[:, seed][:, part]
    return penalty(np.minimum(codes, corner), np.maximum(codes, corner))


# --- cut in two -------------------------------------------------------------------------------------------------------

ALONE = 25
"""A part that is assigned by itself takes about as long as this many steps."""
LEAST_AHEAD, MOST_AHEAD = 128, 4096
"""Fewest and most rows that are worked out ahead."""
FARTHEST = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Join:
    """Which of two groups a row joins: the one of the lower (1 + `summed` m) NCP' - `before` m NCP, the first at a tie.
    NCP is the penalty of a row of the group's m rows, NCP' that with the new row."""

    summed: float
    before: float

    def loss(self, sizes: Ints, cost: Floats, now: Floats) -> Floats:
        """(...) what is compared, for groups of `sizes` rows that cost `now` each, and `cost` with the new row."""
        return np.asarray((self.summed * sizes + 1) * cost - sizes * (self.before * now))


JOINS = {"rise": Join(1.0, 1.0), "sum": Join(1.0, 0.0), "row": Join(0.0, 0.0)}
"""The group whose NCP, summed over its rows, rises least; the one whose sum is lower with the row; or the one in which
the row itself loses less."""


def bisect(
    penalty: Penalty,
    codes: Corners,
    parts: Partition,
    k: int,
    rounds: int,
    join: str,
    rng: np.random.Generator,
    progress: Callable[[int], None] = lambda rows: None,
) -> Partition:
    """The groups that parts fall into when each of more than k rows, not all equal, is cut in two, again and again.

    `codes` (attributes, n) of the rows 0 ... n - 1, all of which `parts` holds; `rounds` of scans find the seeds;
    `join` is a key of JOINS. `progress` is called with the number of further rows that have reached their group.
    """
    labels, count = parts.class_of(len(parts.order)), parts.count
    rows, sizes = parts.order.astype(np.int64), parts.sizes
    while True:
        rows, sizes, finished = _open(codes, rows, sizes, k)
        progress(finished)
        if not len(sizes):
            return Partition.of_labels(labels)
        part = np.repeat(np.arange(len(sizes)), sizes)
        rows = rows[np.lexsort((rng.random(len(rows)), part))]  # those of each part in random order
        part = 2 * part + _sides(penalty, codes[:, rows], sizes, rounds, JOINS[join])
        labels[rows] = count + part
        rows, sizes = rows[np.argsort(part, kind="stable")], np.bincount(part, minlength=2 * len(sizes))
        count += len(sizes)


def _open(codes: Corners, rows: Ints, sizes: Ints, k: int) -> tuple[Ints, Ints, int]:
    """Rows and sizes of the parts that are to be cut, and how many rows the others have."""
    if not len(rows):
        return rows, sizes, 0
    starts = starts_of(sizes)[:-1]
    arranged = codes[:, rows]
    differ = (np.minimum.reduceat(arranged, starts, axis=1) < np.maximum.reduceat(arranged, starts, axis=1)).any(axis=0)
    keep = differ & (sizes > k)
    return rows[np.repeat(keep, sizes)], sizes[keep], int(sizes[~keep].sum())


def _sides(penalty: Penalty, codes: Corners, sizes: Ints, rounds: int, join: Join) -> Bools:
    """(n,) whether each row, the parts laid one after the other, joins the second of its part's groups."""
    starts = starts_of(sizes)
    first, second = seeds(penalty, codes, starts, rounds)
    side = np.zeros(codes.shape[1], np.bool_)
    side[second] = True
    waiting = np.ones(codes.shape[1], np.bool_)
    waiting[first] = waiting[second] = False
    queue = np.flatnonzero(waiting)
    queues = starts_of(sizes - 2)
    corners = np.stack((codes[:, first], codes[:, second]), axis=1)
    order = np.argsort(-sizes, kind="stable")
    alone = _alone(sizes[order] - 2)
    for part in order[:alone].tolist():
        mine = queue[queues[part] : queues[part + 1]]
        side[mine] = _assign_one(penalty, codes[:, mine], corners[:, :, part], join)
    together = order[alone:]
    lengths = sizes[together] - 2
    mine = queue[concatenated_ranges(queues[together], lengths)]
    side[mine] = _assign(penalty, codes[:, mine], lengths, corners[:, :, together], join)
    return side


def _alone(lengths: Ints) -> int:
    """How many of the longest queues (parts,), descending, are assigned by themselves so that all together are done
    soonest."""
    steps = np.append(lengths, 0) + ALONE * np.arange(len(lengths) + 1)
    return int(np.argmin(steps))


def _assign(penalty: Penalty, codes: Corners, lengths: Ints, corners: Corners, join: Join) -> Bools:
    """(n,) whether rows join the second group: one of every part at a step.

    `codes` (attributes, n) of rows queued part after part, the longest queue first; `corners` (attributes, 2, parts)
    the seeds.
    """
    side = np.zeros(codes.shape[1], np.bool_)
    if not len(side):
        return side
    starts = starts_of(lengths)[:-1]
    low, high = corners.copy(), corners.copy()
    sizes, now = np.ones((2, len(lengths)), np.int64), np.zeros((2, len(lengths)))
    active = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
    for step, count in enumerate(active.tolist()):
        place = starts[:count] + step
        row = codes[:, None, place]
        lows, highs = np.minimum(low[:, :, :count], row), np.maximum(high[:, :, :count], row)
        cost = penalty(lows, highs)
        loss = join.loss(sizes[:, :count], cost, now[:, :count])
        second = loss[1] < loss[0]
        side[place] = second
        taker, part = second.astype(np.intp), np.arange(count)
        low[:, taker, part], high[:, taker, part] = lows[:, taker, part], highs[:, taker, part]
        now[taker, part] = cost[taker, part]
        sizes[taker, part] += 1
    return side


def _assign_one(penalty: Penalty, codes: Corners, corners: Corners, join: Join) -> Bools:
    """(n,) the same for one part, whose rows' codes (attributes, n) come in their order; `corners` (attributes, 2)."""
    rows = codes.shape[1]
    side = np.zeros(rows, np.bool_)
    low, high = corners.copy(), corners.copy()
    sizes, assigned, ahead = [1, 1], 0, LEAST_AHEAD
    while assigned < rows:
        row = codes[:, None, assigned : assigned + ahead]
        lows, highs = np.minimum(low[:, :, None], row), np.maximum(high[:, :, None], row)
        taken = _take(penalty(lows, highs), penalty(low, high), sizes, join)
        side[assigned : assigned + len(taken)] = taken
        for group in (0, 1):
            joined = codes[:, assigned : assigned + len(taken)][:, taken == group]
            low[:, group] = np.minimum(low[:, group], joined.min(axis=1, initial=FARTHEST))
            high[:, group] = np.maximum(high[:, group], joined.max(axis=1, initial=0))
        ahead = LEAST_AHEAD if len(taken) < row.shape[2] else min(2 * ahead, MOST_AHEAD)
        assigned += len(taken)
    return side


def _take(costs: NDArray[np.float64], now: NDArray[np.float64], sizes: list[int], join: Join) -> Bools:
    """(taken,) the sides of the first rows, up to the first that raises the penalty of the group it joins.

    `costs` (2, ahead) penalty of each group with each row, `now` (2,) without; `sizes` of the groups are brought up to
    date.
    """
    first, second = sizes
    limits, summed = now.tolist(), join.summed
    first_now, second_now = (join.before * limit for limit in limits)
    taken = []
    for with_first, with_second in zip(*costs.tolist(), strict=True):
        loss = (summed * first + 1) * with_first - first * first_now
        joins = (summed * second + 1) * with_second - second * second_now < loss
        taken.append(joins)
        if joins:
            second += 1
            if with_second > limits[1]:
                break
        else:
            first += 1
            if with_first > limits[0]:
                break
    sizes[:] = first, second
    return np.array(taken, np.bool_)
