"""A progress bar on standard error, where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from anonymize.cli.exits import on_interrupt, raise_interruption

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
        yield lambda stage, count, total: raise_interruption()
        return
    from anonymize.report.bar import bar

    with bar() as show:

        def moving(stage: str, count: int, total: int) -> None:
            raise_interruption()
            show(stage, count, total)

        yield moving


@contextmanager
def ending_searches(show: Show) -> Iterator[Show]:
    """The same function; from when it tells of the search until it tells of what follows, the first interrupt ends the
    search with the best so far, and not the command."""
    from anonymize.algorithms.deadline import interruptible

    with interruptible() as tell:

        def ending(stage: str, count: int, total: int) -> None:
            if (stage, count, total) == (SEARCH, 0, 0):
                on_interrupt(tell)
            elif stage not in WITHIN:
                on_interrupt(None)
            show(stage, count, total)

        try:
            yield ending
        finally:
            on_interrupt(None)
