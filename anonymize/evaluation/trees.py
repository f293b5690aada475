"""Small decision trees over regions.

Every row is a region: an original value is the region of itself. A condition holds of a row where it holds of all of
its region: `from 28` where the region begins at 28 or later, `in Office` where it lies under that node; `not` is the
rest. A tree asks, up to some depth, the condition that tells most of the label (information gain); of ties the first
attribute's, and its lowest. A part is not split where fewer than a hundredth of all rows would be on one side, or fewer
than two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

import numpy as np

from anonymize.classes import Bools, Floats, Integers, Ints, KeyGroups, mixed_radix
from anonymize.domain import Domain, GappedColumns, LeafSets, chosen, taxonomy
from anonymize.domain.numeric import Numeric
from anonymize.records import dataclass

DEPTH = 3
LEAST_SHARE = 0.01


@dataclass(frozen=True)
class RegionCondition:
    """That a region lies within the codes `first` to `last` of a quasi-identifier, or that it does not (`negated`)."""

    attribute: int
    first: int
    last: int
    negated: bool = False

    def holds(self, rows: LabelledRegions) -> Bools:
        """(regions,) of which it holds."""
        inside = (rows.first[:, self.attribute] >= self.first) & (rows.last[:, self.attribute] <= self.last)
        return ~inside if self.negated else inside

    def within(self, rows: LabelledRegions) -> Bools:
        """(regions,) of which it holds all over the region: a region that is partly inside is not outside."""
        if not self.negated:
            return self.holds(rows)
        cells = rows.cells(self.attribute)
        if cells.gapped is None:
            return (cells.last < self.first) | (cells.first > self.last)
        leaves = np.arange(cells.gapped.leaves.shape[1])
        return ~cells.meeting((self.first <= leaves) & (leaves <= self.last))


@dataclass(frozen=True)
class LabelledRegions:
    """Distinct regions of codes, `first` and `last` (regions, attributes), with `counts` (regions, labels) of rows.
    `gapped`: those that are sets of codes with others between them."""

    first: Ints
    last: Ints
    counts: Ints
    gapped: GappedColumns = field(default_factory=dict)

    @classmethod
    def of_rows(
        cls, first: Ints, last: Ints, labels: Ints, size: int, gapped: GappedColumns | None = None
    ) -> LabelledRegions:
        """The regions of rows (rows, attributes) with a label each (rows,) below `size`; equal ones become one."""
        columns = gapped or {}
        ends = [*first.T, *last.T, *(each.which + 1 for each in columns.values())]
        keys, span = mixed_radix(ends, [int(codes.max(initial=0)) + 1 for codes in ends])
        groups = KeyGroups.of(keys, max(span, 1))
        regions = len(groups.starts)
        counts = np.bincount(groups.group * size + labels, minlength=regions * size).reshape(regions, size)
        return cls(first[groups.first], last[groups.first], counts, chosen(columns, groups.first))

    def chosen(self, regions: Bools) -> LabelledRegions:
        """Some of them."""
        gapped = chosen(self.gapped, regions)
        return LabelledRegions(self.first[regions], self.last[regions], self.counts[regions], gapped)

    def cells(self, attribute: int) -> LeafSets:
        """(regions,) the codes of each in an attribute."""
        return LeafSets(self.first[:, attribute], self.last[:, attribute], self.gapped.get(attribute))

    @property
    def total(self) -> Ints:
        """(labels,) rows of each label."""
        return np.asarray(self.counts.sum(axis=0))


@dataclass(frozen=True)
class TreeNode:
    """A node: the way to it, the rows of each label that it has, and whether it is split no further."""

    path: tuple[RegionCondition, ...]
    counts: Ints
    leaf: bool

    @property
    def rows(self) -> int:
        """Rows that the way leads to."""
        return int(self.counts.sum())

    @property
    def label(self) -> int:
        """The label of most rows; of ties the first."""
        return int(self.counts.argmax())

    @property
    def share(self) -> float:
        """The share of rows that have the label; 0 where there are no rows."""
        return float(self.counts[self.label] / max(self.rows, 1))


@dataclass(frozen=True)
class TreeGrower:
    """How trees grow: over the domains of the quasi-identifiers, of which `attributes` are asked, to a `depth`; a side
    of a split has at least `least` rows."""

    domains: Sequence[Domain]
    attributes: Sequence[int]
    depth: int
    least: int

    def grow(self, rows: LabelledRegions, path: tuple[RegionCondition, ...] = ()) -> Iterator[TreeNode]:
        """The nodes, each before those below it; first the side on which the condition holds."""
        best = None if len(path) == self.depth else self._best(rows)
        yield TreeNode(path, rows.total, leaf=best is None)
        if best is not None:
            holds = best.holds(rows)
            for negated, part in ((False, holds), (True, ~holds)):
                side = RegionCondition(best.attribute, best.first, best.last, negated)
                yield from self.grow(rows.chosen(part), (*path, side))

    def _best(self, rows: LabelledRegions) -> RegionCondition | None:
        """The condition that tells most; None where none tells anything."""
        whole = _entropy(rows.total[None])[0]
        best, gained = None, 1e-9 * (whole + 1)
        for index in self.attributes:
            first, last, inside = _candidates(rows, index, self.domains[index])
            gains = self._gains(inside, rows.total, whole)
            if len(gains) and gains.max() > gained:
                which = int(gains.argmax())
                best, gained = RegionCondition(index, int(first[which]), int(last[which])), float(gains[which])
        return best

    def _gains(self, inside: Ints, counts: Ints, whole: float) -> Floats:
        """(conditions,) bits by which each lowers the entropy; nothing where a side has too few rows."""
        outside = counts - inside
        sizes = inside.sum(axis=1), outside.sum(axis=1)
        left = (_entropy(inside) * sizes[0] + _entropy(outside) * sizes[1]) / max(int(counts.sum()), 1)
        return np.where(np.minimum(*sizes) >= self.least, whole - left, 0.0)


def _candidates(rows: LabelledRegions, index: int, domain: Domain) -> tuple[Ints, Ints, Ints]:
    """Conditions on one attribute: first and last code of each, and (conditions, labels) rows of which it holds.

    For numbers, those that begin at a value or later; for categories, those under each node but the root.
    """
    first, last = rows.first[:, index], rows.last[:, index]
    if isinstance(domain, Numeric):
        top = last_number(domain)
        present = last <= top
        counts = count_table(first[present], rows.counts[present], domain.size)
        inside = counts[::-1].cumsum(axis=0)[::-1]
        starts = np.flatnonzero(counts.any(axis=1))[1:]
        return starts, np.full(len(starts), top), inside[starts]
    assert isinstance(domain, taxonomy.Taxonomy)
    inside = count_table(domain.lca(first, last), rows.counts, len(domain.labels))
    for node in range(domain.root):  # a parent's number is above its children's
        inside[domain.parent[node]] += inside[node]
    nodes = np.flatnonzero(inside[:-1].any(axis=1))
    return domain.start[nodes].astype(np.int64), domain.stop[nodes].astype(np.int64) - 1, inside[nodes]


def last_number(domain: Numeric) -> int:
    """The code of the largest number."""
    return domain.size - 1 if domain.missing is None else domain.size - 2


def count_table(codes: Integers, counts: Ints, size: int) -> Ints:
    """(size, labels) the sums of counts (n, labels) by code (n,)."""
    columns = [np.bincount(codes, column, minlength=size) for column in counts.T]
    return np.stack(columns, axis=1).astype(np.int64)


def _entropy(counts: Ints) -> Floats:
    """(n,) entropy in bits of each row of counts (n, labels)."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return np.asarray(-(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1))
