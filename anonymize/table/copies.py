"""A table written as a release of another one is: `Spec.of_release` reads it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from anonymize import temporary
from anonymize.table.source import Source


@contextmanager
def copied(frame: pl.LazyFrame, source: Source) -> Iterator[Path]:
    """The path of a file that is in no folder, where the system allows it, as long as the block: a CSV with names and
    the source's separator where the source is one, of which a null is an empty field; else an Arrow file, with the
    frame's types. It is written piece by piece. Raises OSError."""
    is_csv = source.format == "csv"
    path = temporary.unnamed("anonymize-", ".csv" if is_csv else ".arrow")
    try:
        if is_csv:
            frame.sink_csv(path, separator=source.separator)
        else:
            frame.sink_ipc(path, compression="uncompressed")
        yield path
    finally:
        temporary.remove(path)
