"""Where the columns of a table are held: in memory, or in files where there is no room for them.

What there is room for is what `--memory-limit` says, and most of what the system has left; what a table takes is worked
out in `memory`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anonymize.errors import Problem, UsageError
from anonymize.table import memory
from anonymize.table.memory import MEGABYTE, PROGRAM, Footprint
from anonymize.table.scratch import Arrays, Scratch
from anonymize.table.source import Source


@dataclass(frozen=True)
class Room:
    """What there is room for. `in_files`: codes are held in files, and a search that can works part by part."""

    scratch: Scratch
    in_files: bool = False

    @classmethod
    def of(cls, source: Source, limit: int | None, scratch: Scratch) -> Room:
        """That for an input under a limit (bytes; None: what is free). Raises UsageError for a limit that is below what
        the release takes even with files, and MemoryShortage where less is free.

        Files are mapped: where addresses are limited, they take as much room as memory does.
        """
        footprint, free = source.footprint(len(source.columns)), memory.available()
        if limit is not None and limit < PROGRAM + footprint.in_files:
            raise UsageError(_too_low(source, limit, footprint))
        memory.check(footprint.whole, memory.mappable(), source.name)
        memory.check(footprint.in_files, free, source.name)
        return cls(scratch, in_files=not footprint.fits(limit, free))

    @property
    def arrays(self) -> Arrays:
        """What makes the arrays of codes."""
        return self.scratch.array if self.in_files else np.empty

    def tidy(self) -> None:
        """Gives back what is not needed for now."""
        self.scratch.let_go()
        memory.give_back()


def _too_low(source: Source, limit: int, footprint: Footprint) -> Problem:
    least = -(-(PROGRAM + footprint.in_files) // MEGABYTE)
    floor = f"{footprint.rows:,} rows of {len(source.columns)} columns take about {least:,} MB at the least"
    return Problem(f"--memory-limit: {limit // MEGABYTE:,} MB are too few", file=source.name, hint=floor)
