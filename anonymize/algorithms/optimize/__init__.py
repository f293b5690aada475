"""Machinery of the search for an optimal set of splits: cells, costs, moves, the set-enumeration tree, local search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from anonymize.algorithms.single import DistinctRows
from anonymize.classes import MOST_KEYS, Bools, Ints, KeyGroups, mixed_radix
from anonymize.judging import Tally
from anonymize.privacy import Groups
from anonymize.recoding import Cut
from anonymize.records import dataclass
from anonymize.table import Attribute, Table, TargetColumn

# --- cells ------------------------------------------------------------------------------------------------------------
# Cells: the combinations of intervals that a set of splits makes, with what lies in them.
#
# A split is a place between two neighbouring leaves of an attribute's total order. Splits are numbered attribute by
# attribute, in that order; a set of them is a mask. The cells of a set are made of the cells of any larger one.
#
# Where the size of a class alone decides, `SizedCells` counts in all attributes at once, without a sort for each. The
# intervals of all attributes are numbered in one row, those of the first attribute first. One table then holds how
# many rows each class has in each interval, whatever the attribute. As the intervals of an attribute hold all rows of
# a class, the running total along a row of that table, less the class once for each attribute before, is what lies
# before each boundary: every way to part every class at once.


@dataclass(frozen=True)
class Splits:
    """The splits that there are. `places`: per attribute, the leaf that each of them stands before, ascending."""

    places: tuple[Ints, ...]

    @classmethod
    def of_table(cls, table: Table, level: int) -> Splits:
        """The splits between values that occur and lie under different nodes of a level of the hierarchies."""
        return cls(tuple(_places(attribute, level) for attribute in table.attributes))

    @property
    def count(self) -> int:
        """How many splits there are."""
        return sum(map(len, self.places))

    @property
    def attribute(self) -> Ints:
        """(splits,) the attribute of each."""
        return np.repeat(np.arange(len(self.places)), [len(places) for places in self.places])

    def per_attribute(self, mask: Bools) -> list[Bools]:
        """A set of splits, attribute by attribute."""
        return np.split(mask, np.cumsum([len(places) for places in self.places])[:-1])

    def cuts(self, mask: Bools) -> list[Cut]:
        """A set of splits, as a recoding has it."""
        parted = zip(self.places, self.per_attribute(mask), strict=True)
        return [Cut(np.append(0, places[chosen])) for places, chosen in parted]


def _places(attribute: Attribute, level: int) -> Ints:
    """Where neighbouring values that occur differ at the level. Among the leaves between two such values, which do not
    occur, the split stands before the one that parts the highest node, so that intervals are nodes as often as
    possible."""
    hierarchy = attribute.hierarchy
    node = hierarchy.levels[min(level, hierarchy.height)][
        attribute.generalization.leaf_of(np.arange(attribute.domain.size))
    ]
    occurs = np.flatnonzero(np.bincount(attribute.codes, minlength=attribute.domain.size))
    apart = np.flatnonzero(node[occurs[:-1]] != node[occurs[1:]])
    before, after = occurs[apart], occurs[apart + 1]
    if attribute.domain.kind == "categorical":
        for gap in np.flatnonzero(after > before + 1).tolist():
            inner = hierarchy.join_depth[before[gap] + 1 : after[gap] + 1]
            after[gap] = before[gap] + 1 + np.argmin(inner)
    return after


@dataclass(frozen=True)
class SplitCells:
    """The combinations that occur. `columns`: per attribute (m,) the interval of each, below `spans`. `tally`: what
    each holds. `labels` (m, labels): rows of each class label of each target; no columns where none is looked at.
    `first` (targets + 1,): where in `labels` each target begins. `sizes`: codes of each sensitive attribute."""

    columns: tuple[Ints, ...]
    spans: tuple[int, ...]
    tally: Tally
    labels: Ints
    first: tuple[int, ...]
    sizes: Mapping[str, int]

    @classmethod
    def of(cls, distinct: DistinctRows, targets: Sequence[TargetColumn]) -> SplitCells:
        """The cells that are the distinct rows."""
        count, counts = len(distinct.counts), distinct.table.counts
        weights = None if counts is None else counts[distinct.rows]
        labels = [
            np.bincount(
                distinct.of_row * target.size + target.codes[distinct.rows], weights, minlength=count * target.size
            )
            .astype(np.int64)
            .reshape(count, target.size)
            for target in targets
        ]
        return cls(
            columns=distinct.columns,
            spans=distinct.sizes,
            tally=distinct.tally,
            labels=np.hstack([np.zeros((count, 0), np.int64), *labels]),
            first=tuple(np.cumsum([0, *(target.size for target in targets)]).tolist()),
            sizes={column.name: column.size for column in distinct.table.sensitive},
        )

    @property
    def counts(self) -> Ints:
        """(m,) rows of each cell."""
        return self.tally.counts

    @cached_property
    def groups(self) -> Groups:
        """The cells as the privacy models see them."""
        return self.tally.groups()

    def joined(self, parts: Sequence[Bools]) -> tuple[SplitCells, Ints]:
        """The cells of fewer splits: of each attribute, (span - 1,) which of the boundaries between its intervals stay.
        And (m,) the new cell of each."""
        numbers = [np.concatenate(([0], np.cumsum(is_split))) for is_split in parts]
        columns = [number[column] for number, column in zip(numbers, self.columns, strict=True)]
        spans = tuple(int(number[-1]) + 1 for number in numbers)
        grouping = KeyGroups.of(*mixed_radix(columns, spans))
        cells = SplitCells(
            columns=tuple(column[grouping.first] for column in columns),
            spans=spans,
            tally=self.tally.grouped(grouping),
            labels=np.add.reduceat(self.labels[grouping.order], grouping.starts, axis=0),
            first=self.first,
            sizes=self.sizes,
        )
        return cells, grouping.group


# --- where sizes alone decide -----------------------------------------------------------------------------------------

EXACT = 1 << 53
"""Sums of whole numbers below this are exact where they are taken as floating point numbers."""


@dataclass(frozen=True)
class SizedCells:
    """Cells that are known by their rows and labels. `places` (attributes, m): the interval of each, numbered through
    all attributes; `first` (attributes + 1,): the first interval of each attribute; `split` (intervals,): the split
    before each interval, -1 for the first of an attribute. `keys` (m,): ascending, one for each combination of
    intervals; that of the next interval of an attribute is higher by `strides` (attributes,)."""

    places: Ints
    first: Ints
    split: Ints
    keys: Ints
    counts: Ints
    labels: Ints

    @classmethod
    def of(cls, cells: SplitCells) -> SizedCells:
        """The cells with their sizes, where all splits stay."""
        first = np.cumsum([0, *cells.spans])
        split = np.full(first[-1], -1)
        split[np.setdiff1d(np.arange(first[-1]), first[:-1])] = np.arange(first[-1] - len(cells.spans))
        places = np.array(cells.columns) + first[:-1, None]
        keys = _weights(first)[places].sum(axis=0)
        order = np.argsort(keys, kind="stable")
        return cls(places[:, order], first, split, keys[order], cells.counts[order], cells.labels[order])

    @staticmethod
    def fits(cells: SplitCells) -> bool:
        """Whether every combination has a key of 63 bits, and every cost is exact as a floating point number."""
        return math.prod(cells.spans) < MOST_KEYS and int(cells.counts.sum()) ** 2 < EXACT

    def splits(self, attribute: int) -> Ints:
        """The splits of an attribute."""
        return self.split[self.first[attribute] + 1 : self.first[attribute + 1]]

    @property
    def intervals(self) -> int:
        """Intervals of all attributes together."""
        return len(self.split)

    @cached_property
    def strides(self) -> Ints:
        """(attributes,) see `keys`."""
        return _strides(self.first)

    @cached_property
    def _starting(self) -> Bools:
        return self.split < 0

    @cached_property
    def inner(self) -> Ints:
        """Intervals that have a split before them; there are as many as splits."""
        return np.flatnonzero(~self._starting)

    @cached_property
    def owner(self) -> Ints:
        """(intervals,) the attribute of each."""
        return np.arange(len(self.first) - 1).repeat(self.first[1:] - self.first[:-1])

    def fewer(self, mask: Bools) -> SizedCells:
        """The cells of fewer splits, as `joined` has them."""
        return self if np.count_nonzero(mask) == len(self.inner) else self.joined(mask)[0]

    def joined(self, mask: Bools) -> tuple[SizedCells, Ints]:
        """The cells of fewer splits: of all splits there are, which stay. And (m,) the new cell of each."""
        begins = self._starting.copy()
        begins[self.inner] = mask[self.split[self.inner]]
        number = np.cumsum(begins) - 1
        first = np.concatenate((number[self.first[:-1]], number[-1:] + 1))
        keys = _weights(first)[number].take(self.places).sum(axis=0)
        grouping = KeyGroups.of(keys, math.prod((first[1:] - first[:-1]).tolist()))
        one = grouping.first
        cells = SizedCells(
            places=number.take(self.places.take(one, axis=1)),
            first=first,
            split=self.split[begins],
            keys=keys[one],
            counts=np.add.reduceat(self.counts[grouping.order], grouping.starts),
            labels=np.add.reduceat(self.labels[grouping.order], grouping.starts, axis=0),
        )
        return cells, grouping.group

    def classed(self, class_of: Ints) -> Ints:
        """(attributes * m,) class and interval of each cell, in every attribute, as one number."""
        return (class_of * self.intervals + self.places).ravel()

    def before(self, classed: Ints, weights: Ints, totals: Ints) -> Ints:
        """(classes, splits) the sum of the weights (m,) of the cells of each class before each split, given that of the
        whole class (classes,)."""
        many = np.broadcast_to(weights, self.places.shape).ravel()
        table = np.bincount(classed, many, minlength=len(totals) * self.intervals).astype(np.int64)
        table = table.reshape(len(totals), self.intervals)
        ahead = table.cumsum(axis=1)
        ahead -= table
        return np.asarray(ahead[:, self.inner] - totals[:, None] * self.owner[self.inner])

    def neighbours(self, looked: Bools) -> tuple[Ints, Ints, Ints]:
        """The pairs of cells, one of them at least among those looked at (m,), that lie in neighbouring intervals of an
        attribute and agree in all others: the split between them, the one before it and the one after it."""
        pairs = [self._beside(np.flatnonzero(looked), 1)]
        if not looked.all():
            split, after, before = self._beside(np.flatnonzero(looked), -1)
            alone = ~looked[before]
            pairs.append((split[alone], before[alone], after[alone]))
        split, before, after = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        return split, before, after

    def _beside(self, cells: Ints, step: int) -> tuple[Ints, Ints, Ints]:
        """The split towards the neighbour of some cells, the cell, and the neighbour, where there is one."""
        edge = self.places[:, cells] + max(step, 0)
        inside = np.append(self.split, -1)[edge] >= 0
        neighbour = self.keys[cells] + step * self.strides[:, None]
        place = np.minimum(np.searchsorted(self.keys, neighbour), len(self.keys) - 1)
        attribute, chosen = np.nonzero(inside & (self.keys[place] == neighbour))
        return self.split[edge[attribute, chosen]], cells[chosen], place[attribute, chosen]


def stacked(labels: list[Ints], rows: Ints) -> Ints:
    """(..., labels) the figures of each label, of the shape of those of `rows` (...); there may be no labels."""
    return np.stack(labels, axis=-1) if labels else np.zeros((*rows.shape, 0), np.int64)


def _strides(first: Ints) -> Ints:
    strides = np.ones(len(first) - 1, np.int64)
    (first[:0:-1] - first[-2::-1])[:-1].cumprod(out=strides[-2::-1])
    return strides


def _weights(first: Ints) -> Ints:
    """(intervals,) what each adds to the key of a cell."""
    spans = first[1:] - first[:-1]
    return (np.arange(first[-1]) - first[:-1].repeat(spans)) * _strides(first).repeat(spans)
