"""Files as they are opened to be read: a pipe that keeps silent is said to be waited for, a device is no file, and a
text that a person writes has a limit.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anonymize.errors import Problem

if TYPE_CHECKING:  # every start of the command imports this module
    from io import BufferedReader

PATIENCE = 1.0
"""Seconds after which somebody is told that a pipe is waited for."""
STANDARD_INPUT = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
"""Names of the one terminal that may be read."""


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BufferedReader]:
    """A file that has something to read, or has ended. Raises OSError, for devices as well, which have no end."""
    mode = os.stat(path).st_mode
    if (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and os.fspath(path) not in STANDARD_INPUT:
        raise OSError(errno.ENODEV, "it is a device, and no file")
    if not stat.S_ISFIFO(mode):
        with open(path, "rb") as file:
            yield file
        return
    with _said_to_wait(path):
        file = open(path, "rb")  # noqa: SIM115 (it waits for a writer, and is closed below)
        file.peek(1)
    with file:
        yield file


@contextmanager
def _said_to_wait(path: str | os.PathLike[str]) -> Iterator[None]:
    """Tells whoever reads the log, which is standard error unless a program set up another, where the block takes its
    time."""
    import logging
    from threading import Timer

    message = Problem("is a pipe, and nobody has written to it yet: waiting", file=os.fspath(path))
    timer = Timer(PATIENCE, logging.getLogger("anonymize").warning, ["%s", message])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def content_of(path: str | os.PathLike[str], most: int) -> bytes:
    """The whole of a file that has at most so many bytes. Raises OSError, for one that has more as well."""
    with opened(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes, the most that is read of such a file")
    return content
