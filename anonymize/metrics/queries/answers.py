"""Answers to COUNT queries: expected of regions, summed from a joint table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from anonymize.classes import Floats, Ints
from anonymize.domain.leafsets import LeafSets
from anonymize.metrics.queries.batch import Queries
from anonymize.metrics.queries.bits import positions
from anonymize.metrics.queries.meeting import BLOCK, ItemEnds, MetItems, blocks, meeting, restricted_attributes
from anonymize.metrics.queries.spreads import GappedSpreads, Spreads, rows_within
from anonymize.threads import in_parts


def estimated(
    start: Floats,
    stop: Floats,
    sizes: Ints,
    queries: Queries,
    block: int = BLOCK,
    gapped: Mapping[int, LeafSets] | None = None,
) -> Floats:
    """(queries,) rows that a recipient expects of each, who spreads the rows of a region evenly over it: over whole
    numbers where the attribute has nothing else, over the line between its ends, over the leaves of a category.

    `start`, `stop` (regions, attributes): the ends of regions, as numbers or positions of leaves, nan for a missing
    number. `sizes` (regions,): their rows. `gapped`: of the categories of which some regions are sets with gaps, the
    leaves of each region. Only regions that a query meets are looked at, and of each attribute only
    its distinct regions; none, where all of them are single points, as a region that meets a range lies in it then.
    """
    of_boxes = np.zeros(len(queries.restricted))
    attributes = range(start.shape[1])
    weights = sizes.astype(np.float64)
    distinct = [
        GappedSpreads.of(gapped[index], weights)
        if gapped and index in gapped
        else Spreads.of(start[:, index], stop[:, index], weights, bool(queries.whole[index]))
        for index in attributes
    ]
    before = [each.before(queries.low[:, index], queries.high[:, index]) for index, each in enumerate(distinct)]
    several: list[tuple[int, list[int], list[int]]] = []

    def add(begin: int, bits: list[MetItems], part: Sequence[tuple[int, list[int], list[int]]]) -> None:
        for box, restricted, spread in part:
            met = positions(meeting(bits, box, restricted))
            met += begin
            within = [
                (distinct[index], queries.low[box, index], queries.high[box, index], int(before[index][box]))
                for index in spread
            ]
            of_boxes[box] += rows_within(weights, met, within).sum()

    for box, restricted in enumerate(restricted_attributes(queries)):
        if len(restricted) > 1:
            several.append((box, restricted, [index for index in restricted if not distinct[index].points]))
        else:
            index = restricted[0]
            of_boxes[box] = distinct[index].expected(queries.low[box, index], queries.high[box, index])
    ends = [ItemEnds.of_regions(start[:, index], stop[:, index], queries, index) for index in attributes]
    for begin, bits in blocks(ends, len(sizes) if several else 0, block):
        in_parts(partial(add, begin, bits), several, queries.threads)
    return queries.totals(of_boxes)


def summed(table: Floats, queries: Queries) -> Floats:
    """(queries,) sums of a joint table with an axis for each quasi-identifier, by its sums from the first cell on."""
    sums = np.zeros([size + 1 for size in table.shape])
    sums[tuple(slice(1, None) for _ in table.shape)] = table
    for axis in range(table.ndim):
        np.cumsum(sums, axis=axis, out=sums)
    first = np.where(queries.restricted, queries.first, 0)
    stop = np.where(queries.restricted, queries.last + 1, table.shape)
    of_boxes = np.zeros(len(first))
    for corner in np.ndindex(*(2,) * table.ndim):
        place = np.where(corner, stop, first)
        of_boxes += sums[tuple(place.T)] * (-1) ** (table.ndim - sum(corner))
    return queries.totals(of_boxes)
