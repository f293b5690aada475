"""For people: verdict, warnings and tables of figures."""

from __future__ import annotations

from typing import IO

from anonymize.formats.base import Checked


def render(checked: Checked, out: IO[str], color: str) -> None:
    from anonymize.report.terminal import console, show

    show(checked.report, console(out, color))
