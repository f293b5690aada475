"""Files of other packages: workbooks of Excel, and files of SPSS and Stata as pyreadstat reads and writes them; and the
columns of texts, numbers and dates, which are all that these have."""

from __future__ import annotations

import datetime
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import time
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from anonymize import files
from anonymize.errors import DataError, Problem, WriteError
from anonymize.records import dataclass
from anonymize.table.files import CHUNK, write_all
from anonymize.table.named import check_names, named

# --- texts, numbers and dates -----------------------------------------------------------------------------------------

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


def check_variables(columns: list[str], name: str, form: str, longest: int) -> None:
    """Raises WriteError for columns whose names are none in this format: a letter first, then letters, digits and _."""
    wrong = [column for column in columns if not re.fullmatch(rf"[^\W\d_]\w{{0,{longest - 1}}}", column)]
    if wrong:
        rule = f"a .{form} file has names of letters, digits and _, a letter first, {longest} characters at most"
        message = f"these are not valid column names: {', '.join(wrong)}; {rule}"
        hint = "rename the columns of the input, or write .parquet, .xlsx or .csv"
        raise WriteError(Problem(f"{name}: cannot be written: {message}", hint=hint))


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

        check_variables(frame.columns, name, self.form, self.longest)
        texts = [each.fill_null("") if each.dtype == pl.String else each for each in plain(frame).iter_columns()]
        try:
            getattr(pyreadstat, f"write_{self.form}")(pl.DataFrame(texts), str(path))
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError):
            with open(path, "ab", buffering=0) as file:  # raises OSError where there is no room, which it does not tell
                write_all(file, bytes(CHUNK))
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


# --- Excel ------------------------------------------------------------------------------------------------------------

ROWS, COLUMNS = 1_048_576, 16_384
"""What a sheet can have, the row of names included."""
FIRST = datetime.date(1900, 3, 1)
"""Excel counts a 29th of February 1900: what is older than this is written as text."""
_MADE = datetime.datetime(2000, 1, 1)


@contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    """A file to be written. Where that fails, its rest goes nowhere: an archive writes its end when it is forgotten,
    which would fail again with nobody to tell."""
    file = open(path, "wb")  # noqa: SIM115 (closed by the archive, where that is not whole)
    try:
        yield file
        file.flush()
        file.close()
    except BaseException:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), file.fileno())
        raise


def _dated(column: pl.Series) -> pl.Series:
    old = column.dtype.is_temporal() and (column.dt.date() < FIRST).any()
    return column.cast(pl.String) if old else column


def _fill(book: Any, frame: pl.DataFrame) -> None:
    sheet = book.add_worksheet("data")
    writers = [_writer(book, sheet, kind) for kind in frame.dtypes]
    for place, name in enumerate(frame.columns):
        sheet.write_string(0, place, name)
    for number, cells in enumerate(frame.iter_rows(), 1):
        for place, cell in enumerate(cells):
            if cell is not None:
                writers[place](number, place, cell)


def _writer(book: Any, sheet: Any, kind: pl.DataType) -> Any:
    """What writes a cell of a column of this type: a text is never taken for a number, a formula or a link."""
    if kind == pl.String:
        return sheet.write_string
    if kind.is_temporal():
        form = book.add_format({"num_format": "yyyy-mm-dd" if kind == pl.Date else "yyyy-mm-dd hh:mm:ss.000"})
        return lambda row, column, cell: sheet.write_datetime(row, column, cell, form)
    return lambda row, column, cell: sheet.write_number(row, column, cell) if cell - cell == 0 else None


class Workbook:
    """Workbooks of Excel (.xlsx): the first sheet, whose first row names the columns.

    Text cells are written as text whatever they look like, so that `02138` keeps its zero and nothing becomes a formula
    or a link. The file names no author, and the time of its making is a fixed one.
    """

    def read(self, path: Path, name: str) -> pl.DataFrame:
        """The first sheet. Raises DataError for a file that is not a workbook, and for columns without a name or with
        the same."""
        import fastexcel

        logging.getLogger("fastexcel").setLevel(logging.ERROR)  # it warns of columns without values

        try:
            book = fastexcel.read_excel(path.read_bytes())
            head = book.load_sheet(0, header_row=None, n_rows=1, dtypes="string").to_polars()
            names = named([text or "" for text in head.row(0)] if head.height else [])
            check_names(names, name)
            sheet = book.load_sheet(0, header_row=0, schema_sample_rows=None, whitespace_as_null=False).to_polars()
        except fastexcel.FastExcelError:
            raise DataError(Problem("cannot be read as a file of the format xlsx", file=name)) from None
        sheet.columns = names
        return natural(sheet)

    def write(self, frame: pl.DataFrame, path: Path, name: str) -> None:
        """Writes a workbook of one sheet. Raises WriteError for a table that is too large for one."""
        import xlsxwriter
        from xlsxwriter.exceptions import FileCreateError

        if frame.height >= ROWS or frame.width > COLUMNS:
            limit = f"a sheet of an .xlsx file has at most {ROWS - 1:,} rows and {COLUMNS:,} columns"
            raise WriteError(Problem(f"{name}: cannot be written: {limit}", hint="write .parquet, .arrow or .csv"))
        frame = plain(frame).select([_dated(column) for column in plain(frame).iter_columns()])
        with files.folder() as folder, _whole(path) as file:
            settings = {"constant_memory": True, "tmpdir": str(folder), "default_date_format": "yyyy-mm-dd"}
            book = xlsxwriter.Workbook(file, settings)
            book.set_properties({"created": _MADE, "author": "", "comments": ""})
            _fill(book, frame)
            try:
                book.close()
            except FileCreateError as error:
                raise error.args[0] from None  # what the operating system says


EXCEL = Workbook()
