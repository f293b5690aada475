"""The names of a CSV's columns, as its first line has them, and row names, which have none there.

R and pandas write the names of rows as a first column without a name (`write.csv`, `to_csv`), or with a header that is
one shorter than the rows (`write.table`). That column is called `rownames` here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from anonymize.errors import DataError, Problem, UsageError
from anonymize.spec.patterns import UNNAMED
from anonymize.table import explain

ROW_NAMES = "rownames"
LOOKED_AT = 100
"""So many rows tell whether a header is one shorter for the sake of row names."""


@dataclass(frozen=True)
class Header:
    """The names of the columns. `short`: the first line has none of the row names."""

    names: list[str]
    short: bool = False


def header_of(path: Path, name: str, separator: str, *, doubtful: bool = False, unnamed: bool = False) -> Header:
    """The header of a CSV that is not empty. `doubtful`: nobody has said that there is one. `unnamed`: columns without
    a name, but for the first, are called by their number, to be left out. Raises DataError for one
    that names no columns, UsageError for a doubtful one that looks like a row."""
    try:
        with explain.records(path, separator) as records:
            names = next((record.fields for record in records), [])
            rows = _first_rows(records)
            short = bool(names) and _have_row_names(rows, len(names))
    except explain.Malformed as malformed:
        raise DataError(Problem(f"the header: {malformed.message}", file=name, line=1)) from None
    if doubtful and looks_like_cells(names, rows):
        message = "the first line looks like the lines below it, not like names of columns"
        hint = "--no-header (input.header: false of a spec) where it is a row, --header (input.header: true) where not"
        raise UsageError(Problem(message, file=name, line=1, hint=hint))
    if not names:
        raise DataError(Problem("the first line is empty: it must name the columns", file=name, line=1))
    if any("\ufffd" in text or "\0" in text for text in names):
        explain.check_bytes(path, name)
    header = Header(named(["", *names] if short else names), short)
    if unnamed:
        header = Header([text or f"{UNNAMED}{number}" for number, text in enumerate(header.names, 1)], short)
    check_names(header.names, name, 1)
    return header


def numbered(path: Path, name: str, separator: str) -> Header:
    """Names in place of those that a CSV does not have: column_1, column_2, ... Raises DataError for a first line that
    cannot be read."""
    try:
        with explain.records(path, separator) as records:
            fields = next((record.fields for record in records), [])
    except explain.Malformed as malformed:
        raise DataError(Problem(malformed.message, file=name, line=1)) from None
    return Header([f"column_{number + 1}" for number in range(max(len(fields), 1))])


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
        unnamed = "; input.header: false is for a table without a line of names" if line is not None else ""
        if line is not None and not all(names):
            unnamed += "; `input: {unnamed: drop}` leaves such a column out, as where every line ends with a separator"
        hint = f"give each column a name of its own{unnamed}" if names else None
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


# --- a first line that is a row ---------------------------------------------------------------------------------------


NUMERIC, FEW = 0.8, 4
"""A column of so large a share of numbers is one of numbers; one in which every value stands so often is one of
categories, in the mean."""
YEARS = range(1500, 2101)
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?")
_YEAR = re.compile(r"[12][0-9]{3}")


def looks_like_cells(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the fields of the first line look like those of the rows below it: of some columns they do, and of none
    they do not. Numbers may be names where they are years, or follow each other (2019, 2020; 1, 2, 3)."""
    columns = [[row[place].strip() for row in rows if place < len(row)] for place in range(len(names))]
    counted = _in_sequence([name.strip() for name in names])
    judged = [_is_like(name.strip(), cells, counted) for name, cells in zip(names, columns, strict=True)]
    return True in judged and False not in judged


def _is_like(name: str, column: Sequence[str], counted: bool) -> bool | None:
    """Whether a field looks like those below it; None where that is not known. `counted`: numbers of the first line
    follow each other."""
    cells = [cell for cell in column if cell]
    if not name or len(cells) < 2:
        return None
    numbers = [cell for cell in cells if _NUMBER.fullmatch(cell)]
    if len(numbers) >= NUMERIC * len(cells):
        return _is_number_like(name, numbers, counted)
    if name in cells:
        return True
    forms = {_form(cell) for cell in cells}
    if all("9" in form for form in forms) and len(forms) <= max(len(cells) // FEW, 1):
        return _form(name) in forms or (False if "9" not in _form(name) else None)
    return False if len(set(cells)) * FEW <= len(cells) else None


def _is_number_like(name: str, numbers: Sequence[str], counted: bool) -> bool | None:
    if not _NUMBER.fullmatch(name):
        return False
    if _is_year(name):
        return all(map(_is_year, numbers)) or None
    return None if counted else True


def _is_year(text: str) -> bool:
    return _YEAR.fullmatch(text) is not None and int(text) in YEARS


def _in_sequence(names: Sequence[str]) -> bool:
    """Whether the whole numbers among the names are three or more, one after the other."""
    numbers = [int(name) for name in names if name.isdecimal()]
    return len(numbers) > 2 and numbers == [*range(numbers[0], numbers[0] + len(numbers))]


def _form(text: str) -> str:
    """The text with every digit as 9 and every letter as a; in one with other signs, runs of them as one."""
    form = "".join("9" if c.isdecimal() else "a" if c.isalpha() else c for c in text)
    return form if form.isalnum() else re.sub(r"(9|a)\1+", r"\1", form)
