"""The report on a terminal: tables that fit it without losing a figure, and a bar that says how far a run has come."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import IO, Any, TypeAlias

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from anonymize.claims import State
from anonymize.errors import Caution, visible
from anonymize.places import masked
from anonymize.records import dataclass
from anonymize.report.blocks import FURTHER
from anonymize.report.section import FIGURES, Section, called
from anonymize.report.tables import INTROS, privacies, sections
from anonymize.report.verdict import capital, main_figures, opening, smallest_group, verdict_of

# --- tables that fit --------------------------------------------------------------------------------------------------
# Tables that fit a terminal without losing a figure: texts are folded, and a table that is too wide is parted.
#
# Each part begins with the columns that name a row (`Section.names`), so that it can be read by itself. A cell is
# folded where a terminal has no room for one column next to the names; nothing is ever cut.

LEAST_TEXT = 16
"""Characters to which a column of texts is folded before a table is parted."""
GAP = 2


def tables(section: Section, width: int, right: frozenset[str]) -> Iterator[FittedTable]:
    """The section's table, or its parts one after the other, each at most `width` characters wide.

    `right`: names of columns whose cells stand on the right.
    """
    header = tuple(map(visible, section.header))
    rows = [
        tuple(visible(cell, lines=place >= section.names) for place, cell in enumerate(row[: len(header)]))
        for row in section.rows
    ]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(header)
    least = [_least(name, cells) for name, cells in zip(header, columns, strict=True)]
    wanted = [max(map(cell_len, (name, *cells))) for name, cells in zip(header, columns, strict=True)]
    for part in _parts(least, section.names, width):
        widths = _widths([least[index] for index in part], [wanted[index] for index in part], width)
        cells = [[row[index] for index in part] for row in (header, *rows)]
        yield FittedTable(cells, widths, [header[index] in right for index in part])


def _least(name: str, cells: Sequence[str]) -> int:
    """The narrowest that a column may be: figures stand on one line, texts may be folded, and headers between words."""
    figures = [cell_len(cell) for cell in cells]
    if any(" " in cell for cell in cells):
        figures = [min(each, LEAST_TEXT) for each in figures]
    return max([1, *figures, *map(cell_len, name.split())])


def _parts(least: Sequence[int], names: int, width: int) -> Iterator[list[int]]:
    """The columns of each part: those that name a row, and as many of the others as there is room for, at least one."""
    first = list(range(min(names, len(least))))
    part = first
    for index in range(len(first), len(least)):
        wider = [*part, index]
        if part is not first and sum(least[each] for each in wider) + GAP * (len(wider) - 1) > width:
            yield part
            wider = [*first, index]
        part = wider
    yield part


def _widths(least: Sequence[int], wanted: Sequence[int], width: int) -> list[int]:
    """What each column gets: what it wants, where that is no more than an equal share of what is left; the others share
    by what they want, so that they are folded into about as many lines."""
    widths, left = list(least), width - GAP * (len(least) - 1) - sum(least)
    order = sorted(range(len(least)), key=lambda index: wanted[index])
    for place, index in enumerate(order):
        room, others = max(left, 0) + sum(widths[each] for each in order[place:]), order[place:]
        share = room * wanted[index] // max(sum(wanted[each] for each in others), 1)
        goal = wanted[index] if wanted[index] * len(others) <= room else max(share, widths[index])
        more = min(goal - widths[index], max(left, 0))
        widths[index] += more
        left -= more
    while left < 0 and max(widths) > 1:
        widest = max(range(len(widths)), key=lambda index: widths[index])
        widths[widest] -= 1
        left += 1
    return widths


@dataclass(frozen=True)
class FittedTable:
    """A table whose widths are settled: `cells`, the header first, row by row, as many as there are `widths`; `right`:
    whether those of each column stand on the right.

    rich lays a table out anew and pads, crops and styles every cell, which takes longer than a small release; here all
    that is left to do is to fold.
    """

    cells: Sequence[Sequence[str]]
    widths: Sequence[int]
    right: Sequence[bool]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        header, plain = console.get_style("table.header"), Style.null()
        for number, row in enumerate(self.cells):
            for line in self._lines(console, row, bottom=not number):
                yield Segment(line, plain if number else header)
                yield Segment.line()

    def _lines(self, console: Console, row: Sequence[str], *, bottom: bool) -> list[str]:
        """A row, folded: one line where every cell fits its column. `bottom`: a cell of fewer lines stands there."""
        columns = list(zip(row, self.widths, self.right, strict=True))
        folded = [_folded(console, cell, width, right=right) for cell, width, right in columns]
        height = max(map(len, folded))
        blank = [[""] * (height - len(pieces)) for pieces in folded]
        full = [[*empty, *pieces] if bottom else [*pieces, *empty] for pieces, empty in zip(folded, blank, strict=True)]
        padded = (
            [piece + " " * (width - cell_len(piece)) for piece in pieces]
            for pieces, width in zip(full, self.widths, strict=True)
        )
        return [(" " * GAP).join(pieces) for pieces in zip(*padded, strict=True)]


def _folded(console: Console, cell: str, width: int, *, right: bool) -> list[str]:
    """The lines of a cell, each at most `width` wide, those on the right with blanks before them."""
    if not cell.isprintable() or cell_len(cell) > width:
        lines = Text(cell).wrap(console, width, justify="right" if right else "left", overflow="fold")
        return [line.plain for line in lines]
    return [" " * (width - cell_len(cell.rstrip())) + cell.rstrip() if right else cell]


# --- the report -------------------------------------------------------------------------------------------------------
# The report on a terminal.

STYLES = {"met": "bold green", "but": "bold yellow", "unmet": "bold red", "unknown": "bold red", "neutral": "bold"}
MORE_OF_ATTACKS = "Further figures of each attack: `--json`, or `-r attacks.html`."
COLORS = {"auto": None, "always": True, "never": False}


class SafeConsole(Console):
    """A console that gives a terminal no orders but its own: those in a name, a label or a text are spelled out."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is printed, piece by piece."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text, lines=True), style, control)


def console(file: IO[str], color: str = "auto") -> Console:
    """A console on a stream. `color`: `auto` where it is a terminal and NO_COLOR is not set, `always`, `never`."""
    forced = COLORS[color]
    return SafeConsole(
        file=file, force_terminal=forced, no_color=None if forced is None else not forced, highlight=False
    )


def show(report: dict[str, Any], to: Console) -> None:
    """Prints verdict, warnings and the sections."""
    _headline(report, to)
    if (first := opening(report)) is not None:
        _advice("", first, to)
    for place, line in enumerate(smallest_group(report)):
        to.print(Text(visible(f"  {line}" if place else f"{capital(line)}."), "dim" if place else ""))
    _released_by(report, to)
    _warnings(report, to)
    every = sections(report)
    attacked = "attacks" in report and "algorithm" not in report
    put_sections((each for each in every if not attacked or each.title != FURTHER), to)
    if attacked and any(each.title == FURTHER for each in every):
        to.print(Text(f"\n{MORE_OF_ATTACKS}"))


def summarize(report: dict[str, Any], to: Console, files: Mapping[str, Sequence[str]]) -> None:
    """Prints what whoever has made a release wants to know first, in a screen of 25 lines: the verdict, the figures on
    which it rests, what was lost, warnings, and the `files` that were written, by what they are. What is required and
    not met is a table, as in `show`."""
    _headline(report, to)
    grid = Table.grid(padding=(0, 2))
    for name, number, meaning in main_figures(report):
        grid.add_row(Text(name, "dim"), Text(visible(f"{number}{meaning}")))
    for kind, paths in files.items():
        if paths:
            grid.add_row(Text(kind, "dim"), Text(visible(", ".join(map(masked, paths)))))
    to.print(grid)
    _released_by(report, to)
    _warnings(report, to)
    if State(report["privacy"]["state"]) not in (State.MET, State.NOTHING_REQUIRED):
        put_sections(privacies(report), to)


def _headline(report: dict[str, Any], to: Console) -> None:
    verdict = verdict_of(report)
    to.print(Text(visible(f"{capital(verdict.sentence)}."), STYLES[verdict.tone]))
    if (drawn := report.get("differential")) is not None:
        to.print(Text(visible(drawn["said"])))


def _released_by(report: dict[str, Any], to: Console) -> None:
    if recommended := report.get("algorithm", {}).get("recommended"):
        to.print(Text(f"Released by {called(recommended)}: {recommended['reason']}."))


def _warnings(report: dict[str, Any], to: Console) -> None:
    for warning in map(Caution, report["warnings"]):
        _advice("warning: ", warning, to, "yellow")


def _advice(before: str, caution: Caution, to: Console, style: str = "") -> None:
    """What there is to know, and in a line of its own what to do about it."""
    to.print(Text(visible(f"{before}{caution.text}" if before else f"{capital(caution.text)}."), style))
    if caution.remedy:
        to.print(Text(visible(f"  remedy: {caution.remedy}")))


def put_sections(every: Iterable[Section], to: Console) -> None:
    """Prints tables, each parted where the console has no room for all of its columns."""
    for section in every:
        to.print()
        to.print(Text(section.title, "bold"))
        if section.title in INTROS and "key" not in section.header:
            to.print(Text(INTROS[section.title]))
        for number, table in enumerate(tables(section, to.width, FIGURES)):
            if number:
                to.print()
            to.print(table)


# --- a bar ------------------------------------------------------------------------------------------------------------
# How far a run has come: a bar on standard error, where somebody sees it.

UNITS = {"refine": "passes", "bound": "bound, cost", "compare": "releases"}
"""What is counted by the stages that do not count rows."""
Show: TypeAlias = Callable[[str, int, int], None]
"""Called with a stage, and rows done and rows in all, or other UNITS; 0 in all: not known yet."""
Following: TypeAlias = bool | Show | None
"""What Python users give for `progress`."""
PARALLEL = frozenset({"bound"})
"""Stages that go on in parallel with the one before them."""


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
                for before in () if stage in PARALLEL else tasks.values():
                    lines.update(before, visible=False)
                tasks[stage] = lines.add_task(stage, total=None, unit=UNITS.get(stage, "rows"))
            lines.update(tasks[stage], completed=count, total=total or None)
            if stage in PARALLEL:
                reached[:] = [(count, total)]

        try:
            yield show
        except KeyboardInterrupt:
            for bound, cost in reached:
                gap = (cost - bound) / cost if cost else 0.0
                best = f"best so far: cost {cost}, lower bound {bound}, gap {gap:.1%}; it is not written"
                lines.console.print(best, highlight=False)
            raise
