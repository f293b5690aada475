"""What measures compare a release with the original by: its classes as regions, and the targets of its rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from anonymize.classes import Floats, Integers, Ints, mixed_radix
from anonymize.domain import GappedColumns, LeafSets
from anonymize.metrics import distributions, joint
from anonymize.metrics.queries import Queries
from anonymize.records import dataclass
from anonymize.table import Table
from anonymize.table.columns import CodedColumn


@dataclass(frozen=True)
class Shared:
    """A column that passes through, in codes below `size` that mean the same in both tables: `original` (rows,) and
    `released` (released rows,). `missing`: whether the first code means missing."""

    original: Ints
    released: Ints
    size: int
    missing: bool = False


@dataclass(frozen=True)
class Evidence:
    """A release as its recipient has it, and the original table.

    `table`: the original with its workload. `first`, `last` (classes, attributes) int64: the leaf codes that each
    class's region spans. `start`, `stop` (classes, attributes): its ends as numbers, of a category the positions of
    leaves; nan for a missing number. `sizes` (classes,) rows; suppressed rows that are published are a class that spans
    everything. `class_of` (released rows,). `targets`: the targets by name, of the released rows; those whose values
    the release does not tell are absent. `shared`: by name, the sensitive attributes and the targets that pass through.
    `queries`: the COUNT queries that are asked, None for none. `gapped`: the cells that are sets of leaves with others
    between them.
    """

    table: Table
    first: Ints
    last: Ints
    start: Floats
    stop: Floats
    sizes: Ints
    class_of: Ints
    targets: Mapping[str, CodedColumn]
    shared: Mapping[str, Shared] = field(default_factory=dict)
    queries: Queries | None = None
    gapped: GappedColumns = field(default_factory=dict)

    def cells(self, index: int) -> LeafSets:
        """(classes,) the leaves that each class shows of an attribute."""
        return LeafSets(self.first[:, index], self.last[:, index], self.gapped.get(index))

    @property
    def joints(self) -> dict[str, joint.Joint]:
        """The joint table of the quasi-identifiers with each column that passes through, by its name."""
        return {name: OfClasses(self, name, shared) for name, shared in self.shared.items()}


@dataclass(frozen=True)
class OfClasses:
    """The joint table of the quasi-identifiers and, if there is one, a column that passes through: the recipient
    spreads the rows of a class evenly over the leaves of its region."""

    evidence: Evidence
    name: str | None = None
    shared: Shared | None = None

    @cached_property
    def names(self) -> list[str]:
        """The names of the axes."""
        return [*(each.name for each in self.evidence.table.attributes), *([] if self.name is None else [self.name])]

    @property
    def rows(self) -> int:
        """Rows of the original."""
        return self.evidence.table.rows

    def cells(self, chosen: Sequence[int]) -> float:
        """Cells of the table of some axes."""
        return float(math.prod(self._shape(chosen)))

    def tables(self, chosen: Sequence[int]) -> tuple[Floats, Floats]:
        """Counts of the original, and those estimated."""
        evidence, shape = self.evidence, self._shape(chosen)
        quasi = [axis for axis in chosen if axis < len(evidence.table.attributes)]
        columns: list[Integers] = [evidence.table.attributes[axis].codes for axis in quasi]
        entries = np.arange(len(evidence.sizes)), np.zeros(len(evidence.sizes), np.int64), evidence.sizes
        if len(quasi) < len(chosen):
            assert self.shared is not None
            columns.append(self.shared.original)
            entries = self._entries
        owner, values, counts = entries
        place = mixed_radix(columns, shape)[0]
        original = np.bincount(place, minlength=math.prod(shape)).reshape(shape).astype(np.float64)
        sizes = [*shape[: len(quasi)], *(shape[len(quasi) :] or [1])]
        entry, low, high, weights = self._boxes(quasi, owner, counts.astype(np.float64))
        return original, distributions.spread_of_boxes(low, high, values[entry], weights, sizes).reshape(shape)

    def _boxes(self, quasi: Sequence[int], owner: Ints, counts: Floats) -> tuple[Ints, Ints, Ints, Floats]:
        """The boxes that entries of classes (`owner`) lie over: the entry of each, its ends in the attributes, and the
        rows of the entry that are its part. An entry is one box, but where its class shows a set with gaps."""
        entry, ends = np.arange(len(owner)), np.zeros((2, len(owner), 0), np.int64)
        for axis in quasi:
            cells = self.evidence.cells(axis).of_cells(owner[entry])
            box, first, last = cells.runs()
            counts = counts[box] * ((last - first + 1) / cells.counts[box])
            entry, ends = entry[box], np.concatenate([ends[:, box], np.stack([first, last])[:, :, None]], axis=2)
        return entry, ends[0], ends[1], counts

    @cached_property
    def _entries(self) -> tuple[Ints, Ints, Ints]:
        """(entries,) of each value of the shared column that a class has: the class, the value, the rows."""
        assert self.shared is not None
        keys = self.evidence.class_of.astype(np.int64) * self.shared.size + self.shared.released
        distinct, counts = np.unique(keys, return_counts=True)
        return distinct // self.shared.size, distinct % self.shared.size, counts

    def _shape(self, chosen: Sequence[int]) -> list[int]:
        sizes = [each.domain.size for each in self.evidence.table.attributes]
        sizes += [] if self.shared is None else [self.shared.size]
        return [sizes[axis] for axis in chosen]


class OriginalMeasure(Protocol):
    """The members of the module of a measure: a figure, or a block of figures, that needs the original as well."""

    ID: str
    """Key in the block `utility`."""
    DEFINED_FOR: frozenset[str]
    """The meanings that columns may have."""

    def measure(self, evidence: Evidence) -> Any:
        """What JSON holds; None where there is nothing to measure. No cell value is in it."""
