"""Classes that lie near each other, put together in pools of a few that are made anew.

Around a row drawn at random, a pool is the row's class and some of the classes that the row would least raise the
penalty of. Which lie near is worked out for many rows at once; they are kept as rows, one of each class, so that they
still say where to look when classes have changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anonymize.algorithms.refining.block import Block, BlockClasses
from anonymize.algorithms.refining.measure import Singles
from anonymize.classes import Ints, concatenated_ranges

NEAR = 12
"""How many of the nearest classes are kept for each row."""
SPREAD = 0.1
"""How far chance reorders them, in shares of their mean penalty."""
CELLS = 1 << 18
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
    step, kept = max(CELLS // len(section), 1), min(NEAR, len(section))
    parts = [_nearest(joined(rows[begin : begin + step]), kept, rng, spread) for begin in range(0, len(rows), step)]
    near = np.concatenate(parts)[:, np.arange(NEAR) % kept]
    return PoolNeighbours(rows, classes.order[classes.starts[section[near]]])


def _nearest(cells: Singles, kept: int, rng: np.random.Generator, spread: float) -> Ints:
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
