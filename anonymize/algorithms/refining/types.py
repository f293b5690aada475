"""What requirements look at in rows, as a few types: whether rows may be a class is then a matter of counts of types.

Two rows are of one type where all sensitive attributes that requirements are about are equal; where nothing but a
number of rows is required, all rows are of one. A class is given by how many rows of each type it has, so that many
possible classes are judged without naming the rows of any. Where attributes have many values, types are of values that
stand for several (see `coarse`), and what counts of types meet has to be asked of the rows once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anonymize.algorithms.feasibility import beyond_size, minimum_size
from anonymize.algorithms.refining.coarse import coarse_table, least_rows
from anonymize.classes import Bools, Floats, Integers, Ints, Runs
from anonymize.judging import Judge
from anonymize.privacy import MODELS, Groups, Histogram, Requirement, check
from anonymize.table import Table

MOST = 64
"""Types at most that are told apart by all their values."""


@dataclass(frozen=True)
class RowTypes:
    """`judge`: the requirements beyond size, of all rows that are released. `k`: the fewest rows of a class. `of`
    (rows,) type of each row; `codes` (types, sensitive attributes); `weights` (types,) in which relation a class had
    best have them: as in the table where it is compared with that, else all alike. `least`: the fewest rows of a class
    that is worth trying. `exact`: what counts of types meet, rows do."""

    judge: Judge
    k: int
    of: Ints
    codes: Ints
    weights: Floats
    least: int
    exact: bool = True

    @classmethod
    def made(cls, table: Table, requirements: Sequence[Requirement], rows: Integers) -> RowTypes | None:
        """The types of some rows of the table, which are released together; None where counts of types are not all that
        requirements look at, where sensitive values that they look at are all alike, and where there are more types
        than `MOST` and coarser ones would not do."""
        wanted = beyond_size(table, requirements)
        judge = Judge(table, wanted, rows.astype(np.uint32))
        if not wanted:
            of, none, k = np.zeros(len(rows), np.int64), np.zeros((1, 0), np.int64), minimum_size(requirements)
            return cls(judge, k, of, none, np.ones(1), k)
        apart = table.units is None or len(np.unique(table.units)) == table.rows
        counted = apart and not any(each.population for each in wanted)
        if not counted or not judge.columns:
            return None
        different, of = _told_apart(judge, rows)
        exact, k, least = len(different) <= MOST, minimum_size(requirements), minimum_size(requirements)
        if not exact:
            coarse = coarse_table(table, wanted, rows)
            if coarse is None:
                return None
            least, judge = least_rows(judge, k, rows), Judge(coarse, wanted, judge.rows)
            different, of = _told_apart(judge, rows)
        if len(different) < 2:
            return None
        compares = any(MODELS[each.model].compares for each in wanted)
        shares = np.bincount(of) / len(rows)
        weights = shares if compares else np.full(len(different), 1 / len(different))
        return cls(judge, k, of, different, weights, least, exact)

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


def _told_apart(judge: Judge, rows: Integers) -> tuple[Ints, Ints]:
    """(types, sensitive attributes) the different codes of some rows, and (rows,) which of them each row has."""
    codes = np.stack([column.codes[rows].astype(np.int64) for column in judge.columns], axis=1)
    different, of = np.unique(codes, axis=0, return_inverse=True)
    return different, of.ravel()
