"""Columns by their names, those of a CSV as its first line has them; and problems that many columns have alike, as
one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import selectors

from anonymize.errors import DataError, Problem, UsageError
from anonymize.records import dataclass
from anonymize.spec.patterns import UNNAMED
from anonymize.table import scan

# --- columns by their names -------------------------------------------------------------------------------------------
# To polars a text is a pattern: `*` is every column, `^a.*$` all that begin with an a.


def column(name: str) -> pl.Expr:
    """The column of exactly this name.

    >>> pl.DataFrame({"a": [1], "^a$": [2], "*": [3]}).select(column("^a$"), column("*")).row(0)
    (2, 3)
    """
    return selectors.by_name(name).as_expr()


def unnamed(series: pl.Series) -> pl.Series:
    """The same values under no name: most methods of a series look it up by its name, which is a pattern there as well.

    >>> unnamed(pl.Series("*", ["a", None])).fill_null("b").to_list()
    ['a', 'b']
    """
    return series.alias("")


def cells_at(cells: pl.Series, places: NDArray[np.integer[Any]]) -> pl.Series:
    """The cells at some places, none of which is negative. Numbers of polars' own type for places are taken as they
    are, in half the time.

    >>> cells_at(pl.Series("*", ["a", None, "b"]), np.array([2, 1, 2])).to_list()
    ['b', None, 'b']
    """
    return cells.gather(pl.Series(places.astype(np.uint32, copy=False)))


def category_texts(categories: pl.Categories, count: int) -> pl.Series:
    """The first so many texts of categories, in the order of their codes: `to_series` asks for one after the other.

    >>> known = pl.Categories.random()
    >>> _ = pl.Series(["a", None, "*", "a"], dtype=pl.Categorical(known))
    >>> category_texts(known, 2).to_list()
    ['a', '*']
    """
    return pl.int_range(count, dtype=pl.UInt32, eager=True).cat.to(pl.Categorical(categories)).cast(pl.String)


# --- problems that columns have alike ---------------------------------------------------------------------------------
# A table of 171 columns is to have no 164 lines of errors.

COLUMNS_WITH_LINES = 3
"""So many columns have a line each."""


def grouped(problems: Iterable[tuple[str, Problem]]) -> list[Problem]:
    """Problems, each with the column that it is about. Of those that differ in the column and in numbers alone there is
    one where they are many: the first, with the names of the other columns.

    >>> alike = [(name, Problem(f"numeric column {name!r}: {ord(name)} values are not numbers")) for name in "abcd"]
    >>> [str(problem) for problem in grouped(alike)]
    ["numeric column 'a': 97 values are not numbers; the like in 3 more columns: b, c, d"]
    """
    alike: dict[tuple[str | None, str, str | None], list[tuple[str, Problem]]] = {}
    for name, problem in problems:
        message = re.sub(r"\d+( values are| value is| rows?)?", "#", problem.message.replace(repr(name), ""))
        alike.setdefault((problem.file, message, problem.hint), []).append((name, problem))
    merged: list[Problem] = []
    for rows_alike in alike.values():
        (_, first), *more = rows_alike
        if len(rows_alike) <= COLUMNS_WITH_LINES:
            merged += [problem for _, problem in rows_alike]
        else:
            names = ", ".join(name for name, _ in more)
            merged.append(replace(first, message=f"{first.message}; the like in {len(more)} more columns: {names}"))
    return merged


# --- the header of a CSV ----------------------------------------------------------------------------------------------
# R and pandas write the names of rows as a first column without a name (`write.csv`, `to_csv`), or with a header that
# is one shorter than the rows (`write.table`). That column is called `rownames` here.

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
        with scan.records(path, separator) as records:
            names = next((record.fields for record in records), [])
            rows = _first_rows(records)
            short = bool(names) and _have_row_names(rows, len(names))
    except scan.Malformed as malformed:
        raise DataError(Problem(f"the header: {malformed.message}", file=name, line=1)) from None
    if doubtful and looks_like_cells(names, rows):
        message = "the first line looks like the lines below it, not like names of columns"
        hint = "--no-header (input.header: false of a spec) where it is a row, --header (input.header: true) where not"
        raise UsageError(Problem(message, file=name, line=1, hint=hint))
    if not names:
        raise DataError(Problem("the first line is empty: it must name the columns", file=name, line=1))
    if any("\ufffd" in text or "\0" in text for text in names):
        scan.check_bytes(path, name)
    header = Header(named(["", *names] if short else names), short)
    if unnamed:
        header = Header([text or f"{UNNAMED}{number}" for number, text in enumerate(header.names, 1)], short)
    check_names(header.names, name, 1)
    return header


def numbered(path: Path, name: str, separator: str) -> Header:
    """Names in place of those that a CSV does not have: column_1, column_2, ... Raises DataError for a first line that
    cannot be read."""
    try:
        with scan.records(path, separator) as records:
            fields = next((record.fields for record in records), [])
    except scan.Malformed as malformed:
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


def _first_rows(records: scan.ExplainedRecords) -> list[list[str]]:
    """The fields of the first rows that have any; of a file that cannot be read on, those up to there."""
    rows = []
    with suppress(scan.Malformed):  # whoever reads that row says what is wrong with it
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


NUMERIC, HEADER_FEW = 0.8, 4
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
    judged = {_is_like(name.strip(), cells, counted) for name, cells in zip(names, columns, strict=True)}
    return True in judged and False not in judged


def _is_like(name: str, column: Sequence[str], counted: bool) -> bool | None:
    """Whether a field looks like those below it; None where that is not known. `counted`: numbers of the first line
    follow each other."""
    cells = [cell for cell in column if cell]
    if not name or len(cells) < 2:
        return None
    numbers = [cell for cell in cells if _NUMBER.fullmatch(cell)]
    if len(numbers) >= NUMERIC * len(cells):
        if not _NUMBER.fullmatch(name):
            return False
        if _is_year(name):
            return all(map(_is_year, numbers)) or None
        return None if counted else True
    if name in cells:
        return True
    forms = {_form(cell) for cell in cells}
    if all("9" in form for form in forms) and len(forms) <= max(len(cells) // HEADER_FEW, 1):
        return _form(name) in forms or (False if "9" not in _form(name) else None)
    return False if len(set(cells)) * HEADER_FEW <= len(cells) else None


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
