"""The distinct rows of a table, as leaves, and the recoding that a cut through each attribute makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.lattice.frequency import Grouping, histograms_of, members_of, mixed_radix
from anonymize.algorithms.lattice.nodes import partition_of
from anonymize.classes import Bools, Codes, Ints
from anonymize.privacy import Groups, Histogram, Members, Requirement
from anonymize.recoding import Cut, SingleDimensional
from anonymize.table import Table


@dataclass(frozen=True)
class Distinct:
    """Distinct combinations of leaves among some rows of a table.

    `rows` (r,) uint32: the rows, ascending. `of_row` (r,): which combination each of them is. `columns`: per attribute
    (m,) the leaf of each combination, below `sizes`. `counts` (m,): rows of each. `histograms`: of the sensitive
    attributes that the requirements look at, a combination a class. `members`: whom the combinations are about, where
    the table says so; then there are no histograms beside it.
    """

    table: Table
    rows: NDArray[np.uint32]
    of_row: Ints
    columns: tuple[Ints, ...]
    sizes: tuple[int, ...]
    counts: Ints
    histograms: Mapping[str, Histogram]
    members: Members | None = None

    @classmethod
    def of_table(
        cls,
        table: Table,
        requirements: tuple[Requirement, ...],
        leaves: Sequence[Codes | Ints],
        sizes: Sequence[int],
        suppressed: NDArray[np.uint32] | None = None,
    ) -> Distinct:
        """Of the leaves (rows,) of each attribute, `sizes` of them, without the rows that are suppressed."""
        rows = np.arange(table.rows, dtype=np.uint32)
        if suppressed is not None:
            rows = np.delete(rows, suppressed)
        columns = [np.asarray(leaf)[rows].astype(np.int64) for leaf in leaves]
        grouping = Grouping.of(*mixed_radix(columns, sizes))
        first, group = grouping.first, grouping.group
        return cls(
            table=table,
            rows=rows,
            of_row=group,
            columns=tuple(column[first] for column in columns),
            sizes=tuple(sizes),
            counts=np.diff(grouping.starts, append=len(group)),
            histograms=histograms_of(table, requirements, group, len(first), rows),
            members=members_of(table, requirements, group, len(first), rows),
        )

    @cached_property
    def groups(self) -> Groups:
        """The combinations as the privacy models see them."""
        return Groups(self.counts, self.histograms) if self.members is None else self.members.groups()

    def recoding(
        self, cuts: Sequence[Cut], class_of: Ints, kept: Bools, chosen: Mapping[str, Any]
    ) -> SingleDimensional:
        """The recoding in which combination i is of the class `class_of[i]`; rows of classes that are not `kept`
        (classes,), and rows of no combination, are suppressed."""
        label = np.full(self.table.rows, len(kept), np.int64)
        label[self.rows] = class_of[self.of_row]
        partition, suppressed = partition_of(label, np.append(kept, False))
        named = {attribute.name: cut for attribute, cut in zip(self.table.attributes, cuts, strict=True)}
        return SingleDimensional(partition, named, suppressed, dict(chosen))
