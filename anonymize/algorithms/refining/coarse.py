"""Sensitive attributes of many values as ones of few, for a search that counts how many rows of each value a class has.

Values that follow each other become one, so that all have about as many rows: of numbers that is an interval, of texts
what stands together in their order or under their hierarchy. What a class of such values meets, the class of its rows
is likely to meet, and no more: whoever searches with them has to ask the rows in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from anonymize.classes import Floats, Integers, Ints
from anonymize.judging import Judge
from anonymize.privacy import MODELS, Requirement
from anonymize.spec.base import Means
from anonymize.table import SensitiveColumn, Table

VALUES = 32
"""Values that are left, of all attributes together, about; missing ones are further ones."""
DRAWS = (4, 32)
"""Draws of rows of each size that are tried, of large and of small ones; a quarter of them has to meet the
requirements."""
DRAWN = 1 << 21
"""Rows that are drawn at once, about."""


def coarse_table(table: Table, requirements: Sequence[Requirement], rows: Integers) -> Table | None:
    """The table with few values in each sensitive attribute that requirements are about, by the rows that are released;
    None where single values are protected, or nodes of a hierarchy are compared, which would be lost."""
    for each in requirements:
        named = each.parameters.given(Means.PROTECTED) is not None
        if named or MODELS[each.model].needs(each.parameters) == "hierarchy":
            return None
    names = {each.attribute for each in requirements}
    columns = [column for column in table.sensitive if column.name in names]
    values = max(int(VALUES ** (1 / max(len(columns), 1)) + 1e-9), 2)
    return replace(table, sensitive=tuple(coarse_column(column, rows, values) for column in columns))


def coarse_column(column: SensitiveColumn, rows: Integers, values: int) -> SensitiveColumn:
    """The column with about so many values, and the missing one, which stays by itself. A number is the mean of those
    that it stands for, weighted by their rows.

    A value goes where the middle of its rows lies, in the order of all rows: one that many rows have is not parted.
    """
    counts = np.bincount(column.codes[rows], minlength=column.size).astype(np.float64)
    if column.missing is not None:
        counts[column.missing] = 0.0
    middle = (np.cumsum(counts) - counts / 2) / max(counts.sum(), 1.0)
    place = np.minimum((middle * values).astype(np.int64), values - 1)
    if column.missing is not None:
        place[column.missing] = values
    _, value_of = np.unique(place, return_inverse=True)
    size = int(value_of.max()) + 1
    return replace(
        column,
        codes=value_of.astype(np.uint32)[column.codes],
        size=size,
        missing=None if column.missing is None else int(value_of[column.missing]),
        values=None if column.values is None else _means(column.values, counts, value_of, size),
        texts=(),
        alike=False,
        hierarchy=None,
        everywhere=None if column.everywhere is None else _summed(column.everywhere, value_of, size),
    )


def least_rows(judge: Judge, k: int, rows: Integers) -> int:
    """The fewest rows, of k and its doubles, of which a quarter of random draws meets the requirements; all rows where
    none of these does. The draws are the same at every run."""
    rng, size = np.random.default_rng(0), max(k, 1)
    while size < len(rows):
        draws = min(max(DRAWN // size, DRAWS[0]), DRAWS[1])
        drawn = rows[rng.integers(len(rows), size=draws * size)].astype(np.uint32)
        of = np.repeat(np.arange(draws), size)
        if 4 * np.count_nonzero(judge.meets(of, draws, judge.pick(drawn))) >= draws:
            return size
        size *= 2
    return len(rows)


def _means(numbers: Floats, counts: Floats, value_of: Ints, size: int) -> Floats:
    """(size,) the mean of the numbers (n,) that each value stands for, weighted by their rows; nan where it stands for
    none."""
    known = ~np.isnan(numbers) & (counts > 0)
    sums, weights = (np.bincount(value_of[known], each[known], minlength=size) for each in (numbers * counts, counts))
    return np.asarray(np.divide(sums, weights, out=np.full(size, np.nan), where=weights > 0))


def _summed(counts: Ints, value_of: Ints, size: int) -> Ints:
    return np.bincount(value_of, counts, minlength=size).astype(np.int64)
