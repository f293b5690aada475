"""Arrays in files, for what a limit on memory leaves no room for.

A file has no name by the time it holds anything, so that nothing of it is left, not even by a process that is killed.
Its space is taken before anything is written: a full disk is an error here, and not a signal in the middle of a copy.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from anonymize import temporary
from anonymize.errors import UsageError, WriteError
from anonymize.table.files import reason

Arrays: TypeAlias = Callable[[int, DTypeLike], NDArray[Any]]
"""(length, dtype) -> (length,) an array to be filled, in memory or in a file."""


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
    descriptor = temporary.in_no_folder(folder)
    if descriptor is not None:
        return descriptor
    path = temporary.create("anonymize-", folder=folder)
    try:
        return os.open(path, os.O_RDWR)
    finally:
        temporary.remove(path)


def _reserve(descriptor: int, size: int) -> None:
    """Takes the space that a file will have."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    block = bytes(1 << 20)
    for start in range(0, size, len(block)):
        os.pwrite(descriptor, block[: size - start], start)
