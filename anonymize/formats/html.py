"""A page for people: verdict, what is not met, tables and pictures, in one file that needs nothing else."""

from __future__ import annotations

from typing import IO

from anonymize.formats.base import Checked


def render(checked: Checked, out: IO[str], color: str) -> None:
    from anonymize.report.html import html

    out.write(html(checked.report))
