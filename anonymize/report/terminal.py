"""The report on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from anonymize.errors import visible
from anonymize.report.fitting import tables
from anonymize.report.intros import INTROS
from anonymize.report.section import FIGURES, called
from anonymize.report.tables import sections
from anonymize.report.verdict import smallest_group, verdict_of

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
    verdict = verdict_of(report)
    to.print(Text(visible(f"{verdict.sentence[0].upper()}{verdict.sentence[1:]}."), STYLES[verdict.tone]))
    for place, line in enumerate(smallest_group(report)):
        to.print(Text(visible(f"  {line}" if place else f"{line[0].upper()}{line[1:]}."), "dim" if place else ""))
    if recommended := report.get("algorithm", {}).get("recommended"):
        to.print(Text(f"Released by {called(recommended)}: {recommended['reason']}."))
    for warning in report["warnings"]:
        to.print(Text(visible(f"warning: {warning}"), "yellow"))
    for section in sections(report):
        to.print()
        to.print(Text(section.title, "bold"))
        if section.title in INTROS and "meaning" not in section.header:
            to.print(Text(INTROS[section.title]))
        for number, table in enumerate(tables(section, to.width, FIGURES)):
            if number:
                to.print()
            to.print(table)
