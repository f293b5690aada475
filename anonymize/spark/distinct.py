"""A DataFrame as a table of its distinct rows, each of which stands for several: the frequency set, in one aggregation.

A search that looks at combinations of values, and at no row by itself, finds on this table what it finds on all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np
import polars as pl

from anonymize.classes import Codes
from anonymize.errors import DataError, Problem
from anonymize.spark.codes import CodeBook
from anonymize.spark.engine import DataFrame, Tables, collected, mapped
from anonymize.spark.learned import Learned
from anonymize.table import Table

MOST_COMBINATIONS = 2_000_000
"""Different combinations of values that the driver takes, and hands to every worker."""
ROWS = "n"
"""How many rows have a combination."""


def distinct_rows(
    rows: DataFrame,
    learned: Learned,
    looked_at: Sequence[str | None],
    most: int,
    taken_as: Mapping[int, Codes] = MappingProxyType({}),
) -> Table:
    """The combinations of the quasi-identifiers with the sensitive attributes that are `looked_at`, as a table whose
    attributes have `counts`. Of other sensitive attributes it has the first code alone. `taken_as`: of a
    quasi-identifier, by its place, (size,) the code that each is counted as.

    Raises DataError for more than `most` combinations.
    """
    count = len(learned.attributes)
    wanted = [place for place, column in enumerate(learned.sensitive) if column.name in looked_at]
    columns = [*range(count), *(count + place for place in wanted)]
    frame = _combinations(rows, learned, columns, most, dict(taken_as))
    counts = frame[ROWS].to_numpy().astype(np.int64)
    codes = {place: _codes(frame, place, learned.sizes[place]) for place in columns}
    none: Codes = np.zeros(len(frame), np.uint8)
    sensitive = [codes.get(count + place, none) for place in range(len(learned.sensitive))]
    table = learned.table([codes[place] for place in range(count)], sensitive, len(frame))
    return replace(table, attributes=tuple(replace(each, counts=counts) for each in table.attributes))


def _combinations(
    rows: DataFrame, learned: Learned, columns: Sequence[int], most: int, taken_as: Mapping[int, Codes]
) -> pl.DataFrame:
    """How many rows (`ROWS`) have each combination of codes of some columns, in an order that is not the engine's."""
    names = [f"b{place}" for place in columns]
    work = partial(_count, [(learned.books[place], taken_as.get(place)) for place in columns], names)
    counted = (
        mapped(learned.keyed(rows), work, {**dict.fromkeys(names, "int"), ROWS: "long"})
        .groupBy(*names)
        .agg({ROWS: "sum"})
    )
    frame = collected(counted.limit(most + 1)).rename({f"sum({ROWS})": ROWS})
    if len(frame) > most:
        message = f"there are more than {most:,} different combinations of values, which is more than the driver takes"
        hint = "round numbers, or take coarser values before they come here; mondrian needs no combinations"
        raise DataError(Problem(message, hint=hint))
    return frame.sort(names)


def _codes(frame: pl.DataFrame, place: int, size: int) -> Codes:
    kind = np.min_scalar_type(max(size - 1, 0))
    return np.asarray(frame[f"b{place}"].to_numpy().astype(kind))


def _count(
    books: Sequence[tuple[CodeBook, Codes | None]], names: Sequence[str], tables: Tables
) -> Iterator[pl.DataFrame]:
    """The combinations of one partition of the rows."""
    counted = []
    for rows in tables:
        known = ((book.codes(rows[book.name].to_numpy()), taken) for book, taken in books)
        own = (codes if taken is None else taken[codes] for codes, taken in known)
        frame = pl.DataFrame([pl.Series(name, each) for name, each in zip(names, own, strict=True)])
        counted.append(frame.group_by(names).agg(pl.len().cast(pl.Int64).alias(ROWS)))
    if counted:
        yield pl.concat(counted).group_by(names).agg(pl.col(ROWS).sum()).select(*names, ROWS)
