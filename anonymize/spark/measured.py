"""A DataFrame measured where it is, by the code of `anonymize.verify` that shares nothing with a search.

The engine counts the different rows, as far as privacy models look at them; every worker measures whole classes; what
comes to the driver is how many classes there are of each size, and the results of the parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from anonymize.claims import Basis, Result, State
from anonymize.spark.counts import COUNT, NAME, OF_ONE_TEXT, VALUE, CountedRows
from anonymize.spark.engine import (
    DataFrame,
    Tables,
    arrow_of,
    collected,
    grouped,
    hash_of,
    mapped,
    of_schema,
    struct,
)
from anonymize.verify.combinations import GroupFigures
from anonymize.verify.counted import ROWS, CountedValues, TextReading, measure_part, merged, verdict_of
from anonymize.verify.kept import PassingFigures, RowShares
from anonymize.verify.measuring import absent_values
from anonymize.verify.verdict import Check, Subject, Verdict

if TYPE_CHECKING:
    import pyarrow as pa

BUCKET = "bucket"
BUCKET_ROWS = 1 << 20
"""Different rows that a worker measures at once, about."""
FRACTIONS = frozenset({"float", "double"})
_MEASURED = {"size": "long", "suppressed": "int", "classes": "long", "results": "string"}


def looked_at(reading: TextReading, checks: Sequence[Check]) -> list[str]:
    """The columns by which the rows of a DataFrame are told apart."""
    subjects = _subjects([check for check in checks if check.attribute is not None])
    return [
        *reading.quasi_identifiers,
        *dict.fromkeys(reading.attributes[subject.attribute or ""] for subject in subjects),
    ]


def measured(
    counts: CountedRows, reading: TextReading, checks: Sequence[Check], threshold: float
) -> tuple[Verdict, pl.Series]:
    """The verdict on a DataFrame whose columns go by their places, but for what its order and the columns that pass
    through tell; and the sizes of its classes that are not suppressed."""
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
    made = [json.loads(text) for text in parts["results"].drop_nulls()]
    results = {place: merged([_result(each[number]) for each in made]) for number, place in enumerate(places)}
    verdict, seen = verdict_of(sizes, checks, results, threshold)
    absent = absent_values(of_attributes, lambda subject, tree: ((), values[subject].overall()))
    return replace(verdict, absent=absent), seen


def _result(fields: Mapping[str, Any]) -> Result:
    """A result that a worker wrote as JSON."""
    return Result(**{**fields, "state": State(fields["state"]), "basis": Basis(fields["basis"])})


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
    """The same, but for a collision: by two hashes of them, of 128 bits together, as an engine takes twice to three
    times as long to compare the texts of all."""
    hashes = (f"{hash_of(keys, salt)} as h{place}" for place, salt in enumerate(("", "again")))
    sizes = df.selectExpr(*hashes).groupBy("h0", "h1").count()
    shares = (f"coalesce(sum(case when count < {limit} then count end), 0) as below{limit}" for limit in (2, k))
    summed = collected(sizes.selectExpr(*shares) if k != 2 else sizes.selectExpr(*list(shares)[:1]))
    return int(summed.row(0)[0]), int(summed.row(0)[-1])


def group_figures(counts: CountedRows, reading: TextReading, keys: Sequence[str], k: int) -> GroupFigures:
    """What the groups of rows by some columns come to, of which each needs `k` rows."""
    sizes = compared_texts(counts, reading, keys).groupBy(*keys).agg({"rows": "sum"}).toDF(*keys, COUNT)
    few = f"case when {COUNT} < {k} then"
    least, groups, rows = collected(
        sizes.selectExpr(f"min({COUNT})", f"sum({few} 1 else 0 end)", f"sum({few} {COUNT} else 0 end)").toDF(*"abc")
    ).row(0)
    return GroupFigures(least, int(groups or 0), int(rows or 0))


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
