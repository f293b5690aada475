"""What the columns that pass through give away together: rows that are alone in all that they show.

Classes say nothing about these columns: three of them that are harmless one by one can single out nearly everybody,
and whoever knows them needs no quasi-identifier. So rows are counted that no other row agrees with: in the columns
that pass through, in these and the quasi-identifiers as released, and in these and the sensitive attributes as well.
A row that is alone in some columns is alone in any more, so each count goes on with the rows that are left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from anonymize.verify.table import TextTable
from anonymize.verify.verdict import Result

MODEL = "passing"
"""What the requirement is called among the privacy models."""


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
class Uniqueness:
    """Shares of the rows, from 0 to 1: alone in the columns that pass through, in these and the quasi-identifiers as
    released, and in these and the sensitive attributes, too. All are 0 where no column passes through."""

    columns: tuple[str, ...]
    alone: float
    with_quasi_identifiers: float
    with_sensitive: float
    most: float | None = None

    @property
    def result(self) -> Result | None:
        """What is required of it, judged; None where nothing is."""
        if self.most is None:
            return None
        figure = self.with_quasi_identifiers
        met = figure <= self.most + 1e-12
        achieved: dict[str, float | int | str | None] = {"uniques": figure}
        return Result(MODEL, None, {"uniques": self.most}, achieved, met, 0, 0)

    def block(self) -> dict[str, object]:
        """The figures as a report has them."""
        figures = {
            "uniques": self.alone,
            "uniques_with_quasi_identifiers": self.with_quasi_identifiers,
            "uniques_with_sensitive": self.with_sensitive,
        }
        return {"columns": list(self.columns), **figures}


def uniqueness(table: TextTable, columns: PassingColumns) -> Uniqueness:
    """Measures a table from its text. Rows about one individual (`table.units`) count as one."""
    if not columns.passing:
        return Uniqueness((), 0.0, 0.0, 0.0, columns.most)
    groups = (columns.passing, columns.generalized, columns.sensitive)
    names = list(dict.fromkeys(name for group in groups for name in group))
    codes = _codes(table, names)
    rows = max(codes.height, 1)
    keys = [[f"c{names.index(name)}" for name in dict.fromkeys(group)] for group in groups]
    alone, generalized, sensitive = (count / rows for count in _alone(codes, keys, table.units is not None))
    return Uniqueness(columns.passing, alone, generalized, sensitive, columns.most)


def _codes(table: TextTable, names: Sequence[str]) -> pl.DataFrame:
    """Each column's texts as numbers (`c0`, `c1`, ...), equal where the texts are, null where there is none."""
    kinds = [pl.Categorical(pl.Categories.random()) for _ in names]
    queries = [
        table.text(name).cast(kind).to_physical().alias(f"c{number}")
        for number, (name, kind) in enumerate(zip(names, kinds, strict=True))
    ]
    codes = table.frame.select(queries).collect(engine="streaming")
    return codes if table.units is None else codes.with_columns(table.units.alias("unit"))


def _alone(rows: pl.DataFrame, groups: Sequence[Sequence[str]], by_unit: bool) -> Iterator[int]:
    """How many rows are alone in the first group of columns, in the first two, and so on."""
    members = pl.col("unit").n_unique() if by_unit else pl.len()
    columns: list[str] = []
    count = 0
    for group in groups:
        columns += [name for name in group if name not in columns]
        single = rows.select((members.over(columns) == 1).alias("single")).to_series()
        count += int(single.sum())
        rows = rows.filter(~single)
        yield count
