"""What requirements look at in rows, as a few types: whether rows may be a class is then a matter of counts of types.

Two rows are of one type where all sensitive attributes that requirements are about are equal; where nothing but a
number of rows is required, all rows are of one. A class is given by how many rows of each type it has, so that many
possible classes are judged without naming the rows of any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anonymize.algorithms.feasibility import beyond_size, minimum_size
from anonymize.classes import Bools, Floats, Integers, Ints, Runs
from anonymize.judging import Judge
from anonymize.privacy import MODELS, Groups, Histogram, Requirement, check
from anonymize.table import Table

MOST = 64
"""Types at most; where rows have more, they are not told apart in this way."""


@dataclass(frozen=True)
class RowTypes:
    """`judge`: the requirements beyond size, of all rows that are released. `k`: the fewest rows of a class. `of`
    (rows,) type of each row; `codes` (types, sensitive attributes); `weights` (types,) in which relation a class had
    best have them: as in the table where it is compared with that, else all alike."""

    judge: Judge
    k: int
    of: Ints
    codes: Ints
    weights: Floats

    @classmethod
    def made(cls, table: Table, requirements: Sequence[Requirement], rows: Integers) -> RowTypes | None:
        """The types of some rows of the table, which are released together; None where counts of types are not all that
        requirements look at, where sensitive values that they look at are all alike, and where there are more types
        than `MOST`."""
        wanted = beyond_size(table, requirements)
        judge = Judge(table, wanted, rows.astype(np.uint32))
        if not wanted:
            of, none = np.zeros(len(rows), np.int64), np.zeros((1, 0), np.int64)
            return cls(judge, minimum_size(requirements), of, none, np.ones(1))
        apart = table.units is None or len(np.unique(table.units)) == table.rows
        counted = apart and not any(each.population for each in wanted)
        if not counted or not judge.columns:
            return None
        codes = np.stack([column.codes[rows].astype(np.int64) for column in judge.columns], axis=1)
        different, of = np.unique(codes, axis=0, return_inverse=True)
        if not 1 < len(different) <= MOST:
            return None
        compares = any(MODELS[each.model].compares for each in wanted)
        shares = np.bincount(of.ravel()) / len(rows)
        weights = shares if compares else np.full(len(different), 1 / len(different))
        return cls(judge, minimum_size(requirements), of.ravel(), different, weights)

    @property
    def count(self) -> int:
        """Number of types."""
        return len(self.codes)

    @property
    def alike(self) -> bool:
        """Whether all rows are of one type: nothing but a number of rows is required."""
        return self.count == 1

    def among(self, rows: Ints) -> RowTypes:
        """The same of some of the rows, renumbered; what classes are compared with stays."""
        return replace(self, of=self.of[rows])

    def meet(self, counts: Ints) -> Bools:
        """(classes,) whether classes meet every requirement, given their rows of each type (classes, types)."""
        sizes = counts.sum(axis=1)
        met = np.asarray(sizes >= self.k)
        large = np.flatnonzero(met)
        of, kind = np.nonzero(counts[large])
        number = counts[large][of, kind]
        histograms = {
            column.name: Histogram.of(
                column,
                Runs.count_values(of, codes[kind], len(large), column.size, number),
                len(large),
                self.judge.wholes[column.name],
            )
            for column, codes in zip(self.judge.columns, self.codes.T, strict=True)
        }
        met[large] = check(Groups(sizes[large], histograms), self.judge.requirements)
        return met
