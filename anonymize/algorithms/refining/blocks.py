"""A large table is cut into parts of classes that lie near each other, along other borders in every pass.

What one pass cannot see across a border, the next can.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.refining.block import Block, BlockClasses
from anonymize.classes import Ints, Partition

ROWS = 1 << 16
"""The approximate maximum number of rows in a block."""
CELLS = 1 << 27
"""The approximate number of (row, class) pairs looked at in one pass over a table."""
LEAST = 1 << 9
"""The approximate minimum number of classes in a section, however large the table."""


def blocks(codes: NDArray[Any], partition: Partition, rng: np.random.Generator) -> list[Ints]:
    """The numbers of the classes of each block, ascending; `codes`: (attributes, rows)."""
    drawn = _drawn(partition.order, partition.starts, partition.sizes, rng)
    return _halved(codes[:, drawn], -(-len(partition.order) // ROWS), rng)


def sections(block: Block, classes: BlockClasses, rows: int, rng: np.random.Generator) -> list[Ints]:
    """The numbers of the classes of each section of a block, within which rows look for a better class.

    `rows`: of the whole table. A section is the whole block where the table is small.
    """
    drawn = _drawn(classes.order, classes.starts, classes.sizes, rng)
    largest = max(CELLS // rows, LEAST)
    return _halved(block.measure.places_of(drawn), -(-classes.count // largest), rng)


def _drawn(order: NDArray[Any], starts: Ints, sizes: Ints, rng: np.random.Generator) -> NDArray[Any]:
    """(classes,) a row of each class, drawn at random."""
    return np.asarray(order[starts[:-1] + (rng.random(len(sizes)) * sizes).astype(np.int64)])


def _halved(places: Sequence[NDArray[Any]] | NDArray[Any], parts: int, rng: np.random.Generator) -> list[Ints]:
    """Classes halved until there are that many parts or more, given a place of each on every axis.

    Each part is halved at its median on an axis drawn at random; equal places are parted by chance.
    """
    classes = len(places[0])
    part, count = np.zeros(classes, np.int64), 1
    chance = rng.random(classes)
    while count < parts:
        axis = rng.integers(0, len(places), count)[part]
        place = np.choose(axis, [np.asarray(each, np.float64) for each in places])
        order = np.lexsort((chance, place, part))
        sizes = np.bincount(part, minlength=count)
        rank = np.arange(classes) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        upper = np.empty(classes, np.int64)
        upper[order] = 2 * rank >= np.repeat(sizes, sizes)
        part, count = 2 * part + upper, 2 * count
    order = np.argsort(part, kind="stable")
    cut = np.split(order, np.searchsorted(part[order], np.arange(1, count)))
    return [each for each in cut if len(each)]
