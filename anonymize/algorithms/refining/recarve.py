"""Pools of neighbouring classes that are one class for a moment, and carved anew (see `carving`).

A pool whose new classes lose less than its classes did takes them.
"""

from __future__ import annotations

import numpy as np

from anonymize.algorithms.refining.block import GAIN, Block, BlockClasses
from anonymize.algorithms.refining.carving import carve
from anonymize.algorithms.refining.pools import PoolNeighbours, pools
from anonymize.algorithms.refining.regroup import numbers_of
from anonymize.algorithms.refining.resources import Resources
from anonymize.algorithms.refining.types import RowTypes
from anonymize.classes import Ints

ROWS = 1 << 14
"""Rows of pools that are worked on together, about."""
POOLED = (3, 2, 4, 3)
"""Classes in a pool, for each of the times that pools are made in a pass."""
LARGER = (5, 3, 6)
"""The same of further times where k alone is required and is at least `LARGE`; fewer classes take less time."""
LARGE = 20
NEAR = 12
"""How many of the classes near a class are asked."""
SPREAD = 0.05
"""How far chance reorders them, in shares of the mean rise of the NCP by a union."""
CELLS = 1 << 20
"""Cells of (classes x classes) that are worked on at once."""
CLOSE = 1 << 6
"""Where there are more classes than so many times `NEAR`, only so many are weighed for each: those whose middles are
nearest, or hardly farther."""
FARTHER = 0.5
"""By this share of its distance, the last of them may be farther than one that is left out."""


def recarved(block: Block, types: RowTypes, labels: Ints, first: bool, resources: Resources) -> Ints:
    """(rows,) labels after one pass of carving; in the `first`, every class is carved before it is in any pool."""
    if first and not resources.deadline.passed:
        every = np.arange(len(labels))
        labels = carve(block, types, every, np.unique(labels, return_inverse=True)[1], resources.rng)
    for size in POOLED + (LARGER if types.alike and types.k >= LARGE else ()):
        if not resources.deadline.passed:
            around = partners(block, block.classes(labels), size, resources.rng)
            labels = recarve(block, types, labels, around, size, resources)
    return labels


def partners(block: Block, classes: BlockClasses, size: int, rng: np.random.Generator) -> PoolNeighbours:
    """Classes drawn by what they lose, enough for every other one to be in a pool of `size`, and for each those whose
    union with it raises the NCP least, but for chance; as rows, one of each class."""
    lost = classes.ncp
    if not lost.any():
        return PoolNeighbours(classes.order[:0], np.empty((0, 1), np.int64))
    drawn = rng.choice(classes.count, max(classes.count // (2 * size), 1), p=lost / lost.sum())
    close = _close(block, classes, drawn)
    step = max(CELLS // close.shape[1], 1)
    parts = [slice(begin, begin + step) for begin in range(0, len(drawn), step)]
    near = [_nearest(block, classes, drawn[part], close if len(close) == 1 else close[part], rng) for part in parts]
    first = classes.order[classes.starts[:-1]]
    return PoolNeighbours(first[drawn], first[np.concatenate(near)])


def _close(block: Block, classes: BlockClasses, drawn: Ints) -> Ints:
    """(drawn or 1, close) the classes that are weighed for each that is drawn: all, or, of many, those whose boxes have
    their middles nearest. Others lose more in a union, but where a hierarchy makes far apart cost no more than near."""
    if classes.count <= CLOSE * NEAR:
        return np.arange(classes.count)[None]
    from scipy.spatial import cKDTree  # takes half a second, which no release without refinement should wait for

    ends = zip(block.measure.axes, classes.low, classes.high, strict=True)
    middles = np.stack([axis.line(low) + axis.line(high) for axis, low, high in ends], axis=1)
    return np.asarray(cKDTree(middles).query(middles[drawn], CLOSE, eps=FARTHER)[1], np.int64)


def _nearest(block: Block, classes: BlockClasses, drawn: Ints, close: Ints, rng: np.random.Generator) -> Ints:
    """(drawn, near) those of the classes (drawn or 1, close) whose union with each that is drawn raises the NCP least;
    its own may be among them."""
    low = [np.minimum(end[drawn, None], end[close]) for end in classes.low]
    high = [np.maximum(end[drawn, None], end[close]) for end in classes.high]
    rise = block.measure.cost(low, high) * (classes.sizes[drawn, None] + classes.sizes[close]) - classes.ncp[close]
    rise -= classes.ncp[drawn, None]
    rise += rng.gumbel(size=rise.shape) * (SPREAD * np.abs(rise).mean(axis=1, keepdims=True))
    kept = min(NEAR, close.shape[1])
    near = np.argpartition(rise, kept - 1, axis=1)[:, :kept]
    near = np.take_along_axis(near, np.argsort(np.take_along_axis(rise, near, 1), axis=1, kind="stable"), 1)
    return np.take_along_axis(np.broadcast_to(close, rise.shape), near, 1)


def recarve(
    block: Block, types: RowTypes, labels: Ints, around: PoolNeighbours, size: int, resources: Resources
) -> Ints:
    """(rows,) labels once pools of up to `size` classes around rows have been carved anew where that loses less.

    Pools are worked on in batches; one that begins after the deadline changes nothing.
    """
    classes = block.classes(labels)
    number = numbers_of(classes)
    pool = pools(classes, number, around, size)[number]
    names, of, held = np.unique(pool, return_inverse=True, return_counts=True)
    held[names < 0] = 0
    batch = np.cumsum(held) // ROWS
    batch[names < 0] = -1
    chosen = [np.flatnonzero(batch[of] == each) for each in range(int(batch.max(initial=-1)) + 1)]
    chosen = [rows for rows in chosen if len(rows)]
    seeds = resources.rng.spawn(len(chosen))
    after, count = labels.copy(), int(labels.max()) + 1

    def work(index: int) -> Ints:
        rows = chosen[index]
        if resources.deadline.passed:
            return labels[rows]
        return _better(block, types, rows, of[rows], labels[rows], seeds[index])

    for rows, new in zip(chosen, resources.run(work, range(len(chosen))), strict=True):
        changed = new < 0
        after[rows[changed]] = count - 1 - new[changed]
        count += int(-new.min(initial=0))
    return after


def _better(block: Block, types: RowTypes, rows: Ints, pool: Ints, labels: Ints, rng: np.random.Generator) -> Ints:
    """(rows,) labels once each pool has been carved; what is new is numbered from -1 down."""
    names, of = np.unique(pool, return_inverse=True)
    carved = carve(block, types, rows, of, rng)
    kept, new = np.unique(labels, return_inverse=True)[1], np.unique(carved, return_inverse=True)[1]
    lost = [_lost(block, rows, each, of, len(names)) for each in (kept, new)]
    return np.where((lost[1] < lost[0] - GAIN)[of], -1 - new, labels)


def _lost(block: Block, rows: Ints, classes: Ints, pool: Ints, count: int) -> Ints:
    """(pools,) weighted NCP of the classes (rows,) in each pool."""
    of = np.empty(int(classes.max()) + 1, np.int64)
    of[classes] = pool
    placed = np.zeros(block.measure.size, np.int64)
    placed[rows] = classes
    return np.bincount(of, block.classes(placed, rows).ncp, count)
