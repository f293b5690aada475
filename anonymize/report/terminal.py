"""The report on a terminal."""

from __future__ import annotations

from typing import IO, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from anonymize.report.section import Section
from anonymize.report.tables import sections

FIGURES = frozenset(
    {"figure", "missing as anything", "weight", "ncp", "loss", "distinct", "separation", "uniques", "minimal uniques"}
)
"""Columns whose texts stand on the right."""
COLORS = {"auto": None, "always": True, "never": False}


_MEASURED = "Measured; nothing was required."


def console(file: IO[str], color: str) -> Console:
    """A console on a stream; colours when it is a terminal, or as told by `auto`, `always`, `never`."""
    forced = COLORS[color]
    return Console(file=file, force_terminal=forced, no_color=forced is False, highlight=False, soft_wrap=False)


def show(report: dict[str, Any], to: Console) -> None:
    """Prints verdict, warnings and the sections."""
    style, verdict = (
        {
            True: ("bold green", "Every requirement is met."),
            False: ("bold red", "NOT SAFE: a requirement is not met."),
            None: ("bold", "Not all is shown by the release." if "public" in report else _MEASURED),
        }[report["privacy"]["satisfied"]]
        if "privacy" in report
        else ("bold", "Evaluated; not judged." if "seed" in report else "Recoded; not measured.")
    )
    to.print(Text(verdict, style))
    for warning in report["warnings"]:
        to.print(Text(f"warning: {warning}", "yellow"))
    for section in sections(report):
        to.print()
        to.print(Text(section.title, "bold"))
        to.print(_table(section))


def _table(section: Section) -> Table:
    table = Table(box=None, pad_edge=False)
    for index, name in enumerate(section.header):
        table.add_column(name, justify="right" if name in FIGURES else "left", no_wrap=index == 0)
    for row in section.rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
