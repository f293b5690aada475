"""The columns of a DataFrame and of its release, by their places, and what the generalized ones of some rows read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Integers, Ints
from anonymize.recoding import Released
from anonymize.records import dataclass
from anonymize.spark.engine import CHUNK, DataFrame, arrow_of, of_schema, struct
from anonymize.spec import Role
from anonymize.spec.columns import WITHHELD
from anonymize.writing.rows import RowLayout

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# What workers make of some columns of whole numbers, put beside the columns of a DataFrame, which stay in the engine.
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


@dataclass(frozen=True)
class EngineColumns:
    """The columns of a DataFrame: their `names` in order, the `roles` of these."""

    names: tuple[str, ...]
    roles: Mapping[str, Role]

    @property
    def passing(self) -> list[int]:
        """The places of the columns that are released as they are."""
        withheld = {*WITHHELD, "quasi-identifier"}
        return [place for place, name in enumerate(self.names) if self.roles[name] not in withheld]

    @property
    def released(self) -> list[int]:
        """The places of the columns of a release; a quasi-identifier stays one column."""
        return [place for place, name in enumerate(self.names) if self.roles[name] not in WITHHELD]

    @property
    def generalized(self) -> dict[str, str]:
        """The quasi-identifiers by their places, with the type that they are released as (see `struct`)."""
        return {f"c{place}": "string" for place in self.released if self.roles[self.names[place]] == "quasi-identifier"}

    @property
    def groups(self) -> tuple[list[str], list[str]]:
        """The columns of a release by their places: the quasi-identifiers, and what passes through."""
        return [*self.generalized], [f"c{place}" for place in self.passing]


@dataclass(frozen=True)
class CellTexts:
    """What the quasi-identifiers of some rows read, put in bit by bit: of each, by its place, the `texts` that occur,
    and (rows,) `which` of these each row has."""

    texts: Mapping[str, list[pl.Series]]
    which: Mapping[str, NDArray[np.uint32]]

    @classmethod
    def of_rows(cls, rows: int, layout: EngineColumns) -> CellTexts:
        """Of so many rows, of which nothing is known yet."""
        return cls(
            {name: [] for name in layout.generalized}, {name: np.empty(rows, np.uint32) for name in layout.generalized}
        )

    def put(self, released: Released, layout: EngineColumns, rows: Ints, class_of: Integers) -> None:
        """Takes in what classes show. `rows` (n,): those that are in them; `class_of` (n,): the class of each."""
        cells = RowLayout(released, layout.roles, [layout.names[place] for place in layout.released]).cells
        for place in layout.generalized:
            (column,) = released.columns_of(layout.names[int(place[1:])])
            known = sum(map(len, self.texts[place]))
            self.which[place][rows] = column.of_class[class_of].astype(np.uint32) + np.uint32(known)
            self.texts[place].append(cells[column.name])

    def frames(self, rows: int = CHUNK) -> Iterator[pl.DataFrame]:
        """The rows, about so many at a time."""
        texts = {place: pl.concat(parts) for place, parts in self.texts.items()}
        for first in range(0, max(map(len, self.which.values())), rows):
            some = slice(first, first + rows)
            yield pl.DataFrame([texts[place].gather(which[some]).alias(place) for place, which in self.which.items()])
