"""Columns of texts, numbers and dates, which is all that workbooks and statistics packages have."""

from __future__ import annotations

from datetime import time

import polars as pl

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
