"""Temporary files that are gone when the process ends, however early an interruption comes.

A name is noted before its file exists, so that there is no moment at which a file could be left behind by anything but
the process being killed outright.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

_LIVE: set[Path] = set()


def create(prefix: str, suffix: str = "", folder: Path | None = None) -> Path:
    """An empty file of mode 0600 with a name that did not exist, in `folder` or in the system's one. Raises OSError."""
    while True:
        path = Path(folder or tempfile.gettempdir()) / f"{prefix}{secrets.token_hex(6)}{suffix}"
        if path.exists():
            continue
        _LIVE.add(path)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            return path


def remove(path: Path) -> None:
    """Removes a file of `create`, if it is still there; what cannot be removed is left."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
    _LIVE.discard(path)


def remove_all() -> None:
    """Removes every file of `create` that is still there."""
    for path in tuple(_LIVE):
        remove(path)
