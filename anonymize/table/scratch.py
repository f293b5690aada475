"""Arrays in files, for what a limit on memory leaves no room for, and where the columns of a table are kept, in
memory or in such files."""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from anonymize import files
from anonymize.errors import Problem, UsageError, WriteError
from anonymize.records import dataclass
from anonymize.table import memory
from anonymize.table.files import reason
from anonymize.table.memory import MEGABYTE, PROGRAM
from anonymize.table.source import Source

# --- scratch ----------------------------------------------------------------------------------------------------------
# A file has no name by the time it holds anything, so that nothing of it is left, not even by a process that is killed.
# Its space is taken before anything is written: a full disk is an error here, and not a signal in the middle of a copy.

Arrays: TypeAlias = Callable[[int, DTypeLike], NDArray[Any]]
"""(length, dtype) -> (length,) an array to be filled, in memory or in a file."""


def copied(array: NDArray[Any], arrays: Arrays) -> NDArray[Any]:
    """(n,) the same numbers where `arrays` are."""
    copy = arrays(len(array), array.dtype)
    copy[:] = array
    return copy


@dataclass(frozen=True)
class Scratch:
    """Files of mode 0600 in a folder, the system's own for temporary files where none is named."""

    folder: Path | None = None
    maps: weakref.WeakSet[mmap.mmap] = field(default_factory=weakref.WeakSet, repr=False)

    def check(self) -> None:
        """Raises UsageError where the folder is none, or may not be written to."""
        if self.folder is not None and not os.access(self.folder, os.W_OK | os.X_OK):
            raise UsageError(f"--tmp {self.folder}: is not a folder that can be written to")

    def array(self, length: int, dtype: DTypeLike) -> NDArray[Any]:
        """(length,) zeros in a file of their own, which is gone with the array. Raises WriteError where the folder has
        no room for it."""
        size = length * np.dtype(dtype).itemsize
        if not size:
            return np.zeros(length, dtype)
        place = self.folder or Path(tempfile.gettempdir())
        try:
            descriptor = _without_name(place)
            try:
                _reserve(descriptor, size)
                mapped = mmap.mmap(descriptor, size)
                self.maps.add(mapped)
                return np.frombuffer(mapped, dtype)
            finally:
                os.close(descriptor)
        except OSError as error:
            room = f"no room for {-(-size // 10**6):,} MB of temporary files" if error.errno == errno.ENOSPC else None
            raise WriteError(f"{place}: {room or f'temporary files cannot be written: {reason(error)}'}") from None

    def let_go(self) -> None:
        """Writes what the arrays hold to their files, and takes it out of memory until it is asked for again."""
        for mapped in self.maps:
            mapped.flush()
            if hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)


def _without_name(folder: Path) -> int:
    """The descriptor of an empty file that is in no folder."""
    descriptor = files.in_no_folder(folder)
    if descriptor is not None:
        return descriptor
    path = files.create("anonymize-", folder=folder)
    try:
        return os.open(path, os.O_RDWR)
    finally:
        files.remove(path)


def _reserve(descriptor: int, size: int) -> None:
    """Takes the space that a file will have."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    block = bytes(1 << 20)
    for start in range(0, size, len(block)):
        os.pwrite(descriptor, block[: size - start], start)


# --- where columns are kept -------------------------------------------------------------------------------------------
# What there is room for is what `--memory-limit` says, and most of what the system has left; what a table takes is
# worked out in `memory`.


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
            least = -(-(PROGRAM + footprint.in_files) // MEGABYTE)
            floor = f"{footprint.rows:,} rows of {len(source.columns)} columns take about {least:,} MB at the least"
            message = f"--memory-limit: {limit // MEGABYTE:,} MB are too few"
            raise UsageError(Problem(message, file=source.name, hint=floor))
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
