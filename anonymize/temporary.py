"""Temporary files that are gone when the process ends, however early an interruption comes.

A name is noted before its file exists, so that there is no moment at which a file could be left behind by anything but
the process being killed outright. What may hold raw cells is `unnamed`: where the system has it (Linux), the file is in
no folder at any time, and goes with the process however that ends.

A file of `create`, and a `folder`, is locked (`flock`) for as long as its process lives, and no longer, however that
ends. So `clear_left` can tell what a process that was killed has left from what another one is writing: by the lock and
not by the number of a process, which the next one may get and which says nothing of one on another machine or in a
container.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # every start of the command imports this module, and few of them need the others
    from pathlib import Path

_RANDOM = 6
"""Random bytes in the name of a file, which are twice as many hexadecimal digits."""

_LIVE: dict[Path, int] = {}
"""Files of `create`, and the descriptors that hold their locks; `_NONE` for one that is not there yet."""
_NONE = -1
_PREFIX, _SUFFIX = "anonymize-", ".d"
"""What the names of folders begin and end with."""
_OPEN: dict[Path, int] = {}
"""Files without a name, by the path that opens them again, and their descriptors."""

_used = False


def create(
    prefix: str, suffix: str = "", folder: Path | None = None, make: Callable[[Path], int] | None = None
) -> Path:
    """An empty file of mode 0600 with a name that did not exist, in `folder` or in the system's one. Raises OSError.

    `make`: makes it, or something else that can be locked, and returns its descriptor."""
    import secrets
    import tempfile
    from pathlib import Path

    while True:
        path = Path(folder or tempfile.gettempdir()) / f"{prefix}{secrets.token_hex(_RANDOM)}{suffix}"
        if path.exists():
            continue
        use()
        _LIVE[path] = _NONE
        try:
            _LIVE[path] = (make or _file)(path)
        except FileExistsError:
            del _LIVE[path]
            continue
        if _is_kept(_LIVE[path]):
            return path
        remove(path)


def _file(path: Path) -> int:
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)


def _folder(path: Path) -> int:
    os.mkdir(path, 0o700)
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)


@contextmanager
def folder(inside: Path | None = None) -> Iterator[Path]:
    """A folder of mode 0700, in another one or the system's, that is gone with the block; first those go that processes
    have left there which were killed since. Raises OSError."""
    import tempfile
    from pathlib import Path

    clear_left(_PREFIX, _SUFFIX, inside or Path(tempfile.gettempdir()), folders=True)
    path = create(_PREFIX, _SUFFIX, inside, _folder)
    try:
        yield path
    finally:
        remove(path)


def clear_left(prefix: str, suffix: str, folder: Path, *, folders: bool = False) -> None:
    """Removes what `create` made with the same prefix and suffix in a folder, in a process that was killed since.

    Only the user's own plain files, which have no second name, or `folders`, which no process holds. What cannot be
    looked at or removed is left.
    """
    with suppress(OSError):
        for name in os.listdir(folder):
            digits = name[len(prefix) : len(name) - len(suffix)]
            random = len(digits) == 2 * _RANDOM and not set(digits) - set("0123456789abcdef")
            if random and name == f"{prefix}{digits}{suffix}":
                with suppress(OSError):
                    _remove_left(os.path.join(folder, name), folders=folders)


def _remove_left(path: str, *, folders: bool) -> None:
    """Removes a file, or one of `folders` with all that is in it, that nobody holds. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
        if (stat.S_ISDIR(status.st_mode) if folders else plain) and status.st_uid == os.geteuid() and _lock(descriptor):
            _remove_folder(path) if folders else os.unlink(path)
    finally:
        os.close(descriptor)


def _remove_folder(path: str | Path) -> None:
    import shutil

    shutil.rmtree(path, ignore_errors=True)


def _is_kept(descriptor: int) -> bool:
    """Locks a new file; whether it is still there. Before it was locked, another process may have taken it for one that
    was left."""
    try:
        return not _lock(descriptor) or os.fstat(descriptor).st_nlink > 0
    except BlockingIOError:
        return False


def _lock(descriptor: int) -> bool:
    """Takes the lock of a file, which is freed with the descriptor; whether there are such locks, without which nothing
    is ever cleared. Raises BlockingIOError where another has it."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except (ImportError, OSError):
        return False
    return True


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
    """Removes a file of `create` or `unnamed`, or a folder, if it is still there; what cannot be removed is left."""
    if path in _OPEN:
        os.close(_OPEN.pop(path))
        return
    with suppress(OSError):
        _remove_folder(path) if path.is_dir() else path.unlink(missing_ok=True)
    descriptor = _LIVE.pop(path, _NONE)
    if descriptor != _NONE:
        os.close(descriptor)


def is_own(path: str | Path) -> bool:
    """Whether a path is that of a file of `create` or `unnamed`, which nobody finds there later."""
    return str(path) in map(str, (*_OPEN, *_LIVE))


def remove_all() -> None:
    """Removes every file of `create` that is still there."""
    for path in tuple(_LIVE):
        remove(path)
