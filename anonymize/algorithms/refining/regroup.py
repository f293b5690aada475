"""Pools of neighbouring classes whose rows are grouped anew: swaps, splits and merges in one.

In every pool groups are grown one after the other: a free row drawn at random, then, until there are k, the free row
that raises the penalty least. What is left joins the group whose NCP it raises least. A pool whose groups lose less
than its classes did takes them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anonymize.algorithms.refining.block import GAIN, Block, BlockClasses
from anonymize.algorithms.refining.grouping import GreedyGroups
from anonymize.algorithms.refining.pools import PoolNeighbours, pools
from anonymize.algorithms.refining.resources import Resources
from anonymize.classes import Bools, Floats, Ints, concatenated_ranges, starts_of

POOLS = 256
"""Pools that are worked on together; all about as large."""
LARGEST = 4
"""Classes that hold more rows than this many times k each are not pooled."""


@dataclass(frozen=True)
class Pools:
    """Some pools, those of most rows first.

    `rows`: pool after pool, in random order within each; `held` (pools,) rows of each; `groups` (pools,) how many it
    makes; `ncp` (pools,) what its classes lose.
    """

    rows: Ints
    held: Ints
    groups: Ints
    ncp: Floats

    def batches(self) -> list[Pools]:
        """The same in batches."""
        starts = starts_of(self.held)
        parts = [slice(part, min(part + POOLS, len(self.held))) for part in range(0, len(self.held), POOLS)]
        return [
            Pools(self.rows[starts[part.start] : starts[part.stop]], self.held[part], self.groups[part], self.ncp[part])
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
    held = np.bincount(of, classes.sizes[members]).astype(np.int64)
    ncp = np.bincount(of, classes.ncp[members]).astype(np.float64)
    groups = np.bincount(of) if keep else held // block.k
    fit = np.flatnonzero((held <= LARGEST * size * block.k) & (ncp > GAIN) & (groups > 0))
    fit = fit[np.argsort(-held[fit], kind="stable")]
    place = np.full(len(names), -1)
    place[fit] = np.arange(len(fit))
    members, of = members[place[of] >= 0], place[of][place[of] >= 0]
    rows = classes.order[concatenated_ranges(classes.starts[members], classes.sizes[members])]
    rows = rows[np.lexsort((rng.random(len(rows)), np.repeat(of, classes.sizes[members])))]
    return Pools(rows, held[fit], groups[fit], ncp[fit])


def _regrouped(block: Block, batch: Pools) -> tuple[Ints, Ints, int]:
    """The rows of those pools that lose less in groups, the group of each, and how many groups there are."""
    starts, width = starts_of(batch.held), int(batch.held.max(initial=0))
    pool = np.repeat(np.arange(len(batch.held)), batch.held)
    place = np.arange(len(pool)) - starts[pool]
    rows = np.zeros((len(batch.held), width), np.int64)
    rows[pool, place] = batch.rows
    grouping = GreedyGroups(block.measure, rows, batch.held, batch.groups, block.k)
    better = grouping.grow() < batch.ncp - GAIN
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
