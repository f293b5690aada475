"""While a command works: a progress bar on standard error, checks that are made again whenever a file changes, and
commands that run on an engine."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from anonymize.cli import exits, options
from anonymize.errors import UsageError, refuse
from anonymize.places import is_uri, masked

# --- a bar, on a terminal ---------------------------------------------------------------------------------------------

SEARCH = "search"
WITHIN = frozenset({SEARCH, "refine", "bound"})
"""Stages of a search."""
Show = Callable[[str, int, int], None]


@contextmanager
def progress(quiet: bool) -> Iterator[Show]:
    """A function to call with (stage, rows done, rows in all), or with other units; it shows nothing off a terminal or
    when quiet.

    0 rows in all: not known yet. Called after a signal, it raises KeyboardInterrupt.
    """
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield lambda stage, count, total: exits.raise_interruption()
        return
    from anonymize.report.terminal import bar

    with bar() as show:

        def moving(stage: str, count: int, total: int) -> None:
            exits.raise_interruption()
            show(stage, count, total)

        yield moving


@contextmanager
def ending_searches(show: Show) -> Iterator[Show]:
    """Yields `show`; from when it shows the search until it shows what follows, the first interrupt ends the
    search with the best so far, and not the command."""
    from anonymize.algorithms.deadline import interruptible

    with interruptible() as tell:

        def ending(stage: str, count: int, total: int) -> None:
            if (stage, count, total) == (SEARCH, 0, 0):
                exits.on_interrupt(tell)
            elif stage not in WITHIN:
                exits.on_interrupt(None)
            show(stage, count, total)

        try:
            yield ending
        finally:
            exits.on_interrupt(None)


# --- whenever a file changes ------------------------------------------------------------------------------------------

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


# --- on an engine -----------------------------------------------------------------------------------------------------

ENGINE = (
    options.choice_option(
        "--engine",
        choices=["local", "spark"],
        default="local",
        help="Where the work runs: here; or on Spark, Spark Connect or Sail, from Parquet to a folder of Parquet.",
    ),
    click.option(
        "--master",
        help="The engine: sc://HOST:PORT, sail, or a master of Spark.  [default: SPARK_REMOTE, else Sail if installed]",
    ),
)
CHECKPOINT = (
    options.file_option(
        "--checkpoint",
        help="Folder that the engine's workers can write to. It is private.  [default: one of this machine]",
    ),
)


def check_engine(engine: str, **given: Any) -> None:
    """Raises UsageError for options that have no effect where the work runs: of an engine's elsewhere, and of the
    number of threads there."""
    spark = engine == "spark"
    reason = "has no effect with --engine spark" if spark else "goes with --engine spark"
    refuse({f"--{name}: {reason}": each is not None and (name == "threads") == spark for name, each in given.items()})


def engine_files() -> ModuleType:
    """The roads of an engine, from files to files. Raises UsageError where a library is not there that talks to one."""
    from anonymize.spark.engine import require

    require()
    from anonymize.spark import files

    return files
