"""What reading and writing files have in common."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

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
