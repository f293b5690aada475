"""Giving a finished file its name, by a step that cannot overwrite a file which came meanwhile."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

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
    if rename is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if rename(_HERE, os.fsencode(source), _HERE, os.fsencode(target), _NO_REPLACE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _link(source: Path, target: Path) -> None:
    os.link(source, target)
    source.unlink()


def _look_and_replace(source: Path, target: Path) -> None:
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.replace(source, target)
