"""The distinct rows of a table, as leaves, and the recoding that a cut through each attribute makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Bools, Codes, Ints, KeyGroups, Partition, mixed_radix
from anonymize.judging import Judge, Tally
from anonymize.privacy import Requirement
from anonymize.recoding import Cut, SingleDimensional
from anonymize.table import Table


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
