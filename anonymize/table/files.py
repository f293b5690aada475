"""What reading and writing files have in common; and giving a finished file its name, by a step that cannot
overwrite a file which came meanwhile."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import polars as pl

from anonymize import files
from anonymize.errors import WriteError

CHUNK = 1 << 20


def chunks(file: BinaryIO) -> Iterator[bytes]:
    """The rest of a file in pieces of at most `CHUNK` bytes."""
    while chunk := file.read(CHUNK):
        yield chunk


def sha256_of(path: str | Path) -> str:
    """SHA-256 of a file. Raises OSError."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_all(file: BinaryIO, data: bytes) -> None:
    """Writes all of `data` to an unbuffered file, which may take less than it is given at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def reason(error: OSError) -> str:
    """What the operating system says, without paths."""
    return (error.strerror or "input/output error").lower()


_NUMBER = re.compile(r"\(os error (\d+)\)")
_KNOWN = [os.strerror(each) for each in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES)]


def reason_in(error: Exception) -> str | None:
    """What the operating system says that a library reports as a text of its own: by number, or word for word."""
    if isinstance(error, OSError) and error.strerror:
        return reason(error)
    number = _NUMBER.search(str(error))
    said = [os.strerror(int(number[1]))] if number else [each for each in _KNOWN if each in str(error)]
    return said[0].lower() if said else None


def spooled(write: Callable[[Path], object], suffix: str = "") -> Path:
    """A file that `write` fills, in no folder where the system allows it. Raises WriteError where there is no room."""
    try:
        path = files.unnamed("anonymize-", suffix)
        try:
            write(path)
        except BaseException:
            files.remove(path)
            raise
    except (OSError, pl.exceptions.PolarsError) as error:
        why = reason_in(error)
        if why is None:
            raise
        raise WriteError(f"the input cannot be copied to a temporary file: {why}") from None
    return path


# --- the name of a finished file --------------------------------------------------------------------------------------

_HERE, _NO_REPLACE = -100, 1  # AT_FDCWD and RENAME_NOREPLACE of Linux
_UNABLE = {errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK}
"""What a system says that does not know a step, or a file system on which it does not work."""


def place(source: Path, target: Path) -> None:
    """Renames a file. Raises FileExistsError where the target exists, even if it came a moment ago.

    A rename that does not replace is one step; a hard link is another name first, and then the end of the old one.
    Where a system has neither, a file can still come between the look and the step.
    """
    for step in (_rename, _link, _look_and_replace):
        try:
            step(source, target)
        except OSError as error:
            if error.errno not in _UNABLE or step is _look_and_replace:
                raise
        else:
            return


def _rename(source: Path, target: Path) -> None:
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None or rename(_HERE, os.fsencode(source), _HERE, os.fsencode(target), _NO_REPLACE):
        number = errno.ENOSYS if rename is None else ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _link(source: Path, target: Path) -> None:
    os.link(source, target)
    source.unlink()


def _look_and_replace(source: Path, target: Path) -> None:
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.replace(source, target)
