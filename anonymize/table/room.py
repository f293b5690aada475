"""Where the columns of a table are held: in memory, or in files where a limit on memory leaves no room for them.

What a release takes was measured: of 10 million rows, with six quasi-identifiers and five columns that pass through,
1,138 MB in memory and 971 MB with codes and classes of rows in files. The figures are rough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anonymize.errors import Problem, UsageError
from anonymize.table.memory import give_back, rows_of
from anonymize.table.scratch import Arrays, Scratch
from anonymize.table.source import Source

MEGABYTE = 10**6
FIXED = 300 * MEGABYTE
"""The program, and the text of the batches that are in memory at once."""
PER_ROW, PER_CELL = 36, 5
"""Bytes of a row, and of each of its columns, where everything is in memory;"""
PER_ROW_IN_FILES, PER_CELL_IN_FILES = 26, 4
"""and where the codes are in files, and classes are made part by part."""


@dataclass(frozen=True)
class Room:
    """What a limit leaves. `in_files`: codes are held in files, and a search that can works part by part."""

    scratch: Scratch
    in_files: bool = False

    @classmethod
    def of(cls, source: Source, limit: int | None, scratch: Scratch) -> Room:
        """That for an input under a limit (bytes; None: there is none). Raises UsageError for a limit that is below
        what the release takes even so."""
        if limit is None:
            return cls(scratch)
        rows, columns = rows_of(source.path, source.format), len(source.columns)
        least = FIXED + rows * (PER_ROW_IN_FILES + PER_CELL_IN_FILES * columns)
        if limit < least:
            message = f"--memory-limit: {limit // MEGABYTE:,} MB are too few"
            floor = f"{rows:,} rows of {columns} columns take about {-(-least // MEGABYTE):,} MB at the least"
            raise UsageError(Problem(message, file=source.name, hint=floor))
        return cls(scratch, in_files=limit < FIXED + rows * (PER_ROW + PER_CELL * columns))

    @property
    def arrays(self) -> Arrays:
        """What makes the arrays of codes."""
        return self.scratch.array if self.in_files else np.empty

    def tidy(self) -> None:
        """Gives back what is not needed for now."""
        self.scratch.let_go()
        give_back()
