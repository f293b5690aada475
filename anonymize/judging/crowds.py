"""Populations under classes: how many people share what a class shows.

Regions leave people between them, or overlap, so nobody counts as outside of them. Nodes of a level do neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from anonymize.classes import Codes, Integers, Ints, mixed_radix, run_starts
from anonymize.privacy import Crowd
from anonymize.table.population import Population, PopulationAxis


def crowds_around(
    populations: Mapping[str, Population], columns: Sequence[Codes], labels: Integers, count: int
) -> dict[str, Crowd]:
    """How many people of each population are within the region around each of `count` groups of rows.

    `columns`: the codes (n,) of each quasi-identifier, `labels` (n,) the group of each row. Nobody is within the region
    of a group that has no rows. Sorted by group, the rows of a group are one segment, so a single `reduceat` finds the
    ends of all regions.
    """
    if not populations:
        return {}
    order = np.argsort(labels, kind="stable")
    begins = run_starts(labels[order])
    arranged = [codes[order] for codes in columns]
    low = [np.minimum.reduceat(codes, begins).astype(np.int64) for codes in arranged]
    high = [np.maximum.reduceat(codes, begins).astype(np.int64) for codes in arranged]
    axes = next(iter(populations.values())).axes
    highest = [_highest(axis, codes, begins, last) for axis, codes, last in zip(axes, arranged, high, strict=True)]
    crowds = {}
    for path, population in populations.items():
        matched = np.zeros(count, np.int64)
        matched[labels[order][begins]] = population.within(low, high, highest)
        crowds[path] = Crowd(matched, 0)
    return crowds


def _highest(axis: PopulationAxis, codes: Codes, begins: Ints, last: Ints) -> Ints:
    """The highest code of each group that is not missing, of numbers; of what is missing alone, or no number, the
    highest there is. `codes` (n,) group by group."""
    if not axis.numeric or axis.missing is None:
        return last
    present = np.where(codes == axis.missing, -1, codes.astype(np.int64))
    highest = np.maximum.reduceat(present, begins)
    return np.where(highest < 0, last, highest)


def crowd_of_nodes(population: Population, levels: Sequence[int], leaves: Sequence[Ints]) -> Crowd:
    """How many people are under the nodes that each of m cells shows.

    `levels`: that of each quasi-identifier; `leaves`: of each (m,) a leaf under the node of each cell.

    Cells and people are numbered together by the nodes that they show, so that a look-up by number takes the place of
    a join.
    """
    columns, sizes = [], []
    for axis, level, column_leaves in zip(population.axes, levels, leaves, strict=True):
        both = np.concatenate((axis.at_level(level, axis.leaf_of(column_leaves)), axis.at_level(level, axis.leaves)))
        columns.append(both)
        sizes.append(len(axis.wide.hierarchy.labels))
    keys = np.unique(mixed_radix(columns, sizes)[0], return_inverse=True)[1]
    cells = len(leaves[0]) if leaves else 0
    people = np.zeros(int(keys.max(initial=-1)) + 1, np.int64)
    np.add.at(people, keys[cells:], population.counts)
    return Crowd(people[keys[:cells]], population.total)
