"""The rows of a release, piece by piece: what an algorithm made of them beside what passes through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from anonymize.recoding import Released
from anonymize.request import Request
from anonymize.spec import Spec
from anonymize.spec.model import WITHHELD
from anonymize.table import Codes, Table

SHUFFLED = 500_000
"""Rows of a piece of a shuffled release."""


def frames(
    request: Request, table: Table, released: Released, form: str, units: list[Codes] | None = None
) -> Iterator[pl.DataFrame]:
    """The release in pieces: the generalized columns beside what passes through, in the input's column order.

    `form`: the format that is written, in which a null may not mean what it means in the input. `units`: a list to
    which whom the rows of each piece are about is added, where the table knows it.
    """
    null = _null_text(request.spec, table.source.format, form)
    empty = null if null == "" else None
    texts = {
        column.name: pl.Series([text or empty for text in column.texts], dtype=pl.String) for column in released.columns
    }
    roles = request.spec.roles()
    withheld = [name for name in table.columns if roles[name] in WITHHELD]
    passing = [name for name in table.columns if roles[name] != "quasi-identifier" and name not in withheld]
    done = 0
    for batch in _pieces(request, table, passing):
        class_of = released.class_of[batch.rows]
        columns: list[pl.Series] = []
        for name in table.columns:
            if roles[name] == "quasi-identifier":
                columns += [texts[c.name].gather(c.of_class[class_of]).alias(c.name) for c in released.columns_of(name)]
            elif name not in withheld:
                columns.append(_passing(batch.frame[name], null))
        frame, kept = pl.DataFrame(columns), class_of >= 0
        if units is not None and table.units is not None:
            units.append(table.units[batch.rows][kept])
        yield frame if not released.dropped_rows else frame.filter(pl.Series(kept))
        done += len(class_of)
        request.progress("write", done, table.rows)


def _null_text(spec: Spec, source: str, target: str) -> str | None:
    """What a null is written as, where it would not mean the same in the output as in the input; else None.

    In a typed file null is missing; in a CSV it is the empty text, which the spec may or may not take for missing.
    """
    if "" in spec.input.missing or (source == "csv") == target.startswith("csv"):
        return None
    return "" if source == "csv" else next(iter(spec.input.missing), "")


def _passing(column: pl.Series, null: str | None) -> pl.Series:
    """A column as it came, but for its nulls where they have to be a text."""
    return column if null is None else column.cast(pl.String).fill_null(null)


@dataclass(frozen=True)
class Piece:
    """Some rows of the input, by number, and their columns that pass through."""

    rows: slice | np.ndarray[Any, np.dtype[np.int64]]
    frame: pl.DataFrame


def _pieces(request: Request, table: Table, passing: list[str]) -> Iterator[Piece]:
    """The input's rows in order, or shuffled; a shuffle holds the columns that pass through in memory."""
    done = 0
    batches = table.source.batches(passing)
    if request.spec.output.row_order == "keep":
        for frame in batches:
            yield Piece(slice(done, done + frame.height), frame)
            done += frame.height
        return
    whole = pl.concat(list(batches))
    order = np.random.default_rng(request.seed).permutation(table.rows)
    for start in range(0, table.rows, SHUFFLED):
        rows = order[start : start + SHUFFLED]
        yield Piece(rows, whole[rows])
