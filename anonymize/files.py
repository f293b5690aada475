"""Files of a run: their names where a release is more than one, how they are opened to be read, and temporary ones,
which are gone when the process ends, however early an interruption comes."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal, TypeAlias

from anonymize.errors import Problem

if TYPE_CHECKING:
    from io import BufferedReader
    from pathlib import Path


# --- names ------------------------------------------------------------------------------------------------------------
# The names of the files that a release consists of, where it is more than one; and names in a list of an option.

OutputFormat: TypeAlias = Literal["csv", "csv.gz", "parquet", "arrow", "xlsx", "sav", "dta"]
SUFFIXES: dict[str, OutputFormat] = {
    ".csv": "csv",
    ".csv.gz": "csv.gz",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "xlsx",
    ".sav": "sav",
    ".dta": "dta",
}
"""The format that each suffix of a table asks for."""
QIT, ST = ".qit", ".st"
MANIFEST = ".manifest.json"
"""What the name of a manifest ends with."""
FRAME = "<frame>"
"""What a table is called that was no file."""
_LISTED = re.compile(r'\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^,]*?))\s*(?:,|\Z)')


def parted(*texts: str) -> list[str]:
    """Names that are parted by commas, in one text or several. As in a CSV, a name may stand in quotes, and has to
    where it has a comma, or space around it; a quote in it is doubled then.

    >>> parted('age, "leaf, length (cm)"', 'stem = "x"')
    ['age', 'leaf, length (cm)', 'stem = "x"']
    """
    matches = [match for text in texts for match in _LISTED.finditer(text)]
    names = [each["plain"] if each["quoted"] is None else each["quoted"].replace('""', '"') for each in matches]
    return [name for name in names if name]


def as_listed(name: str) -> str:
    """The name as `parted` reads it."""
    return name if parted(name) == [name] else '"' + name.replace('"', '""') + '"'


def split(path: str) -> tuple[str, str]:
    """A path without the suffix of its format, and that suffix."""
    suffix = next((suffix for suffix in SUFFIXES if path.lower().endswith(suffix)), "")
    cut = len(path) - len(suffix)
    return path[:cut], path[cut:]


def parameters_beside(path: str) -> str:
    """The recipient's parameters of a release through channels: `released.csv` has `released.params.json`."""
    return split(path)[0] + ".params.json"


def manifest_beside(path: str) -> str:
    """The manifest of any other release: `released.csv` has `released.manifest.json`, and so has its QIT."""
    return split(path)[0].removesuffix(QIT) + MANIFEST


def manifest_of(path: str) -> str | None:
    """The file that says what the columns of a release mean, by its name, where there is such a file."""
    files = [] if path == "-" else [manifest_beside(path), parameters_beside(path)]
    return next((each for each in files if os.path.isfile(each)), None)


def warn_of_foreign(path: str, written: Iterable[str]) -> None:
    """Logs a warning of each file that is read as what the columns of a release mean, and is another one's: not among
    those that were `written` with it."""
    own = {os.path.realpath(each) for each in written}
    for each in (manifest_beside(path), parameters_beside(path)):
        if os.path.isfile(each) and os.path.realpath(each) not in own:
            import logging

            said = Problem(f"describes another release, and is read as if it were of {path}", each, hint="remove it")
            logging.getLogger("anonymize").warning("warning: %s", said)


def pair_of(path: str) -> tuple[str, str]:
    """The two files of a bucketized release: `released.csv` stands for `released.qit.csv` and `released.st.csv`."""
    stem, suffix = split(path)
    return f"{stem}{QIT}{suffix}", f"{stem}{ST}{suffix}"


def sensitive_table_of(path: str) -> str | None:
    """The ST of a QIT, by its name, where there is such a file."""
    stem, suffix = split(path)
    other = f"{stem.removesuffix(QIT)}{ST}{suffix}"
    return other if stem.endswith(QIT) and os.path.isfile(other) else None


# --- files that are opened --------------------------------------------------------------------------------------------
# Files as they are opened to be read: a pipe that keeps silent is said to be waited for, a device is no file, and a
# text that a person writes has a limit.

PATIENCE = 1.0
"""Seconds after which somebody is informed that a pipe is waited for."""
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


# --- temporary files --------------------------------------------------------------------------------------------------
# Temporary files that are gone when the process ends, however early an interruption comes.
#
# A name is noted before its file exists, so that there is no moment at which a file could be left behind by anything
# but the process being killed outright. What may hold raw cells is `unnamed`: where the system has it (Linux), the file
# is in no folder at any time, and goes with the process however that ends.
#
# A file of `create`, and a `folder`, is locked (`flock`) for as long as its process lives, and no longer, however that
# ends. So `clear_left` can tell what a process that was killed has left from what another one is writing: by the lock
# and not by the number of a process, which the next one may get and which says nothing of one on another machine or in
# a container.

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

PUBLISHED: set[Path] = set()
"""What has been given its place, and was not taken back: what is there if the command ends now."""


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
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:  # another process has taken it for one that was left
        raise FileExistsError from None


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


def sync(path: Path) -> None:
    """Waits until a file or a folder is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_own(path: str | Path) -> bool:
    """Whether a path is that of a file of `create` or `unnamed`, which nobody finds there later."""
    return str(path) in map(str, (*_OPEN, *_LIVE))


def remove_all() -> None:
    """Removes every file of `create` that is still there."""
    for path in tuple(_LIVE):
        remove(path)
