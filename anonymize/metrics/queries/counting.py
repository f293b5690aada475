"""How many rows of a table COUNT queries are met by.

Boxes that restrict attributes of few leaves alone are sums of one joint table of these. For the others, rows are sorted
by the attribute with the most ranges: the rows in one of its ranges then follow each other, and only their bits are
looked at, of the other attributes that a box restricts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from anonymize.classes import Bools, Integers, Ints, mixed_radix
from anonymize.metrics.queries.answers import summed
from anonymize.metrics.queries.batch import Queries
from anonymize.metrics.queries.bits import FIRST, WORD, Words
from anonymize.metrics.queries.meeting import BLOCK, ItemEnds, MetItems, blocks, meeting, restricted_attributes
from anonymize.threads import in_parts

CELLS = 1 << 20
"""Cells of a joint table at the most."""

_InOrder = tuple[int, list[int], int, int]
"""A box, the attributes that it restricts but for the one by which rows are sorted, and its rows as far as that says:
the first, and the one behind the last."""


def counted(columns: Sequence[Integers], queries: Queries, block: int = BLOCK, cells: int = CELLS) -> Ints:
    """(queries,) rows of each. `columns`: (rows,) the leaves of the rows in each quasi-identifier. `block`: rows whose
    bits are held at a time. `cells`: of a joint table, at the most."""
    of_boxes = np.zeros(len(queries.restricted), np.int64)
    if queries.count and len(columns):
        few = _few(columns, cells)
        inside: Bools = np.logical_not(queries.restricted[:, ~few].any(axis=1))
        if inside.any():
            of_boxes[inside] = _in_table(columns, queries, inside, few)
        if not inside.all():
            _add_in_rows(columns, queries, np.flatnonzero(~inside).tolist(), block, of_boxes)
    return queries.totals(of_boxes.astype(np.float64)).astype(np.int64)


def _few(columns: Sequence[Integers], cells: int) -> Bools:
    """(attributes,) those of the fewest leaves, as many as have a joint table of so many cells."""
    sizes = [_size(column) for column in columns]
    few, product = np.zeros(len(columns), np.bool_), 1
    for index in sorted(range(len(columns)), key=lambda index: sizes[index]):
        product *= sizes[index] + 1
        few[index] = product <= cells
    return few


def _size(column: Integers) -> int:
    return int(column.max(initial=0)) + 1


def _in_table(columns: Sequence[Integers], queries: Queries, inside: Bools, few: Bools) -> Ints:
    """(boxes inside,) rows of the boxes that restrict nothing but these few attributes."""
    chosen = np.flatnonzero(few)
    chosen_columns = [columns[index] for index in chosen.tolist()]
    shape = [_size(column) for column in chosen_columns]
    table = np.bincount(mixed_radix(chosen_columns, shape)[0], minlength=int(np.prod(shape))).reshape(shape)
    boxes = int(inside.sum())
    part = replace(
        queries,
        restricted=queries.restricted[inside][:, chosen],
        # A query may ask for leaves behind the last one that occurs.
        first=np.minimum(queries.first[inside][:, chosen], shape),
        last=np.minimum(queries.last[inside][:, chosen], np.array(shape) - 1),
        query=np.arange(boxes),
        dimensions=np.zeros(boxes, np.int64),
    )
    return summed(table.astype(np.float64), part).astype(np.int64)


def _add_in_rows(
    columns: Sequence[Integers], queries: Queries, boxes: Sequence[int], block: int, of_boxes: Ints
) -> None:
    """Adds the rows of some boxes to theirs."""
    restricted = restricted_attributes(queries)
    main = _main(queries, boxes)
    order = np.argsort(columns[main], kind="stable")
    along = columns[main][order].astype(np.int64)
    begin, until = np.searchsorted(along, queries.first[:, main]), np.searchsorted(along, queries.last[:, main] + 1)
    ranges: list[_InOrder] = []
    for box in boxes:
        others = [index for index in restricted[box] if index != main]
        first, stop = (int(begin[box]), int(until[box])) if queries.restricted[box, main] else (0, len(order))
        if others:
            ranges.append((box, others, first, stop))
        else:
            of_boxes[box] = stop - first
    ends = [ItemEnds.of(codes[order], queries, index) for index, codes in enumerate(columns)]
    for start, bits in blocks(ends, len(order), block):
        in_parts(partial(_add_block, bits, (start, min(start + block, len(order))), of_boxes), ranges, queries.threads)


def _add_block(bits: Sequence[MetItems], block: tuple[int, int], of_boxes: Ints, ranges: Sequence[_InOrder]) -> None:
    """Adds the rows of some boxes that are in a block to theirs."""
    start, end = block
    for box, others, first, stop in ranges:
        low, high = max(first, start) - start, min(stop, end) - start
        if low < high:
            of_boxes[box] += _count(bits, box, others, low, high)


def _main(queries: Queries, boxes: Sequence[int]) -> int:
    """The attribute that some boxes have the most different ranges of, in as far as they restrict it."""
    ranges = [
        len(np.unique(np.stack([queries.first[restricting, index], queries.last[restricting, index]]), axis=1).T)
        for index in range(queries.restricted.shape[1])
        for restricting in [[box for box in boxes if queries.restricted[box, index]]]
    ]
    return int(np.argmax(ranges))


def _count(bits: Sequence[MetItems], box: int, attributes: Sequence[int], low: int, high: int) -> int:
    """The items from `low` on and before `high` that meet a box in some attributes. Words at either end hold items that
    are not among these, too: their bits are masked."""
    part = slice(low // WORD, -(-high // WORD))
    words: Words = meeting(bits, box, attributes, part)
    count = int(np.bitwise_count(words).sum(dtype=np.int64))
    if low % WORD:
        count -= int(np.bitwise_count(words[0] & FIRST[low % WORD]))
    if high % WORD:
        count -= int(np.bitwise_count(words[-1] & ~FIRST[high % WORD]))
    return count
