"""What is asked of an engine: Spark, Spark Connect or Sail, by the DataFrame API that all of them have.

No context, no RDD and no broadcast variable: a session of Spark Connect has none of them. What workers have to know
goes with the function that they run. Columns go by their places (`c0`, `c1`, ...) as long as they are worked on, as an
engine takes a dot in a name for a field, and names that differ in case for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from anonymize.errors import DataError, Problem, UsageError

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

DataFrame: TypeAlias = Any
"""A DataFrame of `pyspark.sql`, classic or of Spark Connect."""

CHUNK = 1 << 20
"""Rows that a worker works on at once."""
PIECE_ROWS = 1 << 18
"""Rows of a piece of a release that is in order, about."""


def require() -> None:
    """Raises UsageError where a library is not there that talks to an engine."""
    try:
        for name in ("pyarrow", "pyspark.sql"):
            import_module(name)
    except ImportError:
        hint = "pip install 'anonymize-toolkit[spark]', or 'anonymize-toolkit[sail]' for Sail"
        raise UsageError(Problem("anonymize.spark needs pyspark and pyarrow", hint=hint)) from None


def named_by_place(df: DataFrame) -> DataFrame:
    """The frame with its columns named by their places. Raises DataError for two columns of one name."""
    if len(set(df.columns)) < len(df.columns):
        raise DataError("two columns of the DataFrame have the same name")
    return df.toDF(*places_of(df.columns).values())


def places_of(names: Sequence[str]) -> dict[str, str]:
    """The place by which each column goes."""
    return {name: f"c{place}" for place, name in enumerate(names)}


def read_otherwise() -> DataError:
    """Of a DataFrame that is not the same in every pass."""
    return DataError("the rows of the DataFrame were others when they were read again: write them to a table")


def in_order(df: DataFrame, row_order: str, released: Sequence[str], rows: int) -> DataFrame:
    """The rows in an order that follows from what they show in the columns that are `released`, or from nothing.

    Those that show something come in as many pieces as so many `rows` make, by a hash of these columns, and sorted in
    each: for ranges of them, Spark would make all rows once more to look where the ranges are.
    """
    from pyspark.sql import functions

    if row_order == "shuffle":
        return df.orderBy(functions.rand())
    return df.repartition(max(-(-rows // PIECE_ROWS), 1), *released).sortWithinPartitions(*released)


def arrow_of(schema: Any) -> pa.Schema:
    """The types of columns, as they come to a worker."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema)


def polars_schema(df: DataFrame) -> pl.Schema:
    """The types of a frame's columns, as polars has them."""
    import polars as pl

    frame = pl.from_arrow(arrow_of(df.schema).empty_table())
    assert isinstance(frame, pl.DataFrame)
    return frame.schema


def collected(df: DataFrame) -> pl.DataFrame:
    """All rows of a frame, which are few, here."""
    import polars as pl

    frame = pl.from_arrow(df.toArrow())
    assert isinstance(frame, pl.DataFrame)
    return frame


Frames: TypeAlias = "Iterable[pl.DataFrame]"


def struct(columns: Mapping[str, str]) -> Any:
    """The type of rows that have these columns, of types by their names: `int`, `long`, `double`, `string`."""
    from pyspark.sql import types

    kinds = {
        "int": types.IntegerType,
        "long": types.LongType,
        "double": types.DoubleType,
        "string": types.StringType,
    }
    return types.StructType([types.StructField(name, kinds[kind]()) for name, kind in columns.items()])


def mapped(df: DataFrame, work: Callable[[Frames], Frames], columns: Mapping[str, str]) -> DataFrame:
    """What workers make of the rows of each partition, which come in chunks. `columns`: see `struct`."""
    schema = struct(columns)
    return df.mapInArrow(partial(_map, work, arrow_of(schema)), schema)


def grouped(df: DataFrame, keys: Sequence[str], work: Callable[[pa.Table], pa.Table], schema: Any) -> DataFrame:
    """What workers make of all rows of each combination of keys. `schema`: the type of the rows that they return."""
    import pyarrow as pa

    def grown(rows: pa.Table) -> pa.Table:
        return work(rows)

    grown.__annotations__ = {"rows": pa.Table, "return": pa.Table}  # by which Spark knows what it takes
    return df.groupBy(*keys).applyInArrow(grown, schema)


def held(df: DataFrame, folder: str, name: str) -> DataFrame:
    """The frame, written to a folder that the engine can write to and read from there: what is read again is what has
    been written, whatever becomes of a worker."""
    path = f"{folder.rstrip('/')}/{name}"
    df.write.mode("error").parquet(path)
    return df.sparkSession.read.parquet(path)


def of_schema(frame: pl.DataFrame, schema: pa.Schema) -> pa.Table:
    """A frame with the types that an engine expects."""
    import polars as pl

    return frame.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(schema)


def chunks(batches: Iterable[pa.RecordBatch], rows: int = CHUNK) -> Iterator[pa.Table]:
    """The rows of batches, in tables of about so many rows; none of no rows."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            count += batch.num_rows
        if count >= rows:
            yield pa.Table.from_batches(waiting)
            waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _map(
    work: Callable[[Frames], Frames], schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    import polars as pl

    frames = (pl.DataFrame(table) for table in chunks(batches))
    for frame in work(frames):
        yield from of_schema(frame, schema).to_batches()
