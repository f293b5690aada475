"""How many rows of a DataFrame have each combination of values in some columns: counted once, where it can be kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from uuid import uuid4

import polars as pl

from anonymize.spark.engine import DataFrame, collected, held

COUNT = "count"
NAME, VALUE = "name", "value"
"""The columns of the values of several columns, one below the other."""
MOST_TEXTS = 10_000
"""Different texts of a column that passes through which the driver takes."""


@dataclass(frozen=True)
class CountedRows:
    """A DataFrame, its columns by their places. `kept`: its different rows by some of them, with the `COUNT` of each,
    where these have been written, as every question to them would group all rows anew."""

    rows: DataFrame
    kept: DataFrame | None = None

    @classmethod
    def held(cls, rows: DataFrame, names: Sequence[str], folder: str) -> CountedRows:
        """A DataFrame whose different rows are kept in a folder."""
        return cls(rows, held(rows.groupBy(*names).count(), folder, f"classes-{uuid4().hex}"))

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
        others = {name: self.of([name]).limit(MOST_TEXTS + 1) for name in texts}
        if not kept | others:
            return {}
        together = collected(below(kept | others)).sort(VALUE, nulls_last=True)
        each = {name: together.filter(pl.col(NAME) == name).select(VALUE, COUNT) for name in kept | others}
        return {name: own for name, own in each.items() if name in kept or len(own) <= MOST_TEXTS}


def below(counted: Mapping[str, DataFrame]) -> DataFrame:
    """How many rows (`COUNT`) have each `VALUE` of some columns of one type, with the `NAME` of the column: in one
    plan, as every job of an engine costs what it takes to begin one. `counted`: each column with its `COUNT`."""
    each = [own.selectExpr(f"'{name}' as {NAME}", f"{name} as {VALUE}", COUNT) for name, own in counted.items()]
    return reduce(lambda above, below: above.union(below), each)
