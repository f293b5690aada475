"""A few rows of a release, and the labels that its columns show most often: the block `sample`.

A report has no value of the input, and what a release shows may be one: a number, an end of an interval, a category as
it was, whatever passes through. Such a cell is null here unless values may be shown; nodes above the leaves of a
hierarchy, and suppressed cells, are none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from anonymize.classes import Bools
from anonymize.domain.cells import CellKind, cells_of
from anonymize.spec import Spec
from anonymize.table.named import column, unnamed

ROWS = 10
LABELS = 5
LOOKED_AT = 100_000
"""Rows of a release that are looked at: its first ones."""


def sample(
    text: pl.LazyFrame, spec: Spec, leaves: Mapping[str, Collection[str]], *, values: bool = False
) -> tuple[dict[str, Any], Sequence[int]]:
    """The block, and the places in the release of the rows that it has: `columns`, `rows` at equal distances, and
    `labels`, the most frequent ones of each quasi-identifier with the rows that show them; nothing where all of it
    would be values. `leaves`: of categories, the texts of the leaves of their hierarchies.
    `values`: values may be shown."""
    looked = text.head(LOOKED_AT).with_columns(pl.all().cast(pl.String).fill_null("")).collect(engine="streaming")
    step = max(looked.height // ROWS, 1)
    open_cells = {name: _without_values(looked[name], name, spec, leaves.get(name)) | values for name in looked.columns}
    if not any(each.any() for each in open_cells.values()):
        return {}, []
    places = list(range(0, looked.height, step))[:ROWS]
    cells = {name: [_cell(looked[name], open_cells[name], place) for place in places] for name in looked.columns}
    labels = {
        name: _frequent(looked[name].filter(pl.Series(open_cells[name])))
        for name in looked.columns
        if name in spec.quasi_identifiers
    }
    rows = [list(row) for row in zip(*cells.values(), strict=True)]
    return {"columns": looked.columns, "rows": rows, "looked_at": looked.height, "labels": labels}, places


def originals(table: pl.LazyFrame, names: Sequence[str], rows: Sequence[int]) -> dict[str, Any]:
    """The same rows of the original, as far as it has these columns."""
    present = [name for name in table.collect_schema().names() if name in names]
    indexed = table.select(column(name).cast(pl.String).fill_null("") for name in present).with_row_index("\0row")
    wanted = indexed.filter(pl.col("\0row").is_in(list(rows))).collect(engine="streaming")
    by_row = {row[0]: list(row[1:]) for row in wanted.iter_rows()}
    return {"columns": present, "rows": [by_row[row] for row in rows if row in by_row]}


def _cell(texts: pl.Series, open_cells: Bools, place: int) -> str | None:
    return str(texts[place]) if open_cells[place] else None


def _frequent(texts: pl.Series) -> list[list[str | int]]:
    """The most frequent texts, with their rows; of equally frequent ones the first by code point."""
    counts = texts.alias("text").value_counts(name="rows").sort("rows", "text", descending=[True, False]).head(LABELS)
    return [[text, rows] for text, rows in counts.iter_rows()]


def _without_values(texts: pl.Series, name: str, spec: Spec, leaves: Collection[str] | None) -> Bools:
    """(n,) which cells of a column are no values of the input."""
    definition = spec.quasi_identifiers.get(name)
    if definition is None:
        return np.zeros(len(texts), np.bool_)
    texts = unnamed(texts)
    different = texts.unique()
    cells = cells_of(spec, different, different, numeric=definition.type == "numeric")
    own = cells.of_kind(CellKind.SUPPRESSED, CellKind.MISSING)
    if leaves is not None:
        own |= cells.of_kind(CellKind.LABEL) & ~different.is_in(list(leaves)).to_numpy()
    return texts.is_in(different.filter(pl.Series(own)).implode()).to_numpy()
