"""The report on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from anonymize.claims import State
from anonymize.errors import Caution, visible
from anonymize.places import masked
from anonymize.report.fitting import tables
from anonymize.report.section import FIGURES, Section, called
from anonymize.report.tables import INTROS, privacies, sections
from anonymize.report.verdict import capital, main_figures, opening, smallest_group, verdict_of

STYLES = {"met": "bold green", "but": "bold yellow", "unmet": "bold red", "unknown": "bold red", "neutral": "bold"}
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
    put_sections(sections(report), to)


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
