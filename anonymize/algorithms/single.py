"""Machinery of single-dimensional recodings: the distinct rows of a table as leaves, the recoding that a cut through
each attribute makes of them, and what intervals of leaves tell about the targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Bools, Codes, Floats, Ints, KeyGroups, Partition, mixed_radix
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import Problem, UsageError
from anonymize.judging import Judge, Tally
from anonymize.privacy import Requirement
from anonymize.recoding import Cut, SingleDimensional
from anonymize.records import dataclass
from anonymize.table import Table, TargetColumn

# --- distinct rows ----------------------------------------------------------------------------------------------------
# The distinct rows of a table, as leaves, and the recoding that a cut through each attribute makes of them.


@dataclass(frozen=True)
class DistinctRows:
    """Distinct combinations of leaves among some rows of a table.

    `rows` (r,) uint32: the rows, ascending. `of_row` (r,): which combination each of them is. `columns`: per attribute
    (m,) the leaf of each combination, below `sizes`. `tally`: what each of them stands for.
    """

    table: Table
    rows: NDArray[np.uint32]
    of_row: Ints
    columns: tuple[Ints, ...]
    sizes: tuple[int, ...]
    tally: Tally

    @classmethod
    def of_table(
        cls,
        table: Table,
        requirements: tuple[Requirement, ...],
        leaves: Sequence[Codes | Ints],
        sizes: Sequence[int],
        rows: NDArray[np.uint32] | None = None,
    ) -> DistinctRows:
        """The distinct rows among all rows or some, given the leaf (rows of the table,) of each attribute, below
        `sizes`."""
        if rows is None:
            rows = np.arange(table.rows, dtype=np.uint32)
        columns = [np.asarray(leaf)[rows].astype(np.int64) for leaf in leaves]
        grouping = KeyGroups.of(*mixed_radix(columns, sizes))
        return cls(
            table=table,
            rows=rows,
            of_row=grouping.group,
            columns=tuple(column[grouping.first] for column in columns),
            sizes=tuple(sizes),
            tally=Judge(table, requirements, rows).tally(grouping.group, len(grouping.starts)),
        )

    @property
    def counts(self) -> Ints:
        """(m,) rows of each combination."""
        return self.tally.counts

    @property
    def total(self) -> int:
        """Rows of all of them."""
        return int(self.counts.sum())

    def recoding(
        self, cuts: Sequence[Cut], class_of: Ints, staying: Bools, chosen: Mapping[str, Any]
    ) -> SingleDimensional:
        """The recoding in which combination i is of the class `class_of[i]`; rows of classes that are not `staying`
        (classes,), and rows of no combination, are suppressed."""
        label = np.full(self.table.rows, len(staying), np.int64)
        label[self.rows] = class_of[self.of_row]
        partition, suppressed = Partition.of_kept(label, np.append(staying, False))
        named = {attribute.name: cut for attribute, cut in zip(self.table.attributes, cuts, strict=True)}
        return SingleDimensional(partition, named, suppressed, dict(chosen))


# --- what intervals tell ----------------------------------------------------------------------------------------------
# What intervals of leaves tell about the targets: entropies of class labels, from counts by leaf and label.
#
# A recoding that treats all rows alike shows a value as the same interval wherever it occurs. So what is gained by
# parting an interval depends on the rows of that interval alone, and not on the other attributes.


def class_labels(algorithm: str, table: Table) -> tuple[TargetColumn, ...]:
    """The table's targets. Raises UsageError where one of them is numeric."""
    numeric = [target.name for target in table.targets if target.numeric]
    if numeric:
        hint = "it looks at class labels: leave the type of the target out"
        message = "{} needs categorical targets, {} is numeric"
        raise UsageError([Problem(message.format(algorithm, name), hint=hint) for name in numeric])
    return table.targets


@dataclass(frozen=True)
class LabelCounts:
    """Rows by leaf of one attribute and by class label: `before`, of each target (leaves + 1, labels) int64, counts the
    rows of the leaves before each."""

    before: tuple[Ints, ...]

    @classmethod
    def of(
        cls,
        leaves: Codes | Ints,
        size: int,
        targets: Iterable[TargetColumn],
        rows: NDArray[np.uint32],
        counts: Ints | None = None,
    ) -> LabelCounts:
        """The counts for some rows, given the leaves (all rows,) of one attribute, each below `size`. `counts` (all
        rows,): how many rows each stands for; None: itself alone."""
        leaf = np.asarray(leaves)[rows].astype(np.int64)
        weights = None if counts is None else counts[rows]
        return cls(tuple(_before(leaf, size, target, rows, weights) for target in targets))

    def rows(self, start: int, stop: int) -> int:
        """Rows of an interval of leaves."""
        return int((self.before[0][stop] - self.before[0][start]).sum())

    def mixed(self, start: int, stop: int) -> bool:
        """Whether the rows of an interval show more than one label of any target."""
        return any(np.count_nonzero(before[stop] - before[start]) > 1 for before in self.before)

    def gain(self, edges: Sequence[int] | Ints) -> float:
        """Entropy of the labels in the interval from the first to the last edge, less the weighted entropies in those
        between neighbouring edges; in bits, summed over the targets. 0 where there are no rows."""
        return sum(_gain(before[edges]) for before in self.before)

    def best_split(self, start: int, stop: int) -> tuple[int, float]:
        """Where an interval of at least two leaves is parted in two with the highest gain, the first such place, and
        that gain."""
        gains = sum((_gains(before[start : stop + 1]) for before in self.before), start=np.zeros(stop - start - 1))
        best = int(np.argmax(np.round(gains, DIGITS)))
        return start + 1 + best, float(gains[best])


DIGITS = 12
"""Gains that are equal in so many decimals are equal."""


def children(taxonomy: Taxonomy, start: int, stop: int) -> Ints:
    """(parts + 1,) edges between the children of the lowest node above the leaves `start` to `stop - 1`, at least two
    of them."""
    depth = taxonomy.depth[taxonomy.lca(np.array([start]), np.array([stop - 1]))[0]]
    inner = np.flatnonzero(taxonomy.join_depth[start + 1 : stop] == depth) + start + 1
    return np.concatenate(([start], inner, [stop]))


def _before(leaf: Ints, size: int, target: TargetColumn, rows: NDArray[np.uint32], weights: Ints | None) -> Ints:
    counts = np.bincount(leaf * target.size + target.codes[rows], weights, minlength=size * target.size)
    before = np.zeros((size + 1, target.size), np.int64)
    np.cumsum(counts.reshape(size, target.size), axis=0, out=before[1:])
    return before


def _entropy(counts: Ints) -> Floats:
    """(n,) rows times entropy in bits, of counts (n, labels)."""
    total = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(counts > 0, counts * np.log2(counts / total[:, None]), 0.0)
    return np.asarray(-terms.sum(axis=1))


def _gain(before: Ints) -> float:
    whole = before[-1:] - before[:1]
    rows = int(whole.sum())
    if not rows:
        return 0.0
    lost = float(_entropy(whole)[0] - _entropy(np.diff(before, axis=0)).sum()) / rows
    return max(round(lost, DIGITS), 0.0)


def _gains(before: Ints) -> Floats:
    """(n - 1,) gain of each place to part an interval of n leaves; counts (n + 1, labels)."""
    whole = before[-1:] - before[:1]
    left = before[1:-1] - before[:1]
    rows = max(int(whole.sum()), 1)
    return np.maximum(np.round((_entropy(whole) - _entropy(left) - _entropy(whole - left)) / rows, DIGITS), 0.0)
