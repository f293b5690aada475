"""The places where an attribute may be cut: its values, or the children of a node, in every class of a batch at once.

All of it is made of cells: a class, an item of the attribute (a value, or a child of the node that covers the class)
and a value of a target, with the rows that have all three. Cells are sorted, so whatever holds of the rows before a
place is a cumulative sum over them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.splitting import Batch
from anonymize.classes import (
    DENSE,
    DENSE_PER_ROW,
    MOST_KEYS,
    Bools,
    Codes,
    Ints,
    KeyGroups,
    concatenated_ranges,
    mixed_radix,
    run_starts,
    starts_of,
)
from anonymize.domain import Domain, taxonomy
from anonymize.records import dataclass

SAMPLE = 1 << 10
"""Where a sample will do, at most this many rows of a larger class, evenly spread, decide where it is cut."""

BINS_BITS = 7
"""Where a sample will do, numbers of a class of more than twice that many rows are put into at most 2 ** BINS_BITS
items of equally many codes."""

Unsigned = NDArray[np.unsignedinteger[Any]]
Integers = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class JudgedRows:
    """Rows of some classes (m,) of a batch, class after class, by which these are judged: all of them, or of a large
    class a sample.

    `positions` (n,) of the rows in the batch, None for all of it; `sizes` (m,) rows of each class; `labels` (n,) class
    of each row; `classes` (m,) which of the batch's they are; `targets` the rows' codes of each target; `exact`:
    whether nothing is sampled, and no numbers are taken together.
    """

    positions: Ints | None
    sizes: Ints
    labels: Ints
    classes: Ints
    targets: tuple[Codes, ...]
    exact: bool = True

    @classmethod
    def of(cls, batch: Batch, classes: Ints, minimum: int, *, exact: bool) -> JudgedRows:
        """The rows of some classes at least, ascending: of all that may be cut where that is not much more.

        `minimum`: classes of less than twice as many rows may not be cut.
        """
        everything: JudgedRows | None = batch.notes.get("rows")
        if everything is None:
            everything = batch.notes["rows"] = cls._of(batch, np.flatnonzero(batch.sizes >= 2 * minimum), exact)
        if 2 * batch.sizes[classes].sum() > batch.sizes[everything.classes].sum():
            return everything
        return cls._of(batch, classes, exact)

    @classmethod
    def _of(cls, batch: Batch, classes: Ints, exact: bool) -> JudgedRows:
        positions, sizes, labels = cls._spread(batch, classes, len(batch.rows) if exact else SAMPLE)
        picked = tuple(codes if positions is None else codes[positions] for codes in batch.targets)
        return cls(positions, sizes, labels, classes, picked, exact)

    @classmethod
    def _spread(cls, batch: Batch, classes: Ints, limit: int) -> tuple[Ints | None, Ints, Ints]:
        """Every s-th row of a class of more than `limit`."""
        whole = batch.sizes[classes]
        if len(classes) == batch.count and whole.max() <= limit:
            return None, whole, batch.labels
        step = -(-whole // limit)
        sizes = -(-whole // step)
        labels = np.repeat(np.arange(len(classes)), sizes)
        if step.max() == 1:
            return concatenated_ranges(batch.starts[:-1][classes], sizes), sizes, labels
        within = np.arange(len(labels)) - np.repeat(starts_of(sizes)[:-1], sizes)
        return batch.starts[:-1][classes][labels] + step[labels] * within, sizes, labels

    def pick(self, codes: Codes) -> Codes:
        """The codes of these rows."""
        return codes if self.positions is None else codes[self.positions]


@dataclass(frozen=True)
class Items:
    """What an attribute can be cut between, in m classes.

    `codes` (n,) item of each row, `low` and `high` (m,) lowest and highest item that may occur in each class. An item
    is a code or, where there is a `level` (m,) of each class, its ancestor there: that ancestor's first leaf. Where
    `shift` (m,) is not 0, it is a bin: the distance of the code from `origin` (m,), over 2 ** shift.
    """

    rows: JudgedRows
    codes: Codes | Ints
    low: Ints
    high: Ints
    level: Ints | None
    origin: Ints
    shift: Ints

    @classmethod
    def of(cls, domain: Domain, batch: Batch, attribute: int, rows: JudgedRows) -> Items:
        """The values of a numeric attribute; of a categorical one, the children of the node that covers the class."""
        codes = rows.pick(batch.columns[attribute])
        low, high = batch.low[rows.classes, attribute], batch.high[rows.classes, attribute]
        if isinstance(domain, taxonomy.Taxonomy):
            level = np.maximum(domain.level[domain.lca(low, high)].astype(np.int64) - 1, 0)
            first_leaf = domain.start[domain.levels]
            items = first_leaf.ravel()[np.repeat(level * domain.size, rows.sizes) + codes]
            none = np.zeros(len(low), np.int64)
            return cls(rows, items, first_leaf[level, low], first_leaf[level, high], level, none, none)
        return cls._of_numbers(rows, codes, low.astype(np.int64), high.astype(np.int64))

    @classmethod
    def _of_numbers(cls, rows: JudgedRows, codes: Codes, low: Ints, high: Ints) -> Items:
        """Codes as they are, or, where a sample will do, as bins in classes where both rows and codes are many."""
        bits = np.frexp((high - low).astype(np.float64))[1].astype(np.int64)
        binned = (rows.sizes > 2 << BINS_BITS) & (not rows.exact)
        shift = np.where(binned, np.maximum(bits - BINS_BITS, 0), 0)
        if not shift.any():
            return cls(rows, codes, low, high, None, np.zeros_like(low), shift)
        bins = codes - np.repeat(low.astype(codes.dtype), rows.sizes)
        bins >>= np.repeat(shift.astype(codes.dtype), rows.sizes)
        return cls(rows, bins, np.zeros_like(low), (high - low) >> shift, None, low, shift)

    def code_of(self, item: Ints) -> Ints:
        """The first code of an item (m,) of each class."""
        return self.origin + (item << self.shift)

    @property
    def grouped(self) -> bool:
        """Whether items are children of a node."""
        return self.level is not None

    def stop_of(self, domain: taxonomy.Taxonomy, item: Ints, classes: Bools) -> Ints:
        """One past the last leaf of the child that an item is, one item in each of some of the classes."""
        assert self.level is not None
        return domain.stop[domain.levels[self.level[classes], item]]

    def cells(self, values: Codes, size: int) -> ItemCells:
        """The cells of these rows, and of their values (n,), each below `size`, of one target.

        Counted in a dense table where that is worth it, else by a sort; then no two are equal if they are grouped.

        Class, item and value are packed by bits into numbers as narrow as possible: most of the time goes into sorting
        them, and narrow numbers from which item and value can be read back take half as long as `mixed_radix` and
        `KeyGroups`, which are used where the bits are not enough.
        """
        base = starts_of(self.high - self.low + 1)
        bits = int(size - 1).bit_length()
        cells = int(base[-1]) << bits
        if cells >= MOST_KEYS:
            return self._by_rank(values, size)
        keys = self._keys(values, base, bits, np.dtype(np.uint32 if cells < 1 << 31 else np.uint64))
        if cells <= max(DENSE_PER_ROW * len(keys), DENSE):
            counts = np.bincount(keys.view(f"i{keys.itemsize}"), minlength=cells)
            occupied = np.flatnonzero(counts)
            return self._decoded(occupied, base, bits, counts[occupied])
        keys.sort()
        if self.grouped:
            edges = run_starts(keys)
            return self._decoded(keys[edges].astype(np.int64), base, bits, np.diff(edges, append=len(keys)))
        value = (keys & keys.dtype.type((1 << bits) - 1)).astype(np.min_scalar_type(size))
        return ItemCells(keys >> keys.dtype.type(bits), value, None, starts_of(self.rows.sizes), base[:-1] - self.low)

    def _keys(self, values: Codes, base: Ints, bits: int, dtype: np.dtype[Any]) -> Unsigned:
        """(n,) class, item and value of each row as one number."""
        keys = np.repeat((base[:-1] - self.low).astype(dtype), self.rows.sizes)
        keys += self.codes.astype(dtype)
        keys <<= dtype.type(bits)
        keys |= values.astype(dtype)
        return keys

    def _decoded(self, keys: Ints, base: Ints, bits: int, counts: Ints) -> ItemCells:
        place = keys >> bits
        begins = np.searchsorted(place, base)
        return ItemCells(place, keys & ((1 << bits) - 1), counts, begins, base[:-1] - self.low)

    def _by_rank(self, values: Codes, size: int) -> ItemCells:
        """The cells where class, item and value do not fit into one number; no two are equal."""
        base = starts_of(self.high - self.low + 1)
        place = np.repeat(base[:-1] - self.low, self.rows.sizes) + self.codes.astype(np.int64)
        grouping = KeyGroups.of(*mixed_radix((place, values), (int(base[-1]), size)))
        place, value = place[grouping.first], values[grouping.first].astype(np.int64)
        counts = np.diff(grouping.starts, append=len(values))
        return ItemCells(place, value, counts, np.searchsorted(place, base), base[:-1] - self.low)


@dataclass(frozen=True)
class ItemCells:
    """Cells of m classes, sorted by class, item and value: `place` (c,) ascending with class and item, `value` and
    `counts` (c,) rows of each. Class j has the cells `begins[j] ... begins[j + 1] - 1`, and its items are `place -
    offset[j]`.

    `counts` None means that each cell is one row; then several may be equal.
    """

    place: Integers
    value: Integers
    counts: Ints | None
    begins: Ints
    offset: Ints

    @cached_property
    def owner(self) -> Ints:
        """(c,) class of each cell."""
        return np.repeat(np.arange(len(self.offset)), np.diff(self.begins))

    @cached_property
    def upto(self) -> Ints:
        """(c + 1,) rows before each cell, over all classes; the last is all rows."""
        return np.arange(len(self.place) + 1) if self.counts is None else starts_of(self.counts)

    def cumulated(self, share: NDArray[Any]) -> NDArray[Any]:
        """(c + 1,) sums of a figure of a row of each cell (c,) over the rows before each cell, over all classes."""
        sums = np.zeros(len(self.place) + 1, np.float64 if share.dtype.kind == "f" else np.int64)
        np.cumsum(share if self.counts is None else share * self.counts, out=sums[1:])
        return sums

    @cached_property
    def starts(self) -> Ints:
        """(items + 1,) first cell of each item that occurs in a class; the last is all cells."""
        new = np.ones(len(self.place) + 1, np.bool_)
        np.not_equal(self.place[1:], self.place[:-1], out=new[1:-1])
        return np.flatnonzero(new)

    @cached_property
    def first(self) -> Ints:
        """(m + 1,) first item of each class; the last is all items."""
        return np.searchsorted(self.starts, self.begins)

    def items(self, item: Ints, owner: Ints) -> Ints:
        """The codes of some items (n,) in classes (n,)."""
        return self.place[self.starts[item]].astype(np.int64) - self.offset[owner]

    def of_label(self, size: int) -> tuple[Ints, Ints, Ints]:
        """(c,) rows of each cell, and those of its class and value in the cells before it, and in all cells; values
        are below `size`."""
        counts = np.ones(len(self.place), np.int64) if self.counts is None else self.counts
        keys = self.owner * size + self.value
        order = np.argsort(keys, kind="stable")
        upto = starts_of(counts[order])
        starts = run_starts(keys[order])
        lengths = np.diff(starts, append=len(keys))
        ahead, whole = np.empty((2, len(keys)), np.int64)
        ahead[order] = upto[:-1] - np.repeat(upto[starts], lengths)
        whole[order] = np.repeat(upto[starts + lengths] - upto[starts], lengths)
        return counts, ahead, whole


@dataclass(frozen=True)
class Sides:
    """Cuts that are weighed: the first side holds the cells `start ... stop - 1` of a class, the second the others.

    `owner` (cuts,) class, ascending; `item` (cuts,) the item before which the class is cut, or the only one of the
    first side; `start`, `stop` (cuts,) cells.
    """

    owner: Ints
    item: Ints
    start: Ints
    stop: Ints

    @classmethod
    def of(cls, cells: ItemCells, item: Ints, *, alone: bool) -> Sides:
        """Cuts before some items, or of each of them alone."""
        owner, first = cells.owner[cells.starts[item]], cells.starts[item]
        if alone:
            return cls(owner, item, first, cells.starts[item + 1])
        return cls(owner, item, cells.begins[owner], first)

    def over(self, cells: ItemCells, *, alone: bool) -> Sides:
        """The sides of these cuts by the cells of another target: the items are the same, their cells are not."""
        return self.of(cells, self.item, alone=alone)


def before_each(cells: ItemCells, sizes: Ints, least: Ints) -> Ints:
    """The items before which a class of `sizes` (m,) rows may be cut, with `least` (m,) rows on either side."""
    before, begins = cells.upto[cells.starts[:-1]], cells.upto[cells.begins[:-1]]
    items = np.diff(cells.first)
    fits = before >= np.repeat(begins + least, items)
    fits &= before <= np.repeat(begins + sizes - least, items)
    return np.flatnonzero(fits)


def each_alone(cells: ItemCells, sizes: Ints, least: Ints) -> Ints:
    """The items that may be parted from the others of a class, of which there are at least two; as before."""
    rows, items = np.diff(cells.upto[cells.starts]), np.diff(cells.first)
    fits = (rows >= np.repeat(least, items)) & (rows <= np.repeat(sizes - least, items))
    fits &= np.repeat(items > 2, items)
    return np.flatnonzero(fits)
