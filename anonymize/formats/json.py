"""For programs: the report."""

from __future__ import annotations

from typing import IO

from anonymize.formats.base import Checked


def render(checked: Checked, out: IO[str], color: str) -> None:
    from anonymize.report import as_json

    out.write(as_json(checked.report))
