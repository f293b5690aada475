"""Answers to COUNT queries: which items a box meets, how many rows of a table that are, and what a recipient expects
of regions or sums from a joint table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial

import numpy as np

from anonymize.classes import Bools, Floats, Integers, Ints, mixed_radix
from anonymize.domain import LeafSets
from anonymize.metrics.queries import Queries, spreads
from anonymize.parallel import in_parts
from anonymize.records import dataclass

# --- items that a box meets -------------------------------------------------------------------------------------------
# Items are rows as leaves, or regions as numbers; they are looked at block by block and in words of bits.

BLOCK = 1 << 18
"""Items whose bits are in memory at a time."""
REMEMBERED = 64
"""Ranges in an attribute, up to which the bits of each are kept."""


@dataclass(frozen=True)
class ItemEnds:
    """One attribute of the items, as ranks: an item meets a box where its start lies below `until` and its stop not
    below `begin`, positions (boxes,) among the thresholds of either."""

    start: Ints
    stop: Ints
    thresholds: tuple[int, int]
    until: Ints
    begin: Ints

    @classmethod
    def of(cls, leaves: Integers, queries: Queries, index: int) -> ItemEnds:
        """The ends of items that are leaves, whose start is their stop: one order of thresholds serves both."""
        both = np.concatenate([queries.last[:, index] + 1, queries.first[:, index]])
        thresholds, of_boxes = spreads.thresholds_of(both, np.tile(queries.restricted[:, index], 2))
        until, begin = np.split(of_boxes, 2)
        leaf_ranks = spreads.ranks(leaves, thresholds)
        return cls(leaf_ranks, leaf_ranks, (len(thresholds), len(thresholds)), until, begin)

    @classmethod
    def of_regions(cls, start: Floats, stop: Floats, queries: Queries, index: int) -> ItemEnds:
        """The ends of items that are regions of numbers."""
        ends = spreads.met_ends(queries.low[:, index], queries.high[:, index], bool(queries.whole[index]))
        (uppers, until), (lowers, begin) = (spreads.thresholds_of(each, queries.restricted[:, index]) for each in ends)
        starts = spreads.ranks(np.where(np.isnan(start), np.inf, start), uppers)
        return cls(starts, spreads.ranks(stop, lowers), (len(uppers), len(lowers)), until, begin)

    def bits(self, block: slice) -> MetItems:
        """The bits of some items."""
        of_start, of_stop = self.thresholds
        starts = spreads.PrefixBits.of(self.start[block], of_start)
        return MetItems(
            self, starts, starts if self.stop is self.start else spreads.PrefixBits.of(self.stop[block], of_stop)
        )

    @cached_property
    def few(self) -> bool:
        """Whether boxes have few ranges in this attribute."""
        return len(set(zip(self.begin.tolist(), self.until.tolist(), strict=True))) <= REMEMBERED


@dataclass
class MetItems:
    """Some items of an attribute, and those that meet a box's range: of few ranges, each is worked out once."""

    ends: ItemEnds
    starts: spreads.PrefixBits
    stops: spreads.PrefixBits
    remembered: dict[tuple[int, int], spreads.Words] = field(default_factory=dict)

    def range(self, box: int, part: slice = spreads.EVERY) -> spreads.Words:
        """(words,) the items of a part that meet the range of a box; not to be written to. What stops below a range has
        also started below its end: the bits of the one are among those of the other."""
        begin, until = int(self.ends.begin[box]), int(self.ends.until[box])
        if not self.ends.few:
            return np.bitwise_xor(self.stops.below(begin, part), self.starts.below(until, part))
        words = self.remembered.get((begin, until))
        if words is None:
            words = self.remembered[begin, until] = np.bitwise_xor(self.stops.below(begin), self.starts.below(until))
        return words[part]


def blocks(ends: Sequence[ItemEnds], items: int, size: int) -> Iterator[tuple[int, list[MetItems]]]:
    """Where each block of items begins, and its bits in each attribute."""
    for begin in range(0, items, size):
        yield begin, [each.bits(slice(begin, begin + size)) for each in ends]


def restricted_attributes(queries: Queries) -> list[list[int]]:
    """The attributes that each box restricts."""
    boxes, attributes = np.nonzero(queries.restricted)
    ends = np.cumsum(np.bincount(boxes, minlength=len(queries.restricted)))[:-1]
    return [each.tolist() for each in np.split(attributes, ends)] if len(queries.restricted) else []


def meeting(
    bits: Sequence[MetItems], box: int, attributes: Sequence[int], part: slice = spreads.EVERY
) -> spreads.Words:
    """(words,) the items of a part that meet a box; not to be written to."""
    words = bits[attributes[0]].range(box, part)
    if len(attributes) > 1:
        words = words & bits[attributes[1]].range(box, part)
        for index in attributes[2:]:
            words &= bits[index].range(box, part)
    return words


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
        spreads.GappedSpreads.of(gapped[index], weights)
        if gapped and index in gapped
        else spreads.Spreads.of(start[:, index], stop[:, index], weights, bool(queries.whole[index]))
        for index in attributes
    ]
    before = [each.before(queries.low[:, index], queries.high[:, index]) for index, each in enumerate(distinct)]
    several: list[tuple[int, list[int], list[int]]] = []

    def add(begin: int, bits: list[MetItems], part: Sequence[tuple[int, list[int], list[int]]]) -> None:
        for box, restricted, spread in part:
            met = spreads.positions(meeting(bits, box, restricted))
            met += begin
            within = [
                (distinct[index], queries.low[box, index], queries.high[box, index], int(before[index][box]))
                for index in spread
            ]
            of_boxes[box] += spreads.rows_within(weights, met, within).sum()

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


# --- counting ---------------------------------------------------------------------------------------------------------
# Boxes that restrict attributes of few leaves alone are sums of one joint table of these. For the others, rows are
# sorted by the attribute with the most ranges: the rows in one of its ranges then follow each other, and only their
# bits are looked at, of the other attributes that a box restricts.

JOINT_CELLS = 1 << 20
"""Cells of a joint table at the most."""

_InOrder = tuple[int, list[int], int, int]
"""A box, the attributes that it restricts but for the one by which rows are sorted, and its rows as far as that says:
the first, and the one behind the last."""


def counted(columns: Sequence[Integers], queries: Queries, block: int = BLOCK, cells: int = JOINT_CELLS) -> Ints:
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
    sizes = np.array([_size(column) for column in columns])
    few, product = np.zeros(len(columns), np.bool_), 1
    for index in np.argsort(sizes, kind="stable").tolist():
        product *= int(sizes[index]) + 1
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
    ranges = np.stack([queries.first, queries.last])[:, boxes]
    restricting = queries.restricted[boxes]
    counts = [
        np.unique(ranges[:, restricting[:, index], index], axis=1).shape[1] for index in range(restricting.shape[1])
    ]
    return int(np.argmax(counts))


def _count(bits: Sequence[MetItems], box: int, attributes: Sequence[int], low: int, high: int) -> int:
    """The items from `low` on and before `high` that meet a box in some attributes. Words at either end hold items that
    are not among these, too: their bits are masked."""
    part = slice(low // spreads.WORD, -(-high // spreads.WORD))
    words: spreads.Words = meeting(bits, box, attributes, part)
    count = int(np.bitwise_count(words).sum(dtype=np.int64))
    if low % spreads.WORD:
        count -= int(np.bitwise_count(words[0] & spreads.FIRST[low % spreads.WORD]))
    if high % spreads.WORD:
        count -= int(np.bitwise_count(words[-1] & ~spreads.FIRST[high % spreads.WORD]))
    return count
