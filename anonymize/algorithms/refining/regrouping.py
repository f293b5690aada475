"""Classes whose rows are grouped anew: one divided in two, or a pool of neighbours in one step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from anonymize.algorithms.deadline import Resources
from anonymize.algorithms.refining import BoxMeasure, Places, Singles
from anonymize.algorithms.refining.block import LEAST_GAIN, Block, BlockClasses
from anonymize.classes import Bools, Floats, Ints, concatenated_ranges, starts_of
from anonymize.records import dataclass

# --- a class divided in two -------------------------------------------------------------------------------------------
# Where a number of rows is all that is required. Around a row of the class, drawn at random, the others are put in
# order, the nearest first; how much each attribute counts for that is drawn, too. Every place at which that order can
# be cut, with k rows or more on either side, is weighed by what both sides lose in their own boxes, and the best cut of
# a few orders is taken. Where one attribute counts for most and the row lies at its end that is a cut as Mondrian makes
# it; in the middle of several, a crowd leaves the rows around it.
#
# All classes are worked on side by side, those of about as many rows together.

ORDERS = 4
"""Orders that are drawn of a class at a time."""
ORDER_CELLS = 1 << 16
"""Cells of (rows x orders) that are worked on at once."""


def divided(block: Block, rows: Ints, sizes: Ints, rng: np.random.Generator) -> Bools:
    """(rows,) which leave their class, given the rows class by class, and how many each class has: at least 2 k. None
    of a class that loses no less in two."""
    leaves = np.zeros(len(rows), np.bool_)
    starts = starts_of(sizes)
    for some in by_size(sizes, ORDER_CELLS // ORDERS):
        width = int(sizes[some[-1]])
        places = starts[some, None] + np.minimum(np.arange(width), sizes[some, None] - 1)
        classes, chosen = _nearest(block, rows[places], sizes[some], rng)
        leaves[places[classes, chosen]] = True
    return leaves


def by_size(sizes: Ints, cells: int) -> Iterator[Ints]:
    """The numbers of classes that are worked on together: those of about as many rows, so many cells at most when all
    are as large as the largest, or one class."""
    order = np.argsort(sizes, kind="stable")
    while len(order):
        arranged = sizes[order] * np.arange(1, len(order) + 1)
        count = max(int(np.searchsorted(arranged, cells, side="right")), 1)
        yield order[:count]
        order = order[count:]


def _nearest(block: Block, rows: Ints, sizes: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """The class and the column of each row that leaves, of `rows` (classes, width), in which the last row of a class is
    repeated after its `sizes` (classes,)."""
    axes = block.measure.axes
    own = [axis.places.take(rows) for axis in axes]
    order = _orders(block, own, sizes, rng)
    cells = np.ascontiguousarray(
        (order + np.arange(len(rows))[:, None, None] * rows.shape[1]).reshape(-1, rows.shape[1]).T
    )
    lost = _lost(block, [each.take(cells) for each in own], np.repeat(sizes, ORDERS))
    lost = np.swapaxes(lost.reshape(-1, len(rows), ORDERS), 0, 1).reshape(len(rows), -1)
    before = block.measure.cost([each.min(axis=1) for each in own], [each.max(axis=1) for each in own]) * sizes
    best = lost.argmin(axis=1)
    some = np.flatnonzero(before - lost[np.arange(len(lost)), best] > LEAST_GAIN)
    cut, drawn = np.divmod(best[some], ORDERS)
    number = np.repeat(np.arange(len(some)), cut + block.k)
    rank = np.arange(len(number)) - np.repeat(starts_of(cut + block.k)[:-1], cut + block.k)
    return some[number], order[some, drawn][number, rank]


def _orders(block: Block, own: list[Places], sizes: Ints, rng: np.random.Generator) -> Ints:
    """(classes, orders, width) the columns of the rows of each class, `own` (classes, width) on each axis, in orders
    around rows drawn at random, at a tie as they stand; the last again where there are no more."""
    classes, width = own[0].shape
    middle = (rng.random((classes, ORDERS), np.float32) * sizes[:, None]).astype(np.int64)
    middle += np.arange(classes)[:, None] * width
    weight = rng.standard_exponential((len(own), classes, ORDERS), np.float32)
    far = np.zeros((classes, ORDERS, width), np.float32)
    for axis, places, counts in zip(block.measure.axes, own, weight, strict=True):
        apart = axis.between(places.take(middle)[..., None], places[:, None])
        apart *= counts[..., None]
        far += apart
    if sizes[0] == width:
        return np.asarray(far.argsort(axis=2, kind="stable"))
    far[np.broadcast_to((np.arange(width) >= sizes[:, None])[:, None], far.shape)] = np.inf
    order = far.argsort(axis=2, kind="stable")
    last = np.minimum(np.arange(width), sizes[:, None] - 1)[:, None]
    return np.take_along_axis(order, np.broadcast_to(last, order.shape), 2)


def _lost(block: Block, arranged: list[Places], sizes: Ints) -> Singles:
    """(cuts, orders) what both sides of a cut lose, the first after k rows, given the places (width, orders) on each
    axis in order, and the rows of each; inf where the other side has fewer than k."""
    k, last = block.k, len(arranged[0]) - block.k
    near = [
        (_running(each[:last], np.minimum)[k - 1 :], _running(each[:last], np.maximum)[k - 1 :]) for each in arranged
    ]
    back = [each[: k - 1 : -1] for each in arranged]
    far = [
        (_running(each, np.minimum)[::-1][: last - k + 1], _running(each, np.maximum)[::-1][: last - k + 1])
        for each in back
    ]
    number = np.arange(k, last + 1, dtype=np.float32)[:, None]
    rest = sizes.astype(np.float32) - number
    lost = block.measure.cost(*map(list, zip(*near, strict=True))) * number
    lost += block.measure.cost(*map(list, zip(*far, strict=True))) * rest
    if sizes[0] < sizes[-1]:
        lost[rest < k] = np.inf
    return lost


def _running(places: Places, end: np.ufunc) -> Places:
    """`end.accumulate` along the first axis, which takes several times as long."""
    ends = places.copy()
    for before, each in pairwise(ends):
        end(before, each, out=each)
    return ends


# --- pools of neighbours ----------------------------------------------------------------------------------------------
# Swaps, splits and merges in one. Around a row drawn at random, a pool is the row's class and some of the classes that
# the row would least raise the penalty of. Which lie near is worked out for many rows at once; they are kept as rows,
# one of each class, so that they still say where to look when classes have changed.
#
# In every pool groups are grown one after the other: a free row drawn at random, then, until there are k, the free row
# that raises the penalty least. What is left joins the group whose NCP it raises least. A pool whose groups lose less
# than its classes did takes them. Pools do not share rows: a row of every pool at a time gives the same groups as one
# pool after the other.

NEAREST_CLASSES = 12
"""How many of the nearest classes are kept for each row."""
SPREAD = 0.1
"""How far chance reorders them, in shares of their mean penalty."""
POOL_CELLS = 1 << 18
"""Cells of (rows x classes) that are worked on at once."""


@dataclass(frozen=True)
class PoolNeighbours:
    """Rows (n,), and for each a row of each of its nearest classes, in the order they are asked: (n, near)."""

    rows: Ints
    near: Ints


def neighbours(
    block: Block,
    classes: BlockClasses,
    sections: Sequence[Ints],
    count: int,
    rng: np.random.Generator,
    spread: float = SPREAD,
) -> PoolNeighbours:
    """The nearest classes of about `count` rows drawn at random, in random order; each looks within its section.

    The classes of a row come nearest first, but for a random disturbance of the order, `spread` of the mean penalty.
    """
    share = count / len(classes.order)
    parts = [_of_section(block, classes, section, share, rng, spread) for section in sections]
    rows = np.concatenate([part.rows for part in parts])
    near = np.concatenate([part.near for part in parts])
    shuffled = rng.permutation(len(rows))
    return PoolNeighbours(rows[shuffled], near[shuffled])


def _of_section(
    block: Block, classes: BlockClasses, section: Ints, share: float, rng: np.random.Generator, spread: float
) -> PoolNeighbours:
    """For a share of a section's rows; columns beyond the section's classes repeat the nearest."""
    members = classes.order[concatenated_ranges(classes.starts[section], classes.sizes[section])]
    rows = members[rng.integers(0, len(members), int(np.ceil(share * len(members))))]
    low, high = [end[section] for end in classes.low], [end[section] for end in classes.high]
    ones = np.ones(len(section), np.float32)
    joined = block.measure.crossing(low, high, ones, ones * 0)
    step, kept = max(POOL_CELLS // len(section), 1), min(NEAREST_CLASSES, len(section))
    parts = [
        _nearest_classes(joined(rows[begin : begin + step]), kept, rng, spread) for begin in range(0, len(rows), step)
    ]
    near = np.concatenate(parts)[:, np.arange(NEAREST_CLASSES) % kept]
    return PoolNeighbours(rows, classes.order[classes.starts[section[near]]])


def _nearest_classes(cells: Singles, kept: int, rng: np.random.Generator, spread: float) -> Ints:
    """(rows, kept) the lowest of each row's cells, by value and chance."""
    near = np.argpartition(cells, kept - 1, axis=1)[:, :kept]
    value = np.take_along_axis(cells, near, 1)
    value += rng.random(value.shape, dtype=np.float32) * (spread * value.mean())
    return np.take_along_axis(near, np.argsort(value, axis=1, kind="stable"), 1)


def pools(classes: BlockClasses, number: Ints, around: PoolNeighbours, size: int) -> Ints:
    """(classes,) the pool of each class, -1 for none: up to `size` classes around each row.

    `number` (block rows,): class of each row. A class belongs to the first pool that asks for it: every pool asks for
    its own row's class, then in turns each for its next nearest.
    """
    pool = np.full(classes.count, -1)
    own = number[around.rows]
    first = np.unique(own, return_index=True)[1]
    pool[own[first]] = first
    count = np.zeros(len(own), np.int64)
    count[first] = 1
    for turn in range(around.near.shape[1]):
        neighbour = number[around.near[:, turn]]
        asking = np.flatnonzero((pool[neighbour] < 0) & (count > 0) & (count < size))
        given, by = np.unique(neighbour[asking], return_index=True)
        pool[given] = asking[by]
        count[asking[by]] += 1
    return pool


TAKEN = np.float32(1e9)
"""Added to the penalty of places that hold no free row."""


class GreedyGroups:
    """Pools whose rows are put into groups.

    `rows` (pools, places): rows in random order, as many as `counts` (pools,) says; the places after them are padding.
    Every pool makes `groups` (pools,) groups of at least k rows; groups x k <= counts.

    Attributes:
        group: (pools, places) number of each row's group within its pool; -1 where there is no row.
    """

    def __init__(self, measure: BoxMeasure, rows: Ints, counts: Ints, groups: Ints, k: int) -> None:
        self.measure, self.groups, self.k = measure, groups, k
        self.places = measure.places_of(rows)
        self.taken = np.where(np.arange(rows.shape[1]) < counts[:, None], np.float32(0), TAKEN)
        self.group = np.full(rows.shape, -1)
        shape = (len(rows), int(groups.max()))
        self.low: list[Places] = [np.zeros(shape, axis.dtype) for axis in self.places]
        self.high: list[Places] = [np.zeros(shape, axis.dtype) for axis in self.places]
        self.sizes = np.zeros(shape, np.int64)

    def grow(self) -> Floats:
        """Puts every row into a group; (pools,) weighted NCP of the groups, summed over rows."""
        for number in range(self.sizes.shape[1]):
            self._grow_one(number)
        cost = self.measure.cost(self.low, self.high)
        while len(left := np.flatnonzero((self.taken == 0).any(axis=1))):
            self._place_one(left, cost)
        return np.asarray((cost.astype(np.float64) * self.sizes).sum(axis=1))

    def _grow_one(self, number: int) -> None:
        """Grows the group of that number in all pools that have one: the first free row, then those that cost least."""
        pools = np.flatnonzero(self.groups > number)
        places, taken = [axis[pools] for axis in self.places], self.taken[pools]
        low: list[Places] = []
        high: list[Places] = []
        for size in range(self.k):
            cost = self.measure.joined(low, high, places) + taken if size else taken
            chosen = cost.argmin(axis=1)
            taken[np.arange(len(pools)), chosen] = TAKEN
            self.group[pools, chosen] = number
            place = [axis[np.arange(len(pools)), chosen, None] for axis in places]
            low = [np.minimum(end, row) for end, row in zip(low or place, place, strict=True)]
            high = [np.maximum(end, row) for end, row in zip(high or place, place, strict=True)]
        self.taken[pools] = taken
        self.sizes[pools, number] = self.k
        for axis, (left, right) in enumerate(zip(low, high, strict=True)):
            self.low[axis][pools, number], self.high[axis][pools, number] = left[:, 0], right[:, 0]

    def _place_one(self, pools: Ints, cost: Singles) -> None:
        """Puts the first free row of each of some pools into the group whose NCP it raises least."""
        chosen = self.taken[pools].argmin(axis=1)
        place = [axis[pools, chosen] for axis in self.places]
        low, high = [end[pools] for end in self.low], [end[pools] for end in self.high]
        joined = self.measure.joined(low, high, [row[:, None] for row in place])
        sizes = self.sizes[pools]
        rise = np.where(sizes > 0, joined * (sizes + 1) - cost[pools] * sizes, np.inf)
        group = rise.argmin(axis=1)
        for axis, each in enumerate(place):
            self.low[axis][pools, group] = np.minimum(self.low[axis][pools, group], each)
            self.high[axis][pools, group] = np.maximum(self.high[axis][pools, group], each)
        cost[pools, group] = joined[np.arange(len(pools)), group]
        self.sizes[pools, group] += 1
        self.taken[pools, chosen] = TAKEN
        self.group[pools, chosen] = group


POOLS = 256
"""Pools that are worked on together; all about as large."""
MOST_POOLED = 4
"""Classes that hold more rows than this many times k each are not pooled."""


@dataclass(frozen=True)
class Pools:
    """Some pools, those of most rows first.

    `rows`: pool after pool, in random order within each; `counts` (pools,) rows of each; `groups` (pools,) how many it
    makes; `ncp` (pools,) what its classes lose.
    """

    rows: Ints
    counts: Ints
    groups: Ints
    ncp: Floats

    def batches(self) -> list[Pools]:
        """The pools, `POOLS` in a batch."""
        starts = starts_of(self.counts)
        parts = [slice(part, min(part + POOLS, len(self.counts))) for part in range(0, len(self.counts), POOLS)]
        return [
            Pools(
                self.rows[starts[part.start] : starts[part.stop]], self.counts[part], self.groups[part], self.ncp[part]
            )
            for part in parts
        ]


def regroup(block: Block, labels: Ints, around: PoolNeighbours, size: int, keep: bool, resources: Resources) -> Ints:
    """(rows,) labels once pools of up to `size` classes around rows have been made anew where that loses less.

    `keep`: a pool makes as many groups as it had classes, and not as many as k allows.
    """
    classes = block.classes(labels)
    gathered = _gathered(block, classes, pools(classes, numbers_of(classes), around, size), size, keep, resources.rng)
    after = labels.copy()
    name = int(labels.max()) + 1
    for rows, group, count in resources.run(lambda batch: _regrouped(block, batch), gathered.batches()):
        after[rows] = name + group
        name += count
    return after


def numbers_of(classes: BlockClasses) -> Ints:
    """(rows,) the class of each row."""
    number = np.empty(len(classes.order), np.int64)
    number[classes.order] = classes.number
    return number


def _gathered(
    block: Block, classes: BlockClasses, pool: Ints, size: int, keep: bool, rng: np.random.Generator
) -> Pools:
    """The pools that are worth regrouping (not too large, and with some loss), from the pool (classes,) of each
    class."""
    members = np.flatnonzero(pool >= 0)
    names, of = np.unique(pool[members], return_inverse=True)
    counts = np.bincount(of, classes.sizes[members]).astype(np.int64)
    ncp = np.bincount(of, classes.ncp[members]).astype(np.float64)
    groups = np.bincount(of) if keep else counts // block.k
    fit = np.flatnonzero((counts <= MOST_POOLED * size * block.k) & (ncp > LEAST_GAIN) & (groups > 0))
    fit = fit[np.argsort(-counts[fit], kind="stable")]
    place = np.full(len(names), -1)
    place[fit] = np.arange(len(fit))
    members, of = members[place[of] >= 0], place[of][place[of] >= 0]
    rows = classes.order[concatenated_ranges(classes.starts[members], classes.sizes[members])]
    rows = rows[np.lexsort((rng.random(len(rows)), np.repeat(of, classes.sizes[members])))]
    return Pools(rows, counts[fit], groups[fit], ncp[fit])


def _regrouped(block: Block, batch: Pools) -> tuple[Ints, Ints, int]:
    """The rows of those pools that lose less in groups, the group of each, and how many groups there are."""
    starts, width = starts_of(batch.counts), int(batch.counts.max(initial=0))
    pool = np.repeat(np.arange(len(batch.counts)), batch.counts)
    place = np.arange(len(pool)) - starts[pool]
    rows = np.zeros((len(batch.counts), width), np.int64)
    rows[pool, place] = batch.rows
    grouping = GreedyGroups(block.measure, rows, batch.counts, batch.groups, block.k)
    better = grouping.grow() < batch.ncp - LEAST_GAIN
    group = starts_of(batch.groups)[pool] + grouping.group[pool, place]
    if block.met is not None:
        better &= _meet(block, batch.rows, group, pool, better)
    inside = better[pool]
    return batch.rows[inside], group[inside], int(batch.groups.sum())


def _meet(block: Block, rows: Ints, group: Ints, pool: Ints, better: Bools) -> Bools:
    """(pools,) whether all groups of a pool meet the requirements; looked at where a pool is better only."""
    assert block.met is not None
    meets, inside = better.copy(), better[pool]
    names, first, of = np.unique(group[inside], return_index=True, return_inverse=True)
    if len(names):
        meets[pool[inside][first[~block.met(rows[inside], of, len(names))]]] = False
    return meets
