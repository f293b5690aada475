"""How far a run has come: a bar on standard error, where somebody sees it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TypeAlias

from anonymize.report.terminal import console

UNITS = {"refine": "passes", "bound": "bound, cost", "compare": "releases"}
"""What is counted by the stages that do not count rows."""
Show: TypeAlias = Callable[[str, int, int], None]
"""Called with a stage, and rows done and rows in all, or other UNITS; 0 in all: not known yet."""
Following: TypeAlias = bool | Show | None
"""What Python users give for `progress`."""
BESIDE = frozenset({"bound"})
"""Stages that go on beside the one before them."""


@contextmanager
def following(progress: Following) -> Iterator[Show]:
    """What a run is to call: the user's own function; a bar for True; for None where standard error is a terminal or a
    notebook that can show one; else what says nothing."""
    if callable(progress):
        yield progress
    elif progress or (progress is None and _visible()):
        with bar() as show:
            yield show
    else:
        yield lambda stage, count, total: None


def _visible() -> bool:
    if sys.stderr is None:
        return False
    return sys.stderr.isatty() or (console(sys.stderr).is_jupyter and find_spec("ipywidgets") is not None)


@contextmanager
def bar() -> Iterator[Show]:
    """A function that moves a bar. Where a search is interrupted that has a bound and a cost, both are left behind with
    the gap between them."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(sys.stderr), transient=True) as lines:
        tasks: dict[str, TaskID] = {}
        reached: list[tuple[int, int]] = []

        def show(stage: str, count: int, total: int) -> None:
            if stage not in tasks:
                for before in () if stage in BESIDE else tasks.values():
                    lines.update(before, visible=False)
                tasks[stage] = lines.add_task(stage, total=None, unit=UNITS.get(stage, "rows"))
            lines.update(tasks[stage], completed=count, total=total or None)
            if stage in BESIDE:
                reached[:] = [(count, total)]

        try:
            yield show
        except KeyboardInterrupt:
            for bound, cost in reached:
                lines.console.print(_best_so_far(bound, cost), highlight=False)
            raise


def _best_so_far(bound: int, cost: int) -> str:
    """What an interrupted search had found."""
    gap = (cost - bound) / cost if cost else 0.0
    return f"best so far: cost {cost}, lower bound {bound}, gap {gap:.1%}; it is not written"
