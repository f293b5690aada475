"""Cells: the combinations of intervals that a set of splits makes, with what lies in them.

A split is a place between two neighbouring leaves of an attribute's total order. Splits are numbered attribute by
attribute, in that order; a set of them is a mask. The cells of a set are made of the cells of any larger one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anonymize.algorithms.single.distinct import DistinctRows
from anonymize.classes import Bools, Ints, KeyGroups, mixed_radix
from anonymize.judging import Tally
from anonymize.privacy import Groups
from anonymize.recoding import Cut
from anonymize.table import Attribute, Table, TargetColumn


@dataclass(frozen=True)
class Splits:
    """The splits that there are. `places`: per attribute, the leaf that each of them stands before, ascending."""

    places: tuple[Ints, ...]

    @classmethod
    def of_table(cls, table: Table, level: int) -> Splits:
        """Those between values that occur and that lie under different nodes of a level of the hierarchies."""
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
        count = len(distinct.counts)
        labels = [
            np.bincount(
                distinct.of_row * target.size + target.codes[distinct.rows], minlength=count * target.size
            ).reshape(count, target.size)
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
