"""The rows of a release, piece by piece: what an algorithm made of them beside what passes through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain.numeric import Numeric
from anonymize.recoding import Released
from anonymize.recoding.columns import ReleasedColumn
from anonymize.recoding.typed import NumberColumns
from anonymize.request import Request
from anonymize.spec import Role, Spec
from anonymize.spec.model import WITHHELD
from anonymize.table import Attribute, Codes, Table
from anonymize.table.named import unnamed

SHUFFLED = 500_000
"""Rows of a piece of a shuffled release."""


def frames(
    request: Request, table: Table, released: Released, form: str, units: list[Codes] | None = None
) -> Iterator[pl.DataFrame]:
    """The release in pieces: the generalized columns beside what passes through, in the input's column order.

    `form`: the format that is written, in which a null may not mean what it means in the input. `units`: a list to
    which whom the rows of each piece are about is added, where the table knows it.
    """
    roles = request.spec.roles()
    null = null_text(request.spec, table.source.format, form)
    reading = ReleasedRows(released, roles, table.columns, null, NumberColumns.of(request.spec, form))
    withheld = {*WITHHELD, "quasi-identifier"}
    done = 0
    for batch in pieces(request, table, [name for name in table.columns if roles[name] not in withheld]):
        class_of = released.class_of[batch.rows]
        if units is not None and table.units is not None:
            units.append(table.units[batch.rows][class_of >= 0])
        yield reading.piece(batch.frame, class_of)
        done += batch.frame.height
        request.progress("write", done, table.rows)


@dataclass(frozen=True)
class ReleasedRows:
    """How rows read: the `columns` of the input, by their roles. `null`: what a null of a column that passes through is
    written as; None leaves it. `numbers`: the released columns that are written as numbers."""

    released: Released
    roles: Mapping[str, Role]
    columns: Sequence[str]
    null: str | None = None
    numbers: NumberColumns | None = None

    @cached_property
    def cells(self) -> dict[str, pl.Series]:
        """What each released column shows."""
        return {column.name: self._cells(column) for column in self.released.columns}

    def _cells(self, column: ReleasedColumn) -> pl.Series:
        numbers = None if self.numbers is None else self.numbers.column(column.name, column.texts)
        empty = self.null if self.null == "" else None
        return numbers if numbers is not None else pl.Series([text or empty for text in column.texts], dtype=pl.String)

    def piece(self, passing: pl.DataFrame, class_of: NDArray[np.int32]) -> pl.DataFrame:
        """Some rows: the columns that pass through, and the classes (rows,); rows of none are left out."""
        columns: list[pl.Series] = []
        for name in self.columns:
            if self.roles[name] == "quasi-identifier":
                released = self.released.columns_of(name)
                columns += [self.cells[c.name].gather(c.of_class[class_of]).alias(c.name) for c in released]
            elif self.roles[name] not in WITHHELD:
                columns.append(passing_column(passing[name], self.null))
        frame = pl.DataFrame(columns)
        return frame if not self.released.dropped_rows else frame.filter(pl.Series(class_of >= 0))


def null_text(spec: Spec, source: str, target: str) -> str | None:
    """What a null is written as, where it would not mean the same in the output as in the input; else None.

    In a typed file null is missing; in a CSV it is the empty text, which the spec may or may not take for missing.
    """
    missing = spec.missing(source)
    return None if missing.null == spec.missing(target).null else missing.null_text


def passing_column(column: pl.Series, null: str | None) -> pl.Series:
    """A column as it came, but for its nulls where they have to be a text."""
    return column if null is None else unnamed(column).cast(pl.String).fill_null(null).alias(column.name)


def cut_off(attribute: Attribute, column: pl.Series, rows: slice | NDArray[np.int64]) -> pl.Series:
    """Some rows of a quasi-identifier as they came, but for numbers at or beyond a bottom or top code, which read as
    that does."""
    domain = attribute.domain
    if not isinstance(domain, Numeric) or not (domain.lowest_open or domain.highest_open):
        return column
    ends = {0: domain.lowest_open, len(domain.values) - 1: domain.highest_open}
    texts = [text if ends.get(code) else None for code, text in enumerate(domain.leaf_text())]
    codes = pl.Series(texts, dtype=pl.String).gather(attribute.codes[rows].astype(np.int64))
    return pl.select(pl.coalesce(codes, column.cast(pl.String))).to_series().alias(column.name)


@dataclass(frozen=True)
class Piece:
    """Some rows of the input, by number, and their columns that pass through."""

    rows: slice | NDArray[np.int64]
    frame: pl.DataFrame


def pieces(
    request: Request, table: Table, passing: list[str], order: NDArray[np.int64] | None = None
) -> Iterator[Piece]:
    """The input's rows in order, or shuffled; a shuffle holds the columns that pass through in memory.

    `order` (rows,): the shuffle, where it has been drawn already.
    """
    done = 0
    batches = table.source.batches(passing)
    if request.spec.output.row_order == "keep":
        for frame in batches:
            yield Piece(slice(done, done + frame.height), frame)
            done += frame.height
        return
    whole = pl.concat(list(batches))
    order = row_order(request, table) if order is None else order
    assert order is not None
    for start in range(0, table.rows, SHUFFLED):
        rows = order[start : start + SHUFFLED]
        yield Piece(rows, whole[rows])


def row_order(request: Request, table: Table) -> NDArray[np.int64] | None:
    """(rows,) the rows in the order of a shuffled release; None where the input's order is kept."""
    if request.spec.output.row_order == "keep":
        return None
    return np.random.default_rng(request.seed).permutation(table.rows)
