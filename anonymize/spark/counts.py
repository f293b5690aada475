"""How many rows of a DataFrame have each combination of values in some columns: counted once, where it can be kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from uuid import uuid4

import polars as pl

from anonymize.spark.engine import DataFrame, collected, hash_of, held
from anonymize.spark.identity import COUNT, HASH, OF_ONE_TEXT

NAME, VALUE = "name", "value"
"""The columns of the values of several columns, one below the other."""
MOST_TEXTS = 10_000
"""Different texts of a column that passes through which the driver takes."""

MOST_APART = 1 << 16
"""Different rows by what passes through which the driver takes; as many rows are looked at before they are counted."""


@dataclass(frozen=True)
class CountedRows:
    """A DataFrame, its columns by their places. `kept`: its different rows by some of them, with the `COUNT` of each,
    where these have been written, as every question to them would group all rows anew. `apart`: those by what passes
    through, where they are few; see `few_rows`."""

    rows: DataFrame
    kept: DataFrame | None = None
    apart: pl.DataFrame | None = None

    @classmethod
    def held(cls, rows: DataFrame, names: Sequence[str], folder: str, passing: Sequence[str] = ()) -> CountedRows:
        """A DataFrame whose different rows are kept in a folder. `passing`: the columns that pass through."""
        kept = held(rows.groupBy(*names).count(), folder, f"classes-{uuid4().hex}")
        return cls(rows, kept, few_rows(rows, passing))

    def of(self, names: Sequence[str]) -> DataFrame:
        """How many rows (`COUNT`) have each combination of values in some columns."""
        if self.kept is None or not {*names} <= {*self.kept.columns}:
            return self.rows.groupBy(*names).count()
        if [*names, COUNT] == self.kept.columns:
            return self.kept
        return self.kept.groupBy(*names).agg({COUNT: "sum"}).toDF(*names, COUNT)

    def below(self, names: Sequence[str]) -> DataFrame:
        """How many rows (`COUNT`) have each `VALUE` of some columns of one type; see `below`."""
        return below({name: self.of([name]) for name in names})

    @cached_property
    def number(self) -> int:
        """How many rows there are."""
        return int(self.rows.count())

    @cached_property
    def marginals(self) -> Mapping[str, pl.DataFrame]:
        """Where different rows are kept: how many rows (`COUNT`) have each `VALUE`, for each column of texts that is
        kept, and for others of no more than MOST_TEXTS texts: on the driver, in an order that is not the engine's."""
        if self.kept is None:
            return {}
        kept = {name: self.of([name]) for name, kind in self.kept.dtypes if kind == "string"}
        texts = [name for name, kind in self.rows.dtypes if kind == "string" and name not in self.kept.columns]
        apart = [name for name in texts if self.apart is not None and name in self.apart.columns]
        others = {name: self.of([name]).limit(MOST_TEXTS + 1) for name in texts if name not in apart}
        return self._collected(kept, others) | {name: _marginal(self.apart, name) for name in apart}

    def _collected(self, kept: Mapping[str, DataFrame], others: Mapping[str, DataFrame]) -> dict[str, pl.DataFrame]:
        """Counts of columns that the engine makes. `others`: those of which only so many are taken."""
        if not (kept or others):
            return {}
        together = collected(below({**kept, **others})).sort(VALUE, nulls_last=True)
        each = {name: together.filter(pl.col(NAME) == name).select(VALUE, COUNT) for name in (*kept, *others)}
        return {name: own for name, own in each.items() if name in kept or len(own) <= MOST_TEXTS}


def few_rows(rows: DataFrame, names: Sequence[str]) -> pl.DataFrame | None:
    """The different rows by some columns, with the `COUNT` and the `HASH` of each: on the driver, so that it answers
    what is asked of these columns, which one job counts.

    None without columns, where two values of any may read alike by their type, or where such rows are many: to group
    rows of which nearly every one is another takes an engine longer than all that this saves, so that some are looked
    at before.
    """
    kinds = dict(rows.dtypes)
    if not names or any(kinds[name] not in {"string", *OF_ONE_TEXT} for name in names):
        return None
    if rows.select(*names).limit(MOST_APART).distinct().count() > MOST_APART // 2:
        return None
    counted = rows.groupBy(*names).count().selectExpr("*", f"{hash_of(names)} as {HASH}")
    few = collected(counted.limit(MOST_APART + 1))
    return few if len(few) <= MOST_APART else None


def _marginal(apart: pl.DataFrame | None, name: str) -> pl.DataFrame:
    """How many rows have each `VALUE` of a column, of rows that are apart."""
    assert apart is not None
    return apart.group_by(pl.col(name).alias(VALUE)).agg(pl.col(COUNT).sum()).sort(VALUE, nulls_last=True)


def below(counted: Mapping[str, DataFrame]) -> DataFrame:
    """How many rows (`COUNT`) have each `VALUE` of some columns of one type, with the `NAME` of the column: in one
    plan, as every job of an engine costs what it takes to begin one. `counted`: each column with its `COUNT`."""
    each = [own.selectExpr(f"'{name}' as {NAME}", f"{name} as {VALUE}", COUNT) for name, own in counted.items()]
    return reduce(lambda above, below: above.union(below), each)
