"""Single-dimensional recoding: the leaves of each attribute are parted into intervals, the same for all rows.

What a cell shows follows from its value alone, so that equal values read the same in every class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Codes, Floats, Ints, Partition
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.recoding.columns import ReleasedColumn, Shown
from anonymize.recoding.generalized import Generalized
from anonymize.recoding.showing import Showing, positions
from anonymize.spec import Output
from anonymize.table import Attribute


@dataclass(frozen=True)
class Cut:
    """How the leaves of one attribute are parted.

    `starts` (intervals,) int64: the first leaf of each interval, ascending, the first of them 0. `labelled`: of a
    numeric attribute these are leaves of its hierarchy, every interval is a node and reads as that does; else they are
    the codes of its numbers. A categorical attribute's leaves are the same either way.
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
class SingleDimensional:
    """Single-dimensional recoding: every cell is released as the interval of leaves that its value lies in.

    `partition`: the classes; the rows of one lie in the same interval of every attribute. `cuts`: by name, how each
    quasi-identifier is cut, in the table's order. `suppressed` (s,) uint32: rows of no class. `chosen`: what else the
    report's `recoding` block says.
    """

    KIND: ClassVar[str] = "single-dimensional"

    partition: Partition
    cuts: Mapping[str, Cut]
    suppressed: NDArray[np.uint32]
    chosen: dict[str, Any] | None = None

    @property
    def labelled(self) -> bool:
        """Whether numbers are released as the labels of a hierarchy."""
        return any(cut.labelled for cut in self.cuts.values())

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        intervals = {name: cut.count for name, cut in self.cuts.items()}
        suppressed = len(self.suppressed)
        return {"kind": self.KIND, "intervals": intervals, **(self.chosen or {}), "suppressed_rows": suppressed}


@dataclass(frozen=True)
class Interval(Showing):
    """As `Showing`, where the classes are intervals of leaves. One that is a node reads as the node, any other as the
    set of its values."""

    def _nodes(self, domain: Taxonomy) -> Shown:
        node = domain.lca(self.low, self.high)
        whole = (domain.start[node] == self.low) & (domain.stop[node] == self.high.astype(np.int64) + 1)
        labels, of_label = super()._nodes(domain)
        if whole.all():
            return labels, of_label
        sets, of_set = self._sets(domain)
        return labels + sets, np.where(whole, of_label, len(labels) + of_set)

    def _positions(self, domain: Taxonomy) -> list[Shown]:
        return positions(domain, *self._distinct())


@dataclass(frozen=True)
class ByInterval:
    """One quasi-identifier of a single-dimensional release: `shown` says how the intervals in which there are rows
    read, `interval` (classes,) which of them each class has."""

    shown: Showing | Generalized
    interval: Ints

    @classmethod
    def of(cls, attribute: Attribute, cut: Cut, partition: Partition, output: Output) -> ByInterval:
        """How an attribute reads in the classes of a partition."""
        labelled = cut.labelled and isinstance(attribute.domain, Numeric)
        leaves = attribute.generalization.leaf_of(attribute.codes) if labelled else attribute.codes
        interval_of_row = cut.interval_of(leaves[partition.order])
        present, interval = np.unique(interval_of_row[partition.starts[:-1]], return_inverse=True)
        together = _together(interval_of_row, partition)
        if labelled:
            return cls(_labels(attribute, cut, present, together, output), interval)
        return cls(_intervals(attribute, cut, present, together, output), interval)

    def columns(self) -> list[ReleasedColumn]:
        """The column, or the two, that the attribute is released as."""
        pick = np.append(self.interval, -1)
        return [replace(column, of_class=column.of_class[pick]) for column in self.shown.columns()]

    def costs(self) -> tuple[Floats, Floats]:
        """(classes,) NCP and loss of a cell of each class."""
        ncp, loss = self.shown.costs()
        return ncp[self.interval], loss[self.interval]


def _together(interval_of_row: Ints, partition: Partition) -> Partition:
    """The rows of a partition, put together by their intervals, which are in ascending order."""
    order = np.argsort(interval_of_row, kind="stable")
    edges = np.flatnonzero(np.diff(interval_of_row[order])) + 1
    starts = np.concatenate(([0], edges, [len(order)])) if len(order) else np.zeros(1, np.int64)
    return Partition(partition.order[order], starts.astype(np.int64))


def _intervals(attribute: Attribute, cut: Cut, present: Ints, rows: Partition, output: Output) -> Interval:
    """Intervals of codes. Of categories, one that is shown as a set of values is as narrow as its rows allow."""
    low, high = cut.starts[present], cut.stops(attribute.domain.size)[present] - 1
    domain = attribute.domain
    if isinstance(domain, Taxonomy) and len(present):
        node = domain.lca(low, high)
        whole = (domain.start[node] == low) & (domain.stop[node] == high + 1) & (output.categorical != "set")
        least, most = rows.boxes(attribute.codes)
        low, high = np.where(whole, low, least), np.where(whole, high, most)
    kind = attribute.codes.dtype
    return Interval(attribute, rows, low.astype(kind), high.astype(kind), output)


def _labels(attribute: Attribute, cut: Cut, present: Ints, rows: Partition, output: Output) -> Generalized:
    """Numbers that read as nodes of their hierarchy."""
    hierarchy = attribute.hierarchy
    node = hierarchy.lca(cut.starts[present], cut.stops(hierarchy.size)[present] - 1)
    codes = attribute.codes[rows.order[rows.starts[:-1]]]
    return Generalized(attribute, codes, hierarchy.level[node].astype(np.int16), output)
