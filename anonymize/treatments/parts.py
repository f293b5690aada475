"""Rows by the part that they are in, and what methods say of rows that they could not change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anonymize.classes import Ints
from anonymize.errors import Caution, DataError, Problem, RowsError
from anonymize.table.wrong import placed
from anonymize.treatments.base import InputColumn


def members(parts: Ints) -> list[Ints]:
    """The rows of each part, in their order. `parts` (rows,): numbers of parts, all from 0 occurring."""
    if not len(parts):
        return []
    if not parts.any():
        return [np.arange(len(parts))]
    order = np.argsort(parts, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(parts[order])) + 1)


def unchanged(method: str, columns: str, count: int, reason: str) -> Caution:
    """Rows that are as they were, although the step is of them."""
    noun = "row stays as it is" if count == 1 else "rows stay as they are"
    text = f"{method} of {columns}: {count:,} {noun}: they {reason}"
    return Caution.of(text, "coarser parts (`by`), another method, or leaving them out before")


def equal_cells(method: str, column: InputColumn, donors: Ints) -> list[Caution]:
    """A warning where every row shows a cell equal to its own, such as in a constant column. `donors` (rows,): the row
    whose cell each row shows."""
    codes, present = column.kept.codes, ~column.missing
    if not present.any() or (codes != codes[donors]).any():
        return []
    return [unchanged(method, column.name, int(present.sum()), "got cells that are equal to their own")]


def wrong_rows(column: InputColumn, rows: Ints, text: str, hint: str | None = None) -> DataError:
    """Rows whose cells a method can do nothing with; the line of the first is looked up. `text`: what is wrong, behind
    the number of rows."""
    count = "1 row" if len(rows) == 1 else f"{len(rows):,} rows"
    error = RowsError(Problem(f"column {column.name!r}: {text} in {count}", hint=hint), int(rows[0]))
    return DataError([problem for _, problem in placed([(column.name, error)], column.source)])


def names_of(columns: Sequence[InputColumn]) -> str:
    """The columns, as a message has them."""
    return ", ".join(column.name for column in columns)
