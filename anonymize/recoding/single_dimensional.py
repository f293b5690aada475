"""Recodings that read the same in all rows: the leaves of each attribute parted into intervals, and, as the coarser
kind, levels of hierarchies for all of them (full-domain generalization)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Codes, Floats, Ints, Partition
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.recoding.appearance import BOUNDS, Appearance, CategoricalIntervals, NumericRegions, leaf_positions
from anonymize.recoding.base import Recoding
from anonymize.recoding.columns import RecodedColumn, Released, released_columns
from anonymize.recoding.spans import Tails
from anonymize.records import dataclass
from anonymize.spec import Output, Spec
from anonymize.table import Attribute, Table

if TYPE_CHECKING:
    from anonymize.recoding.saved.recoder import Contents


# --- levels of hierarchies --------------------------------------------------------------------------------------------
# Full-domain generalization: levels of hierarchies, and how a quasi-identifier appears at them.


@dataclass(frozen=True)
class Generalized(Appearance):
    """One quasi-identifier at levels of its hierarchy.

    `codes` (classes,): the value of a row of each class. `level` (classes,): the level at which it is shown. `output`
    says how suppressed rows read. Numbers read as labels, too; with `numeric: bounds` the label stands in both columns,
    so that a release has the same columns whatever the algorithm.
    """

    attribute: Attribute
    codes: Codes
    level: NDArray[np.int16]
    output: Output

    @cached_property
    def nodes(self) -> Ints:
        """(classes,) the node that each class shows."""
        generalization = self.attribute.generalization
        leaves = generalization.leaf_of(self.codes)
        return generalization.hierarchy.levels[self.level, leaves].astype(np.int64)

    def columns(self) -> list[RecodedColumn]:
        """The column, or the two, that the attribute is released as."""
        nodes, first, of_class = np.unique(self.nodes, return_index=True, return_inverse=True)
        kind, hierarchy = self.attribute.domain.kind, self.attribute.hierarchy
        if kind == "categorical" and self.output.categorical == "bounds":
            contents = leaf_positions(hierarchy, hierarchy.start[nodes], hierarchy.stop[nodes] - 1, of_class)
        else:
            labels = self.attribute.generalization.text_of(self.codes[first], nodes), of_class
            contents = [labels] * (2 if kind == "numeric" and self.output.numeric == "bounds" else 1)
        suffixes = BOUNDS if len(contents) == 2 else [""]
        return released_columns(self.attribute.name, contents, suffixes, self.output.suppressed)

    def costs(self) -> tuple[Floats, Floats]:
        """(classes,) NCP and loss of each class's node, or of what its label is read as."""
        generalization = self.attribute.generalization
        if self.attribute.domain.kind == "categorical" and self.output.categorical != "bounds":
            nodes = generalization.hierarchy.widest[self.nodes]
            return generalization.ncp[nodes], generalization.loss[nodes]
        return generalization.ncp[self.nodes], generalization.loss[self.nodes]


# --- the recoding -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Levels(Recoding):
    """Full-domain generalization: every cell is released as its value's ancestor at a level of the hierarchy.

    `partition`: the classes; the rows of one have the same ancestors at its levels. `levels` (classes, attributes)
    int16: the level vector of each class, which all share unless the recoding is local. `suppressed` (s,) uint32: rows
    of no class. `chosen`: what else the report's `recoding` block says. `withheld`: the suppressed rows stay out.
    """

    KIND: ClassVar[str] = "levels"
    SETS: ClassVar[bool] = False

    partition: Partition
    levels: NDArray[np.int16]
    suppressed: NDArray[np.uint32]
    chosen: dict[str, Any] | None = None
    withheld: bool = False

    @property
    def vector(self) -> tuple[int, ...] | None:
        """The level vector that all classes share; None where there is none, or no class."""
        if not len(self.levels) or (self.levels != self.levels[0]).any():
            return None
        return tuple(self.levels[0].tolist())

    @property
    def labelled(self) -> bool:
        """Always: numbers have hierarchies, too."""
        return True

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        return {"kind": self.KIND, **(self.chosen or {}), "suppressed_rows": len(self.suppressed)}

    def appearances(self, table: Table, output: Output) -> list[Appearance]:
        """The node of each class, which is that of any of its rows."""
        first = self.partition.order[self.partition.starts[:-1]]
        return [
            Generalized(attribute, attribute.codes[first], level, output)
            for attribute, level in zip(table.attributes, self.levels.T, strict=True)
        ]

    def contents(self, table: Table, released: Released, spec: Spec) -> Contents:
        """Segments that are the nodes of one level of each hierarchy."""
        from anonymize.recoding.saved import kinds
        from anonymize.recoding.saved.recoder import refusal

        if self.vector is None:
            raise refusal("its classes stand on different levels, or there are none")
        parted = [kinds.at_level(a, level, spec) for a, level in zip(table.attributes, self.vector, strict=True)]
        return kinds.contents(parted, self.partition, self.suppressed, table, released)


# --- intervals of leaves ----------------------------------------------------------------------------------------------
# Single-dimensional recoding: the leaves of each attribute are parted into intervals, the same for all rows.
#
# What a cell shows follows from its value alone, so that equal values read the same in every class.


@dataclass(frozen=True)
class Cut:
    """How the leaves of one attribute are parted.

    `starts` (intervals,) int64: the first leaf of each interval, ascending, the first of them 0. `labelled`: for a
    numeric attribute these are leaves of its hierarchy, and every interval is a node and reads as that node does;
    otherwise they are the codes of its numbers. A categorical attribute's leaves are the same either way.
    """

    starts: Ints
    labelled: bool = False

    @property
    def count(self) -> int:
        """Number of intervals."""
        return len(self.starts)

    def interval_of(self, leaves: Codes | Ints) -> Ints:
        """(n,) which interval each leaf lies in."""
        return np.searchsorted(self.starts, leaves, side="right") - 1

    def stops(self, size: int) -> Ints:
        """(intervals,) one past the last leaf of each interval, of `size` leaves."""
        return np.append(self.starts[1:], size)


@dataclass(frozen=True)
class SingleDimensional(Recoding):
    """Single-dimensional recoding: every cell is released as the interval of leaves that its value lies in.

    `partition`: the classes; the rows of one lie in the same interval of every attribute. `cuts`: by name, how each
    quasi-identifier is cut, in the table's order. `suppressed` (s,) uint32: rows of no class. `chosen`: what else the
    report's `recoding` block says. `ordered`: the attributes as they are cut, where siblings have another order in them
    than in the table; none where they have the same.
    """

    KIND: ClassVar[str] = "single-dimensional"

    partition: Partition
    cuts: Mapping[str, Cut]
    suppressed: NDArray[np.uint32]
    chosen: dict[str, Any] | None = None
    ordered: tuple[Attribute, ...] = ()

    @property
    def labelled(self) -> bool:
        """Whether numbers are released as the labels of a hierarchy."""
        return any(cut.labelled for cut in self.cuts.values())

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        intervals = {name: cut.count for name, cut in self.cuts.items()}
        suppressed = len(self.suppressed)
        return {"kind": self.KIND, "intervals": intervals, **(self.chosen or {}), "suppressed_rows": suppressed}

    def appearances(self, table: Table, output: Output) -> list[Appearance]:
        """The interval that the values of each class lie in."""
        tails, attributes = Tails.of(table), self.ordered or table.attributes
        return [ByInterval.of(a, self.cuts[a.name], self.partition, output, tails) for a in attributes]

    def contents(self, table: Table, released: Released, spec: Spec) -> Contents:
        """Segments that are the intervals."""
        from anonymize.recoding.saved import kinds

        parted, table = [], replace(table, attributes=self.ordered or table.attributes)
        for attribute in table.attributes:
            cut = self.cuts[attribute.name]
            by_code = isinstance(attribute.domain, Numeric) and not cut.labelled
            if by_code:
                parted.append(kinds.of_numbers(attribute, cut.starts, spec, self.partition, Tails.of(table)))
            else:
                parted.append(kinds.of_leaves(attribute, cut.starts, spec))
        return kinds.contents(parted, self.partition, self.suppressed, table, released)


@dataclass(frozen=True)
class ByInterval(Appearance):
    """One quasi-identifier of a single-dimensional release.

    `intervals`: how the intervals appear in which there are rows. `interval_of` (classes,): which of them each class
    has.
    """

    intervals: Appearance
    interval_of: Ints

    @classmethod
    def of(cls, attribute: Attribute, cut: Cut, partition: Partition, output: Output, tails: Tails) -> ByInterval:
        """How an attribute appears in the classes of a partition."""
        labelled = cut.labelled and isinstance(attribute.domain, Numeric)
        leaves = attribute.generalization.leaf_of(attribute.codes) if labelled else attribute.codes
        interval_of_row = cut.interval_of(leaves[partition.order])
        present, interval_of = np.unique(interval_of_row[partition.starts[:-1]], return_inverse=True)
        rows = _by_interval(interval_of_row, partition)
        if labelled:
            return cls(_labels(attribute, cut, present, rows, output), interval_of)
        return cls(_intervals(attribute, cut, present, rows, output, tails), interval_of)

    def columns(self) -> list[RecodedColumn]:
        """The columns of the intervals, from which each class takes the text of its own."""
        pick = np.append(self.interval_of, -1)
        return [replace(column, of_class=column.of_class[pick]) for column in self.intervals.columns()]

    def costs(self) -> tuple[Floats, Floats]:
        """(classes,) NCP and loss of a cell of each class."""
        ncp, loss = self.intervals.costs()
        return ncp[self.interval_of], loss[self.interval_of]


def _by_interval(interval_of_row: Ints, partition: Partition) -> Partition:
    """The rows of a partition in one class for each interval that has any, the intervals in ascending order.

    A stable sort by interval puts the rows of each side by side; a class begins wherever the number changes.
    """
    order = np.argsort(interval_of_row, kind="stable")
    edges = np.flatnonzero(np.diff(interval_of_row[order])) + 1
    starts = np.concatenate(([0], edges, [len(order)])) if len(order) else np.zeros(1, np.int64)
    return Partition(partition.order[order], starts.astype(np.int64))


def _intervals(
    attribute: Attribute, cut: Cut, present: Ints, rows: Partition, output: Output, tails: Tails
) -> Appearance:
    """Intervals of codes. One of categories that is shown as a set of values is as narrow as its rows allow."""
    low, high = cut.starts[present], cut.stops(attribute.domain.size)[present] - 1
    domain, kind = attribute.domain, attribute.codes.dtype
    if isinstance(domain, Numeric):
        ends = low.astype(kind), high.astype(kind)
        return NumericRegions(attribute.name, attribute.codes, rows, *ends, output, domain, tails)
    assert isinstance(domain, Taxonomy)
    if len(present):
        node = domain.lca(low, high)
        whole = (domain.start[node] == low) & (domain.stop[node] == high + 1) & (output.categorical != "set")
        least, most = rows.boxes(attribute.codes)
        low, high = np.where(whole, low, least), np.where(whole, high, most)
    ends = low.astype(kind), high.astype(kind)
    return CategoricalIntervals(attribute.name, attribute.codes, rows, *ends, output, domain)


def _labels(attribute: Attribute, cut: Cut, present: Ints, rows: Partition, output: Output) -> Appearance:
    """Numbers that read as nodes of their hierarchy."""
    hierarchy = attribute.hierarchy
    node = hierarchy.lca(cut.starts[present], cut.stops(hierarchy.size)[present] - 1)
    codes = attribute.codes[rows.order[rows.starts[:-1]]]
    return Generalized(attribute, codes, hierarchy.level[node].astype(np.int16), output)
