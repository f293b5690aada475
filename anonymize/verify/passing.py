"""What the columns that pass through give away together: rows that are alone in all that they show.

Classes say nothing about these columns: three of them that are harmless one by one can single out nearly everybody,
and whoever knows them needs no quasi-identifier. So rows are counted that no other row agrees with: in the columns
that pass through, in these and the quasi-identifiers as released, and in these and the sensitive attributes as well.
A row that is alone in some columns is alone in any more, so each count goes on with the rows that are left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from anonymize.verify.numbering import Numbering, number_alone, together
from anonymize.verify.table import TextTable, numbered, numbered_together
from anonymize.verify.verdict import Uniqueness


@dataclass(frozen=True)
class PassingColumns:
    """The columns of a table by what becomes of them: `passing` through untouched, quasi-identifiers as released
    (`generalized`), `sensitive` attributes. `most`: the share of the rows that may be alone in those that pass through
    and the quasi-identifiers together; None where nothing is required."""

    passing: tuple[str, ...]
    generalized: tuple[str, ...]
    sensitive: tuple[str, ...]
    most: float | None = None


@dataclass(frozen=True)
class PassingNumbers:
    """The columns of a table as numbers, equal where texts are compared as equal, group by group. `passing`: each by
    its name; `generalized`: what all of these show together, None where there are none; `sensitive`: each."""

    passing: Mapping[str, Numbering]
    generalized: Numbering | None
    sensitive: Sequence[Numbering]


def numbers_of(table: TextTable, columns: PassingColumns) -> PassingNumbers:
    """The texts of the columns as numbers."""
    first = list(dict.fromkeys((*columns.passing, *columns.sensitive)))
    numbers = {name: column.numbers for name, column in zip(first, numbered(table, first), strict=True)}
    return PassingNumbers(
        {name: numbers[name] for name in columns.passing},
        numbered_together(table, columns.generalized) if columns.generalized else None,
        [numbers[name] for name in columns.sensitive],
    )


def uniqueness(numbers: PassingNumbers, columns: PassingColumns, units: pl.Series | None = None) -> Uniqueness:
    """Measures a table by the numbers of its texts. Rows about one individual (`units`) count as one.

    A row that is alone in some columns is alone in any more: each count is of all rows, by the columns up to there.
    """
    if not columns.passing:
        return Uniqueness((), 0, 0.0, 0.0, 0.0, columns.most)
    passing = list(numbers.passing.values())
    rows, own = len(passing[0].of_row), [] if numbers.generalized is None else [numbers.generalized]
    counts: list[int] = []
    so_far: list[Numbering] = []
    for group in (passing, own, numbers.sensitive):
        so_far += group
        counts.append(_number_alone(so_far, units) if group else counts[-1])
    alone, generalized, sensitive = (count / max(rows, 1) for count in counts)
    return Uniqueness(columns.passing, rows, alone, generalized, sensitive, columns.most)


def _number_alone(columns: Sequence[Numbering], units: pl.Series | None) -> int:
    """How many rows agree in all columns with none that is about somebody else."""
    if units is None:
        return number_alone(columns)
    rows = pl.DataFrame([together(columns).of_row.alias("key"), units.alias("unit")])
    of_key = rows.group_by("key").agg(pl.len(), alone=pl.col("unit").n_unique() == 1)
    return int(of_key.filter("alone")["len"].sum())
