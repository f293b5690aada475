"""A DataFrame measured where it is, by the code of `anonymize.verify` that shares nothing with a search:
combinations of values are counted once, where the counts can be kept."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import polars as pl

from anonymize.claims import Basis, Result, State
from anonymize.records import dataclass
from anonymize.spark.engine import (
    WHOLE,
    DataFrame,
    Tables,
    arrow_of,
    collected,
    grouped,
    hash_of,
    held,
    mapped,
    of_schema,
    read_otherwise,
    struct,
)
from anonymize.verify import combinations, measuring
from anonymize.verify.counted import ROWS, CountedValues, TextReading, measure_part, merged, verdict_of
from anonymize.verify.kept import PassingFigures, RowShares
from anonymize.verify.verdict import Check, Subject, Verdict

if TYPE_CHECKING:
    import pyarrow as pa


# --- counts -----------------------------------------------------------------------------------------------------------
# How many rows of a DataFrame have each combination of values in some columns: counted once, where it can be kept; and
# whether a release has every row of its input, and once: engines make rows again where a worker is lost.

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
        """The sum of a frame's rows, by some of its columns; without any, their number."""
        if not columns:
            return cls(int(df.count()))
        sums = "count(1) as rows", "bit_xor(hash) as mixed", f"sum(hash & {LOW_BITS}) as total"
        (row,) = collected(df.selectExpr(f"{hash_of(columns)} as hash").selectExpr(*sums)).to_dicts()
        return cls(**row)

    @classmethod
    def counted(cls, rows: pl.DataFrame) -> RowSum:
        """The sum of different rows, of each of which there are as many as its `COUNT` says, by their `HASH`."""
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


# --- measured ---------------------------------------------------------------------------------------------------------
# The engine counts the different rows, as far as privacy models look at them; every worker measures whole classes; what
# comes to the driver is how many classes there are of each size, and the results of the parts.

BUCKET = "bucket"
BUCKET_ROWS = 1 << 20
"""Different rows that a worker measures at once, about."""
FRACTIONS = frozenset({"float", "double"})
_MEASURED = {"size": "long", "suppressed": "int", "classes": "long", "results": "string"}


def looked_at(reading: TextReading, checks: Sequence[Check]) -> list[str]:
    """The columns by which the rows of a DataFrame are distinguished."""
    subjects = _subjects([check for check in checks if check.attribute is not None])
    return [
        *reading.quasi_identifiers,
        *dict.fromkeys(reading.attributes[subject.attribute or ""] for subject in subjects),
    ]


def measured(
    counts: CountedRows, reading: TextReading, checks: Sequence[Check], threshold: float
) -> tuple[Verdict, pl.Series]:
    """The verdict on a DataFrame whose columns are named by their places, but for what its order and the columns that
    pass through tell; and the sizes of its classes that are not suppressed."""
    places = [place for place, check in enumerate(checks) if check.attribute is not None]
    of_attributes = [checks[place] for place in places]
    values = {subject: _values(counts, reading, subject, of_attributes) for subject in _subjects(of_attributes)}
    names = looked_at(reading, checks)
    distinct = compared_texts(counts, reading, names)
    count = -(-counts.number // BUCKET_ROWS)
    keys = ", ".join(reading.quasi_identifiers)
    bucketed = distinct.selectExpr("*", f"pmod(xxhash64({keys}), {count or 1}) as {BUCKET}")
    work = partial(_measure, reading.compared, of_attributes, values)
    parts = collected(grouped(bucketed, [BUCKET], work, struct(_MEASURED)))
    sizes = parts.filter(pl.col("results").is_null()).with_columns(pl.col("suppressed") == 1)
    written = [json.loads(text) for text in parts["results"].drop_nulls()]
    made = [
        [Result(**{**each, "state": State(each["state"]), "basis": Basis(each["basis"])}) for each in part]
        for part in written
    ]
    results = {place: merged([part[number] for part in made]) for number, place in enumerate(places)}
    verdict, seen = verdict_of(sizes, checks, results, threshold)
    absent = measuring.absent_values(of_attributes, lambda subject, tree: ((), values[subject].overall()))
    return replace(verdict, absent=absent), seen


def texts(df: DataFrame, reading: TextReading, names: Sequence[str]) -> DataFrame:
    """Columns of a frame as texts that are equal where they are compared as equal, and its `count`, if it has one, as
    `ROWS`."""
    rows = {"rows": "long"} if COUNT in df.columns else {}
    return mapped(df, partial(_texts, reading, tuple(names)), {**dict.fromkeys(names, "string"), **rows})


def compared_texts(counts: CountedRows, reading: TextReading, names: Sequence[str]) -> DataFrame:
    """The different rows by some columns, as `texts` makes them, and `ROWS` of each. Where the driver knows all their
    texts, and that none becomes another one, the engine has them already."""
    marginals = [counts.marginals.get(name) for name in names]
    if any(own is None or _becomes_another(own[VALUE], reading) for own in marginals):
        return texts(counts.of(names), reading, names)
    filled = names if reading.fill is None else [f"coalesce({name}, '') as {name}" for name in names]
    return counts.of(names).selectExpr(*filled, f"{COUNT} as rows")


def _becomes_another(values: pl.Series, reading: TextReading) -> bool:
    """Whether one of some texts that are no nulls is compared as another text."""
    known = values.drop_nulls()
    return not known.equals(reading.texts(known.to_frame(), [known.name]).to_series())


def passing(counts: CountedRows, reading: TextReading, columns: Mapping[str, Sequence[str]], k: int) -> PassingFigures:
    """What the columns that pass through give away. `columns`: those that pass through by their names, and
    the places of all: `passing`, `generalized`, `sensitive`. `k`: individuals of a group that is not small. The
    smallest sets are not looked for."""
    sets: dict[str, Any] = {"smallest": None, "max_size": None, "left_out": None}
    names = tuple(columns["names"])
    if not names:
        return PassingFigures((), k=k, sets=sets)
    groups = [list(columns[group]) for group in ("passing", "generalized", "sensitive")]
    every = _comparable(counts, reading, [name for group in groups for name in group])
    keys: list[str] = []
    below: list[tuple[int, int]] = []
    for group in groups:
        keys += group
        known = _below_apart(counts, reading, keys, k)
        below += below[-1:] if not group else [_below(every, keys, k) if known is None else known]
    rows = max(counts.number, 1)
    uniques, small = (RowShares(*(count / rows for count in each)) for each in zip(*below, strict=True))
    certain = _certain(every, dict(zip(names, groups[0], strict=True)), groups[1]) if groups[1] else {}
    return PassingFigures(names, counts.number, uniques, small, k, sets=sets, certain=certain)


def _below_apart(counts: CountedRows, reading: TextReading, keys: Sequence[str], k: int) -> tuple[int, int] | None:
    """How many rows are like no other in some columns, and how many like fewer than k, by their texts, where the driver
    has the different ones; None where it has not."""
    apart = counts.apart
    if apart is None or not {*keys} <= {*apart.columns}:
        return None
    made = reading.texts(apart, keys).with_columns(apart[COUNT].alias(ROWS))
    sizes = made.group_by(keys).agg(pl.col(ROWS).sum())[ROWS]
    return int(sizes.filter(sizes < 2).sum()), int(sizes.filter(sizes < k).sum())


def _below(df: DataFrame, keys: Sequence[str], k: int) -> tuple[int, int]:
    """Rows alone and rows in groups below k, but for a collision: by two hashes of 128 bits, as an engine takes twice
    to three times as long to compare the texts of all."""
    hashes = (f"{hash_of(keys, salt)} as h{place}" for place, salt in enumerate(("", "again")))
    sizes = df.selectExpr(*hashes).groupBy("h0", "h1").count()
    shares = (f"coalesce(sum(case when count < {limit} then count end), 0) as below{limit}" for limit in (2, k))
    summed = collected(sizes.selectExpr(*shares) if k != 2 else sizes.selectExpr(*list(shares)[:1]))
    return int(summed.row(0)[0]), int(summed.row(0)[-1])


def group_figures(counts: CountedRows, reading: TextReading, keys: Sequence[str], k: int) -> combinations.GroupFigures:
    """What the groups of rows by some columns come to, of which each needs `k` rows."""
    sizes = compared_texts(counts, reading, keys).groupBy(*keys).agg({"rows": "sum"}).toDF(*keys, COUNT)
    few = f"case when {COUNT} < {k} then"
    least, groups, rows = collected(
        sizes.selectExpr(f"min({COUNT})", f"sum({few} 1 else 0 end)", f"sum({few} {COUNT} else 0 end)").toDF(*"abc")
    ).row(0)
    return combinations.GroupFigures(least, int(groups or 0), int(rows or 0))


def _certain(df: DataFrame, columns: Mapping[str, str], keys: Sequence[str]) -> dict[str, float]:
    """Of each column of several values, the share of the rows in a class (`keys`) where all have one, by hashes.
    `columns`: their places."""
    from pyspark.sql import functions

    places = list(columns.values())
    hashes = [f"{hash_of(keys, salt)} as h{number}" for number, salt in enumerate(("", "again"))]
    values = df.selectExpr(*hashes, *(f"{hash_of([place])} as {place}" for place in places))
    ends = [f"{end}({place}) as {end}_{place}" for place in places for end in ("min", "max")]
    classes = values.groupBy("h0", "h1").agg(*map(functions.expr, ["count(1) as n", *ends]))
    one = [f"sum(case when min_{place} = max_{place} then n else 0 end) / sum(n) as {place}" for place in places]
    varies = [f"min(min_{place}) < max(max_{place}) as several_{place}" for place in places]
    row = collected(classes.selectExpr(*one, *varies)).row(0, named=True)
    return {name: float(row[place]) for name, place in columns.items() if row[f"several_{place}"]}


def _comparable(counts: CountedRows, reading: TextReading, names: Sequence[str]) -> DataFrame:
    """Columns whose cells are equal where they are compared as equal: as they are where no two different values of any
    column have the same text, which the types of most say, and the different values of others. A fraction may be a zero
    with a sign."""
    df = counts.rows
    kinds = dict(df.dtypes)
    strings = [name for name in names if kinds[name] == "string"]
    filled = [] if reading.normalize else strings
    others = [[name] for name in names if kinds[name] not in {"string", *OF_ONE_TEXT}]
    compared = [*others, *([strings] if strings and not filled else [])]
    if any(kinds[name] in FRACTIONS for name in names) or any(_alike(counts, reading, own) for own in compared):
        return texts(df, reading, names)
    if reading.fill is None:  # else it is the empty text
        return df.select(*names)
    return df.selectExpr(*(f"coalesce({name}, '') as {name}" if name in filled else name for name in names))


def _alike(counts: CountedRows, reading: TextReading, names: Sequence[str]) -> bool:
    """Whether two different values of one of some columns of one type are compared as equal."""
    known = [name for name in names if name in counts.marginals]
    if any(reading.texts(counts.marginals[name], [VALUE])[VALUE].is_duplicated().any() for name in known):
        return True
    others = [name for name in names if name not in known]
    if not others:
        return False
    different = texts(counts.below(others).select(NAME, VALUE), reading, [NAME, VALUE])
    return bool(different.groupBy(NAME, VALUE).count().filter("count > 1").limit(1).count())


def _subjects(checks: Sequence[Check]) -> list[Subject]:
    return list(dict.fromkeys(each for check in checks for each in (check.subject.as_they_stand, check.subject)))


def _values(counts: CountedRows, reading: TextReading, subject: Subject, checks: Sequence[Check]) -> CountedValues:
    """A sensitive attribute in the whole table."""
    name = reading.attributes[subject.attribute or ""]
    counted = collected(compared_texts(counts, reading, [name]))
    known = counted.filter(pl.col(name).is_not_null()).group_by(name).agg(pl.col("rows").sum()).sort(name)
    tree = next((c.tree for c in checks if c.subject == subject and c.tree is not None), None)
    return CountedValues(subject, known[name], known["rows"], reading.compared.missing, tree)


def _texts(reading: TextReading, names: Sequence[str], tables: Tables) -> Iterator[pl.DataFrame]:
    for frame in map(pl.DataFrame, tables):
        made = reading.texts(frame, names)
        yield made.with_columns(frame[COUNT].alias("rows")) if COUNT in frame.columns else made


def _measure(
    reading: TextReading, checks: Sequence[Check], values: Mapping[Subject, CountedValues], rows: pa.Table
) -> pa.Table:
    """The classes of one bucket: a row for each size, and one with the results."""
    frame = pl.DataFrame(rows).rename({"rows": ROWS})
    part = measure_part(frame, reading, checks, values)
    sizes = part.sizes.with_columns(pl.col("suppressed").cast(pl.Int32), results=pl.lit(None, pl.String))
    results = {"results": json.dumps([asdict(each) for each in part.results])}
    frame = pl.concat([sizes.select(*_MEASURED), pl.DataFrame(results)], how="diagonal")
    return of_schema(frame.select(*_MEASURED), arrow_of(struct(_MEASURED)))
