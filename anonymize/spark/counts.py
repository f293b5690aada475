"""How many rows of a DataFrame have each combination of values in some columns: counted once, where it can be kept; and
whether a release has every row of its input, and once: engines make rows again where a worker is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from uuid import uuid4

import numpy as np
import polars as pl

from anonymize.spark.engine import WHOLE, DataFrame, collected, hash_of, held, read_otherwise

OF_ONE_TEXT = WHOLE | {"boolean", "date"}
"""Types of which no two values have the same text, nor one value two."""
COUNT, HASH = "count", "hash"
"""The columns of different rows: how many there are of each, and the hash of one."""
LOW_BITS = (1 << 28) - 1
"""The bits of a hash that are added up: sums of 2 ** 35 hashes fit into 64 bits."""


@dataclass(frozen=True)
class RowSum:
    """What rows come to in any order: how many there are, and their hashes put together in two ways: by exclusive or
    (`mixed`), which does not see a row that comes twice more, and added (`total`), of which most bits are left out."""

    rows: int
    mixed: int | None = None
    total: int | None = None

    @classmethod
    def of(cls, df: DataFrame, columns: Sequence[str]) -> RowSum:
        """That of the rows of a frame, by some of its columns; without any, their number."""
        if not columns:
            return cls(int(df.count()))
        sums = "count(1) as rows", "bit_xor(hash) as mixed", f"sum(hash & {LOW_BITS}) as total"
        (row,) = collected(df.selectExpr(f"{hash_of(columns)} as hash").selectExpr(*sums)).to_dicts()
        return cls(**row)

    @classmethod
    def counted(cls, rows: pl.DataFrame) -> RowSum:
        """That of different rows, of each of which there are as many as its `COUNT` says, by their `HASH`."""
        counts, hashes = (rows[name].to_numpy() for name in (COUNT, HASH))
        mixed = int(np.bitwise_xor.reduce(hashes[counts % 2 == 1]))
        return cls(int(counts.sum()), mixed, int(((hashes & LOW_BITS) * counts).sum()))


def check_rows(df: DataFrame, written: DataFrame, passing: Sequence[str], apart: pl.DataFrame | None = None) -> None:
    """Raises DataError where the rows that were written are not those of the input, but for a collision of hashes.
    `passing`: the columns that both have as they are; of them those are compared that read alike in any file. `apart`:
    the different rows that were written, by these columns, with `COUNT` and `HASH`, where they are known."""
    before, after = dict(df.dtypes), dict(written.dtypes)
    alike = [name for name in passing if before[name] == after[name] and before[name] in {"string", *OF_ONE_TEXT}]
    known = None if apart is None or apart.columns != [*alike, COUNT, HASH] else apart
    own = RowSum.of(written, alike) if known is None else RowSum.counted(known)
    if RowSum.of(df, alike) != own:
        raise read_otherwise()


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
