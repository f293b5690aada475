"""A table written as another one was read, so that it is read in the same way."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from anonymize.table.source import Source


def suffix_of(source: Source) -> str:
    """The suffix of what `write_like` writes."""
    return ".csv" if source.format == "csv" else ".arrow"


def write_like(frame: pl.DataFrame, source: Source, path: Path) -> None:
    """Writes a CSV with the source's separator where the source is one, of which a null is an empty field; else an
    Arrow file, with the frame's types. Raises OSError."""
    if source.format == "csv":
        frame.write_csv(path, separator=source.separator)
    else:
        frame.write_ipc(path, compression="uncompressed")
