"""A progress bar on standard error, where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from anonymize.cli.exits import on_interrupt, raise_interruption

UNITS = {"refine": "passes", "bound": "bound, cost"}
"""What is counted by the stages that do not count rows."""
SEARCH = "search"
WITHIN = frozenset({SEARCH, *UNITS})
"""Stages of a search."""
Show = Callable[[str, int, int], None]
BESIDE = frozenset({"bound"})
"""Stages that go on beside the one before them."""


@contextmanager
def progress(quiet: bool) -> Iterator[Show]:
    """A function to call with (stage, rows done, rows in all), or with other UNITS; it shows nothing off a terminal or
    when quiet.

    0 rows in all: not known yet. Called after a signal, it raises KeyboardInterrupt. Where a search is interrupted that
    has a bound and a cost, both are left on the terminal with the gap between them.
    """
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield lambda stage, count, total: raise_interruption()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    from anonymize.report.terminal import console

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(sys.stderr), transient=True) as bar:
        tasks: dict[str, TaskID] = {}
        reached: list[tuple[int, int]] = []

        def show(stage: str, count: int, total: int) -> None:
            raise_interruption()
            if stage not in tasks:
                for before in () if stage in BESIDE else tasks.values():
                    bar.update(before, visible=False)
                tasks[stage] = bar.add_task(stage, total=None, unit=UNITS.get(stage, "rows"))
            bar.update(tasks[stage], completed=count, total=total or None)
            if stage in BESIDE:
                reached[:] = [(count, total)]

        try:
            yield show
        except KeyboardInterrupt:
            for bound, cost in reached:
                bar.console.print(_best_so_far(bound, cost), highlight=False)
            raise


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


def _best_so_far(bound: int, cost: int) -> str:
    """What an interrupted search had found."""
    gap = (cost - bound) / cost if cost else 0.0
    return f"best so far: cost {cost}, lower bound {bound}, gap {gap:.1%}; it is not written"
