"""Workbooks of Excel (.xlsx): the first sheet, whose first row names the columns.

Text cells are written as text whatever they look like, so that `02138` keeps its zero and nothing becomes a formula or
a link. The file names no author, and the time of its making is a fixed one.
"""

from __future__ import annotations

import datetime
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from anonymize import files
from anonymize.errors import DataError, Problem, WriteError
from anonymize.table.foreign.statistics import natural, plain
from anonymize.table.named import check_names, named

ROWS, COLUMNS = 1_048_576, 16_384
"""What a sheet can have, the row of names included."""
FIRST = datetime.date(1900, 3, 1)
"""Excel counts a 29th of February 1900: what is older than this is written as text."""
_MADE = datetime.datetime(2000, 1, 1)


def read(path: Path, name: str) -> pl.DataFrame:
    """The first sheet. Raises DataError for a file that is not a workbook, and for columns without a name or with the
    same."""
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


def write(frame: pl.DataFrame, path: Path, name: str) -> None:
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
