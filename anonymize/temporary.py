"""Temporary files that are gone when the process ends, however early an interruption comes.

A name is noted before its file exists, so that there is no moment at which a file could be left behind by anything but
the process being killed outright. What may hold raw cells is `unnamed`: where the system has it (Linux), the file is in
no folder at any time, and goes with the process however that ends.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # every start of the command imports this module, and few of them need the others
    from pathlib import Path

_LIVE: set[Path] = set()
_OPEN: dict[Path, int] = {}
"""Files without a name, by the path that opens them again, and their descriptors."""

_used = False


def create(prefix: str, suffix: str = "", folder: Path | None = None) -> Path:
    """An empty file of mode 0600 with a name that did not exist, in `folder` or in the system's one. Raises OSError."""
    import secrets
    import tempfile
    from pathlib import Path

    while True:
        path = Path(folder or tempfile.gettempdir()) / f"{prefix}{secrets.token_hex(6)}{suffix}"
        if path.exists():
            continue
        use()
        _LIVE.add(path)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            return path


def unnamed(prefix: str, suffix: str = "") -> Path:
    """An empty file of mode 0600 in the system's folder that has no name, as a path for this process alone; where the
    system cannot do that, one of `create`. Raises OSError."""
    import tempfile
    from pathlib import Path

    descriptor = in_no_folder(tempfile.gettempdir()) if os.path.isdir("/proc/self/fd") else None
    if descriptor is None:
        return create(prefix, suffix)
    path = Path(f"/proc/self/fd/{descriptor}")
    _OPEN[path] = descriptor
    return path


def in_no_folder(beside: str | Path) -> int | None:
    """The descriptor of an empty file of mode 0600 on the file system of a folder that is in no folder itself; None
    where the system has none such. Raises OSError for whatever else stands in the way."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None:
        return None
    try:
        return os.open(beside, flag | os.O_RDWR, 0o600)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
            raise
        return None


def use() -> None:
    """From here on there is something to tidy up: a temporary file, or a process."""
    global _used
    _used = True


def used() -> bool:
    """Whether there has been any temporary file, or a process that would outlive this one."""
    return _used


def remove(path: Path) -> None:
    """Removes a file of `create` or `unnamed`, if it is still there; what cannot be removed is left."""
    if path in _OPEN:
        os.close(_OPEN.pop(path))
        return
    with suppress(OSError):
        path.unlink(missing_ok=True)
    _LIVE.discard(path)


def is_own(path: str | Path) -> bool:
    """Whether a path is that of a file of `create` or `unnamed`, which nobody finds there later."""
    return str(path) in map(str, (*_OPEN, *_LIVE))


def remove_all() -> None:
    """Removes every file of `create` that is still there."""
    for path in tuple(_LIVE):
        remove(path)
