"""Files of SPSS and Stata, as pyreadstat reads and writes them; and the columns of texts, numbers and dates, which
are all that such packages and workbooks have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import time
from pathlib import Path
from typing import Any

import polars as pl

from anonymize.errors import DataError, Problem, WriteError
from anonymize.records import dataclass
from anonymize.table.files import CHUNK, write_all

# --- texts, numbers and dates -----------------------------------------------------------------------------------------
# Columns of texts, numbers and dates, which is all that workbooks and statistics packages have.

EXACT = 2**53
"""Whole numbers up to here are exact in a double, which is what these files hold."""


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with every column a text, a number, a date or a time: other types, and whole numbers that a double
    cannot hold, become their text."""
    return frame.select([_plain(column) for column in frame.iter_columns()])


def _plain(column: pl.Series) -> pl.Series:
    kind = column.dtype
    if kind.is_integer():
        exact = column.is_between(-EXACT, EXACT).all()
        return column.cast(pl.Int64) if exact else column.cast(pl.String)
    if kind.is_float():
        return column.cast(pl.Float64)
    naive = isinstance(kind, pl.Datetime) and kind.time_zone is None
    return column if naive or kind in (pl.String, pl.Date) else column.cast(pl.String)


def natural(frame: pl.DataFrame) -> pl.DataFrame:
    """The table as it was meant: doubles that are all whole are whole numbers, times that are all midnight are dates,
    and an empty text is null."""
    return frame.select([_natural(column) for column in frame.iter_columns()])


def _natural(column: pl.Series) -> pl.Series:
    kind = column.dtype
    if kind == pl.Null:
        return column.cast(pl.String)
    if kind == pl.String:
        return column.to_frame().select(pl.first().replace("", None)).to_series()
    if isinstance(kind, pl.Datetime) and column.len() > column.null_count():
        return column.cast(pl.Date) if (column.dt.time().drop_nulls() == time()).all() else column
    if kind.is_float():
        present = column.drop_nulls()
        whole = present.is_finite().all() and (present.abs() <= EXACT).all() and (present == present.floor()).all()
        return column.cast(pl.Int64) if whole else column.cast(pl.Float64)
    return column


HEAD = 1024
"""Bytes of a file that are looked through for the time of writing."""

# --- statistics -------------------------------------------------------------------------------------------------------
# What SPSS and Stata files have in common, as pyreadstat reads and writes them.
#
# A value with a label reads as its label, which is what a category means; a value without one as it is. Missing values
# of all kinds are null. Texts are written as texts. The time of writing, which both formats hold, is a fixed one.


def _labelled(column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    """The column with labels in place of values that have one; as it is where no value that occurs has one."""
    texts = _distinct(labels)
    if not texts or column.dtype.is_temporal():
        return column
    coded = pl.Series(list(texts), strict=False)
    if column.dtype == pl.String:
        values, coded = column, coded.cast(pl.String)
    elif coded.dtype.is_numeric():
        values, coded = column.cast(pl.Float64), coded.cast(pl.Float64)
    else:  # labels of Stata's missing values, .a to .z
        return column
    if not values.is_in(coded.implode()).any():
        return column
    of_cells = values.replace_strict(coded, list(texts.values()), default=None, return_dtype=pl.String)
    return pl.select(pl.coalesce(of_cells, column.cast(pl.String))).to_series().alias(column.name)


def _distinct(labels: Mapping[Any, str]) -> dict[Any, str]:
    """The labels by value; those that several values have, with the value behind."""
    texts = list(labels.values())
    return {value: text if texts.count(text) == 1 else f"{text} ({value:g})" for value, text in labels.items() if text}


def _check_room(path: Path) -> None:
    """Raises OSError where a file cannot grow, for which the library has no other words than for what it cannot
    write."""
    with open(path, "ab", buffering=0) as file:
        write_all(file, bytes(CHUNK))


def check_names(columns: list[str], name: str, form: str, longest: int) -> None:
    """Raises WriteError for columns whose names are none in this format: a letter first, then letters, digits and _."""
    wrong = [column for column in columns if not re.fullmatch(rf"[^\W\d_]\w{{0,{longest - 1}}}", column)]
    if wrong:
        rule = f"a .{form} file has names of letters, digits and _, a letter first, {longest} characters at most"
        hint = "rename the columns of the input, or write .parquet, .xlsx or .csv"
        named = ", ".join(wrong)
        raise WriteError(
            Problem(f"{name}: cannot be written: these are not valid column names: {named}; {rule}", hint=hint)
        )


@dataclass(frozen=True)
class StatisticsFile:
    """Files of the format `form`: names of columns have up to `longest` characters, and the time of writing in the head
    of a file is overwritten by `time`, where `place` finds it."""

    form: str
    longest: int
    time: bytes
    place: Callable[[bytes], int]

    def read(self, path: Path, name: str) -> pl.DataFrame:
        """The table. Raises DataError for a file that cannot be read."""
        import pyreadstat

        reader = getattr(pyreadstat, f"read_{self.form}")
        try:
            frame, meta = reader(str(path), output_format="polars", apply_value_formats=False)
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError):
            raise DataError(Problem(f"cannot be read as a file of the format {self.form}", file=name)) from None
        frame = natural(frame)
        labels: Mapping[str, Mapping[Any, str]] = meta.variable_value_labels
        return frame.select([_labelled(column, labels.get(column.name, {})) for column in frame.iter_columns()])

    def write(self, frame: pl.DataFrame, path: Path, name: str) -> None:
        """Writes a table. Raises WriteError for names that the format does not allow, and for what else it refuses."""
        import pyreadstat

        check_names(frame.columns, name, self.form, self.longest)
        texts = [each.fill_null("") if each.dtype == pl.String else each for each in plain(frame).iter_columns()]
        try:
            getattr(pyreadstat, f"write_{self.form}")(pl.DataFrame(texts), str(path))
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError):
            _check_room(path)
            message = f"{name}: cannot be written as a .{self.form} file"
            raise WriteError(Problem(message, hint="write .parquet or .csv")) from None
        with open(path, "r+b") as file:
            file.seek(self.place(file.read(HEAD)))
            file.write(self.time)


STATA = StatisticsFile(
    "dta",
    32,
    b"01 Jan 2000 00:00",
    lambda head: head.index(b"<timestamp>") + len(b"<timestamp>") + 1,  # behind a byte that says how long it is
)
SPSS = StatisticsFile(
    "sav",
    64,
    b"01 Jan 0000:00:00",
    lambda head: 4 + 60 + 5 * 4 + 8,  # behind the mark, the product, five numbers and a double
)
