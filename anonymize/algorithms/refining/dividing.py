"""Classes divided in two where a number of rows is all that is required.

Around a row of the class, drawn at random, the others are put in order, the nearest first; how much each attribute
counts for that is drawn, too. Every place at which that order can be cut, with k rows or more on either side, is
weighed by what both sides lose in their own boxes, and the best cut of a few orders is taken. Where one attribute
counts for most and the row lies at its end that is a cut as Mondrian makes it; in the middle of several, a crowd leaves
the rows around it.

All classes are worked on side by side, those of about as many rows together.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from anonymize.algorithms.refining.block import GAIN, Block
from anonymize.algorithms.refining.measure import Places, Singles
from anonymize.classes import Bools, Ints, starts_of

ORDERS = 4
"""Orders that are drawn of a class at a time."""
CELLS = 1 << 16
"""Cells of (rows x orders) that are worked on at once."""


def divided(block: Block, rows: Ints, sizes: Ints, rng: np.random.Generator) -> Bools:
    """(rows,) which leave their class, given the rows class by class, and how many each class has: at least 2 k. None
    of a class that loses no less in two."""
    leaves = np.zeros(len(rows), np.bool_)
    starts = starts_of(sizes)
    for some in _batches(sizes):
        width = int(sizes[some[-1]])
        places = starts[some, None] + np.minimum(np.arange(width), sizes[some, None] - 1)
        classes, chosen = _nearest(block, rows[places], sizes[some], rng)
        leaves[places[classes, chosen]] = True
    return leaves


def _batches(sizes: Ints) -> Iterator[Ints]:
    """The numbers of classes that are worked on together, by size."""
    by_size = np.argsort(sizes, kind="stable")
    begin = 0
    while begin < len(by_size):
        arranged = sizes[by_size[begin:]] * np.arange(1, len(by_size) - begin + 1)
        end = begin + max(int(np.searchsorted(arranged, CELLS // ORDERS, side="right")), 1)
        yield by_size[begin:end]
        begin = end


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
    some = np.flatnonzero(before - lost[np.arange(len(lost)), best] > GAIN)
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
