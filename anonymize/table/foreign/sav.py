"""Files of SPSS (.sav)."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from anonymize.table.foreign.statistics import patch, read_with, write_with

_TIME = 4 + 60 + 5 * 4 + 8
"""Where the header has the date and time of writing: behind its mark, the product, five numbers and a double."""


def read(path: Path, name: str) -> pl.DataFrame:
    """The table. Raises DataError."""
    import pyreadstat

    return read_with(pyreadstat.read_sav, path, "sav", name)


def write(frame: pl.DataFrame, path: Path, name: str) -> None:
    """Writes a table. Raises WriteError."""
    import pyreadstat

    write_with(pyreadstat.write_sav, frame, path, name, "sav", 64)
    patch(path, _TIME, b"01 Jan 0000:00:00")
