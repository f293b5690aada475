"""What the columns that pass through give away together: rows that are alone in all that they show.

Classes say nothing about these columns: three of them that are harmless one by one can single out nearly everybody,
and whoever knows them needs no quasi-identifier. So rows are counted that no other row agrees with: in the columns
that pass through, in these and the quasi-identifiers as released, and in these and the sensitive attributes as well.
A row that is alone in some columns is alone in any more, so each count goes on with the rows that are left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from anonymize.verify.table import Numbering, TextTable, numbered, pair
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


def numbers_of(table: TextTable, columns: PassingColumns) -> dict[str, Numbering]:
    """The texts of the columns as numbers, equal where they are compared as equal."""
    names = list(dict.fromkeys((*columns.passing, *columns.generalized, *columns.sensitive)))
    return {name: column.numbers for name, column in zip(names, numbered(table, names), strict=True)}


def uniqueness(numbers: Mapping[str, Numbering], columns: PassingColumns, units: pl.Series | None = None) -> Uniqueness:
    """Measures a table by the numbers of its texts. Rows about one individual (`units`) count as one.

    The keys of the rows that are left are extended by the next columns: one number for each row, as in classes.
    """
    groups = (columns.passing, columns.generalized, columns.sensitive)
    if not columns.passing:
        return Uniqueness((), 0, 0.0, 0.0, 0.0, columns.most)
    rows = len(numbers[columns.passing[0]].of_row)
    counts = _alone(numbers, groups, units)
    alone, generalized, sensitive = (count / max(rows, 1) for count in counts)
    return Uniqueness(columns.passing, rows, alone, generalized, sensitive, columns.most)


def _alone(columns: Mapping[str, Numbering], groups: Sequence[Sequence[str]], units: pl.Series | None) -> Iterator[int]:
    """How many rows are alone in the first group of columns, in the first two, and so on."""
    first = next(iter(columns.values()))
    key = Numbering(pl.repeat(0, len(first.of_row), dtype=pl.UInt32, eager=True), 1)
    left: pl.Series | None = None  # all of them
    new = [list(dict.fromkeys(group)) for group in groups]
    new = [[name for name in group if not any(name in before for before in new[:i])] for i, group in enumerate(new)]
    count = 0
    for place, group in enumerate(new):
        for name in group:
            numbers = columns[name].of_row
            key = pair(key, Numbering(numbers if left is None else numbers.filter(left), columns[name].span))[0]
        if group and units is None and not any(new[place + 1 :]):
            count += _number_single(key)
        elif group:
            single = _single(key, units if units is None or left is None else units.filter(left))
            count += int(single.sum())
            key = Numbering(key.of_row.filter(~single), key.span)
            left = ~single if left is None else left.scatter(left.arg_true().filter(single), False)
        yield count


def _number_single(key: Numbering) -> int:
    """How many rows have a key that no other row has, where nobody asks which; sorting takes less than half the memory
    of a table of keys."""
    ordered = key.of_row.sort()
    starts = ordered != ordered.shift(1)
    starts = starts.fill_null(True)  # of the first row
    return int((starts & starts.shift(-1, fill_value=True)).sum())


def _single(key: Numbering, units: pl.Series | None) -> pl.Series:
    """Whether the rows that share a row's key are about one individual."""
    if units is None:
        return key.of_row.is_unique()
    rows = pl.DataFrame([key.of_row.alias("key"), units.alias("unit")])
    return rows.select(pl.col("unit").n_unique().over("key") == 1).to_series()
