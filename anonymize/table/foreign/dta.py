"""Files of Stata (.dta)."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from anonymize.table.foreign.statistics import patch, read_with, write_with

_MARK = b"<timestamp>"
_TIME = b"01 Jan 2000 00:00"


def read(path: Path, name: str) -> pl.DataFrame:
    """The table. Raises DataError."""
    import pyreadstat

    return read_with(pyreadstat.read_dta, path, "dta", name)


def write(frame: pl.DataFrame, path: Path, name: str) -> None:
    """Writes a table. Raises WriteError."""
    import pyreadstat

    write_with(pyreadstat.write_dta, frame, path, name, "dta", 32)
    with open(path, "rb") as file:
        head = file.read(1024)
    patch(path, head.index(_MARK) + len(_MARK) + 1, _TIME)  # behind a byte that says how long it is
