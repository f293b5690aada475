"""Checks that are made again whenever a file changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from anonymize.errors import UsageError
from anonymize.places import is_uri, masked

PAUSE = 0.5
"""Seconds between two looks at the files."""


def watch(check: Callable[[], None], paths: Iterable[str]) -> None:
    """Checks now, and whenever one of the files has changed, or a CSV or YAML file in the folder of a spec; until it is
    interrupted. Raises UsageError for a table of a database, which nobody can watch."""
    paths, before = list(paths), None
    if watched := [masked(path) for path in paths if is_uri(path)]:
        raise UsageError([f"{each}: --watch takes files, and this is none" for each in watched])
    while True:
        if (now := _changes(paths)) != before:
            check()
            before = now
        time.sleep(PAUSE)


def _changes(paths: Iterable[str]) -> list[tuple[str, int]]:
    """When each file was changed last, in ns, and each CSV or YAML file in the folder of a spec."""
    files = {Path(path) for path in paths}
    for spec in [path for path in files if path.suffix in (".yaml", ".yml")]:
        files |= {path for path in spec.parent.iterdir() if path.suffix in (".csv", ".yaml", ".yml")}
    return sorted((str(path), path.stat().st_mtime_ns) for path in files if path.exists())
