"""What workers make of some columns of whole numbers, put beside the columns of a DataFrame, which stay in the engine.

Where rows go through a worker whole, every text of theirs is made Arrow and made a row again, and that takes Spark
longer than all that is done with them. A function of columns is sent those alone. It may take all rows of a partition
before it answers, as one of an iterator (`pandas_udf`): Spark keeps the other columns meanwhile, on the disk where they
are many, and Sail has them as Arrow already. So it does what a function of groups does, if rows have been put into
partitions by group; but a partition may have several groups, in any order, as not every engine keeps a sorted one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from anonymize.classes import Ints
from anonymize.spark.engine import CHUNK, DataFrame, arrow_of, of_schema, struct

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

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
    waiting: list[Columns] = []
    count = 0
    for batch in batches:
        columns = tuple(each.to_numpy() for each in (batch if isinstance(batch, tuple) else (batch,)))
        if len(columns[0]):
            waiting.append(columns)
            count += len(columns[0])
        if count >= CHUNK:
            yield _joined(waiting)
            waiting, count = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[Columns]) -> Columns:
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def _of_pandas(frame: pl.DataFrame, schema: pa.Schema) -> Iterator[pd.DataFrame]:
    """A frame as Spark takes it, piece by piece, its texts where they are."""
    import pandas as pd

    for first in range(0, len(frame), BATCH):
        table = of_schema(frame.slice(first, BATCH).select(schema.names).rechunk(), schema)
        yield pd.DataFrame({name: pd.arrays.ArrowExtensionArray(table[name]) for name in table.column_names})
