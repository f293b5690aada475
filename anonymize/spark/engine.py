"""What is asked of an engine: Spark, Spark Connect or Sail, by the DataFrame API that all of them have; and the
settings of its session for as long as it works for us."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial, wraps
from importlib import import_module
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from anonymize.errors import DataError, Problem, UsageError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from anonymize.classes import Ints


# --- an engine --------------------------------------------------------------------------------------------------------
# No context, no RDD and no broadcast variable: a session of Spark Connect has none of them. What workers have to know
# goes with the function that they run. Columns are named by their places (`c0`, `c1`, ...) as long as they are worked
# on, as an engine takes a dot in a name for a field, and names that differ in case for one.

DataFrame: TypeAlias = Any
"""A DataFrame of `pyspark.sql`, classic or of Spark Connect."""

CHUNK = 1 << 20
"""Rows that a worker works on at once."""
PIECE_ROWS = 1 << 18
"""Rows of a piece of a release that is in order, about."""
NO_TEXT = "\uffff"
"""What a null is hashed as: no character of Unicode. A text that is just this counts as a null."""
CHANCE = "chance"
WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})
"""The types of whole numbers, as `DataFrame.dtypes` has them."""


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
    """The error for a DataFrame that is not the same in every pass."""
    return DataError("the rows of the DataFrame changed when they were read again: write them to a table")


def hash_of(columns: Sequence[str], salt: str = "") -> str:
    """An expression: a hash of 64 bits of what some columns show, as texts; another one with another `salt`. A null
    counts as a text that is none: left out, as engines leave it, rows that are null in different columns would be
    alike."""
    texts = [f"coalesce(cast({name} as string), '{NO_TEXT}')" for name in columns]
    salts = [f"'{salt}'"] if salt else []
    return f"xxhash64({', '.join(salts + texts)})"


def in_order(
    df: DataFrame, row_order: str, groups: Sequence[Sequence[str]], rows: int, together: bool = False
) -> DataFrame:
    """The rows in an order that follows from what they show in some groups of columns, or from a secret. None is drawn
    for a row: a worker in the place of one that was lost would draw anew, and rows would come twice, or be lost.

    Those that show something come in as many pieces as so many `rows` make, by a hash of each group, the first before
    the others: rows of a class stand together in every piece that has any. `together`: rows that are alike in the first
    group come into one piece, which has to be able to hold them; that is quicker to write and to read, as most cells
    are like those above them. To compare the texts took an engine as long as to make the rows; and for ranges of them,
    Spark would make all rows once more to look where the ranges are.
    """
    keys = {f"key{place}": hash_of(group) for place, group in enumerate(groups) if group}
    keyed = df.selectExpr("*", *(f"{key} as {name}" for name, key in keys.items()))
    by = list(keys)
    if row_order == "shuffle":
        keyed, by = _by_chance(keyed, by, df.columns), [CHANCE]
    pieces = max(-(-rows // PIECE_ROWS), 1)
    pieces_by = by[:1] if together else by
    return keyed.repartition(pieces, *pieces_by).sortWithinPartitions(*by).select(*df.columns)


def _by_chance(keyed: DataFrame, keys: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """The rows with a `CHANCE` each, a keyed hash of what they show, and of a number where several show the same. Such
    rows may differ in `columns` that nobody is shown, which then number them."""
    twin = f"row_number() over (partition by {', '.join(keys)} order by {hash_of(columns)}) as twin"
    texts = ", ".join(f"cast({name} as string)" for name in (*keys, "twin"))
    return keyed.selectExpr("*", twin).selectExpr(
        "*", f"sha2(concat_ws(':', '{token_hex(16)}', {texts}), 256) as {CHANCE}"
    )


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


def typed_columns(df: DataFrame) -> list[str]:
    """The columns that hold something else than texts."""
    return [name for name, kind in df.dtypes if kind != "string"]


def check_types(df: DataFrame, names: Iterable[str]) -> None:
    """Raises DataError for columns whose cells are not single values."""
    from anonymize.table.source import not_values

    if problems := not_values(polars_schema(df), names):
        raise DataError(problems)


def collected(df: DataFrame) -> pl.DataFrame:
    """All rows of a frame, which are few, here."""
    import polars as pl

    frame = pl.from_arrow(df.toArrow())
    assert isinstance(frame, pl.DataFrame)
    return frame


Tables: TypeAlias = "Iterable[pa.Table]"
Frames: TypeAlias = "Iterable[pl.DataFrame]"
Batch = TypeVar("Batch")


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


def mapped(df: DataFrame, work: Callable[[Tables], Frames], columns: Mapping[str, str]) -> DataFrame:
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


def chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows of batches, in tables of about `CHUNK` rows; none of no rows."""
    import pyarrow as pa

    return map(pa.Table.from_batches, _gathered(batches, lambda batch: int(batch.num_rows)))


def _gathered(batches: Iterable[Batch], rows_of: Callable[[Batch], int]) -> Iterator[list[Batch]]:
    """The batches that have rows, in lists of about `CHUNK` of these."""
    waiting: list[Batch] = []
    count = 0
    for batch in batches:
        if rows := rows_of(batch):
            waiting.append(batch)
            count += rows
        if count >= CHUNK:
            yield waiting
            waiting, count = [], 0
    if waiting:
        yield waiting


def _map(
    work: Callable[[Tables], Frames], schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for frame in work(chunks(batches)):
        yield from of_schema(frame, schema).to_batches()


# --- columns added to others ------------------------------------------------------------------------------------------
# What workers make of some columns of whole numbers is added to the columns of a DataFrame, which stay in the engine.
#
# Where rows go through a worker whole, every text of theirs is made Arrow and made a row again, and that takes Spark
# longer than all that is done with them. A function of columns is sent those alone. It may take all rows of a partition
# before it answers, as one of an iterator (`pandas_udf`): Spark keeps the other columns meanwhile, on the disk where
# they are many, and Sail has them as Arrow already. So it does what a function of groups does, if rows have been put
# into partitions by group; but a partition may have several groups, in any order, as not every engine keeps a sorted
# one.

Columns: TypeAlias = "tuple[Ints, ...]"
Work: TypeAlias = "Callable[[Iterator[Columns]], Iterator[pl.DataFrame]]"
MADE = "made"
BATCH = 1 << 16
"""Rows that go back to the engine at once."""


def beside(df: DataFrame, columns: list[str], work: Work, made: Mapping[str, str]) -> DataFrame:
    """The frame with the columns that are `made` (see `struct`) of some of its `columns`, whole numbers without nulls.

    `work`: takes the rows of a partition chunk by chunk, and yields one row for each of them, in their order.
    """
    import pandas as pd
    from pyspark.sql.functions import pandas_udf  # type: ignore[attr-defined]  # it is not in the list of what is there

    schema = arrow_of(struct(made))

    def run(batches):  # type: ignore[no-untyped-def]  # Spark goes by annotations, which are set below
        for frame in work(_chunks(batches)):
            yield from _of_pandas(frame, schema)

    one = len(columns) == 1
    run.__annotations__ = {
        "batches": Iterator[pd.Series] if one else Iterator[tuple[pd.Series, ...]],
        "return": Iterator[pd.DataFrame],
    }
    function = pandas_udf(run, struct(made)).asNondeterministic()  # of a partition, and of no row by itself
    return df.select("*", function(*columns).alias(MADE)).select(*df.columns, *(f"{MADE}.{name}" for name in made))


def _chunks(batches: Iterator[Any]) -> Iterator[Columns]:
    """The rows of batches, about `CHUNK` at a time; none of no rows."""
    columns = (batch if isinstance(batch, tuple) else (batch,) for batch in batches)
    arrays = (tuple(each.to_numpy() for each in own) for own in columns)
    return map(joined, _gathered(arrays, lambda own: len(own[0])))


def joined(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Each column of several parts as one."""
    import numpy as np

    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def _of_pandas(frame: pl.DataFrame, schema: pa.Schema) -> Iterator[pd.DataFrame]:
    """A frame as Spark takes it, piece by piece, its texts where they are."""
    import pandas as pd

    for first in range(0, len(frame), BATCH):
        table = of_schema(frame.slice(first, BATCH).select(schema.names).rechunk(), schema)
        yield pd.DataFrame({name: pd.arrays.ArrowExtensionArray(table[name]) for name in table.column_names})


# --- settings ---------------------------------------------------------------------------------------------------------
# They save time, and change no row.

Road = TypeVar("Road", bound=Callable[..., Any])

SETTINGS = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",
}
"""Settings of Spark. A limit on the bytes of a batch so high that Spark need not add up, after every row, how many it
has, which took a tenth of the time of all tasks; the limit on rows is left as it is. And no small hash table before
the large one when counting: where nearly every row is different, every row is looked up in both."""


@contextmanager
def tuned(session: Any) -> Iterator[None]:
    """Runs the block with these settings, where the engine takes them, and sets them back."""
    before = {}
    try:
        for name, value in SETTINGS.items():
            with suppress(Exception):  # an engine may refuse what it does not know, or does not let anybody set
                own = session.conf.get(name, None)
                session.conf.set(name, value)
                before[name] = own
        yield
    finally:
        for name, own in before.items():
            if own is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, own)


def with_settings(work: Road) -> Road:
    """What works on a DataFrame, its first argument, `tuned`."""

    @wraps(work)
    def run(df: DataFrame, *args: Any, **given: Any) -> Any:
        with tuned(df.sparkSession):
            return work(df, *args, **given)

    return cast("Road", run)
