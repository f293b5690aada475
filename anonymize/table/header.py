"""The names of a CSV's columns, as its first line has them, and row names, which have none there.

R and pandas write the names of rows as a first column without a name (`write.csv`, `to_csv`), or with a header that is
one shorter than the rows (`write.table`). That column is called `rownames` here.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from anonymize.errors import DataError, Problem
from anonymize.table import explain

ROW_NAMES = "rownames"
LOOKED_AT = 100
"""So many rows tell whether a header is one shorter for the sake of row names."""


@dataclass(frozen=True)
class Header:
    """The names of the columns. `short`: the first line has none of the row names."""

    names: list[str]
    short: bool = False


def header_of(path: Path, name: str, separator: str) -> Header:
    """The header of a CSV that is not empty. Raises DataError for one that names no columns."""
    try:
        with explain.records(path, separator) as records:
            names = next((record.fields for record in records), [])
            short = bool(names) and _have_row_names(_first_rows(records), len(names))
    except explain.Malformed as malformed:
        raise DataError(Problem(f"the header: {malformed.message}", file=name, line=1)) from None
    if not names:
        raise DataError(Problem("the first line is empty: it must name the columns", file=name, line=1))
    if any("\ufffd" in text or "\0" in text for text in names):
        explain.check_bytes(path, name)
    header = Header(named(["", *names] if short else names), short)
    check_names(header.names, name, 1)
    return header


def named(names: Sequence[str]) -> list[str]:
    """The names of several columns, of which the first has one in any case.

    >>> named(["", "age"]), named(["age", ""]), named([""])
    (['rownames', 'age'], ['age', ''], [''])
    """
    if len(names) < 2 or names[0]:
        return list(names)
    row_names = ROW_NAMES
    while row_names in names:
        row_names = f"{row_names}_"
    return [row_names, *names[1:]]


def check_names(names: Sequence[str], name: str, line: int | None = None) -> None:
    """Raises DataError for columns without a name, or with that of another. `line`: where they stand."""
    wrong = [f"column {number} has no name" for number, text in enumerate(names, 1) if not text]
    wrong += [
        f"columns {names.index(text) + 1} and {number} have the same name"
        for number, text in enumerate(names, 1)
        if text and names.index(text) + 1 < number
    ]
    if not names:
        wrong = ["has no columns"]
    if wrong:
        hint = "give each column a name of its own" if names else None
        raise DataError([Problem(message, file=name, line=line, hint=hint) for message in wrong])


def _first_rows(records: explain.Records) -> list[list[str]]:
    """The fields of the first rows that have any; of a file that cannot be read on, those up to there."""
    rows = []
    with suppress(explain.Malformed):  # whoever reads that row says what is wrong with it
        for record in islice(records, LOOKED_AT):
            rows += [record.fields] if record.fields else []
    return rows


def _have_row_names(rows: Sequence[Sequence[str]], fields: int) -> bool:
    """Whether each of the rows has a field more than the header, and the first ones are names: all there, no two alike.

    Where every row ends with a separator it is not the first field that has no name. One row by itself tells nothing.
    """
    if len(rows) < 2 or any(len(row) != fields + 1 for row in rows):
        return False
    first = {row[0].strip() for row in rows}
    return len(first) == len(rows) and "" not in first and any(row[-1] for row in rows)
