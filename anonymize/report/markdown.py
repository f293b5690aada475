"""The report in Markdown: the same page as the HTML report's, without pictures."""

from __future__ import annotations

from typing import Any

from anonymize.report.page import page
from anonymize.report.templates import environment
from anonymize.report.verdict import capital


def markdown(report: dict[str, Any]) -> str:
    """A title, what it is about, the warnings, then a table a chapter."""
    template = environment().get_template("report.md.j2")
    return template.render(page=page(report), report=report, plain=plain, typed=typed, capital=capital)


def typed(text: str) -> str:
    """What is said to type, between backquotes, stays as it is but for ends of lines; the rest is plain."""
    parts = enumerate(" ".join(text.splitlines()).split("`"))
    return "".join(f"`{part}`" if place % 2 else plain(part) for place, part in parts)


def plain(text: str) -> str:
    """Text that Markdown leaves alone inside a table."""
    for character in "\\|*_`<>[]":
        text = text.replace(character, "\\" + character)
    return text.replace("\n", " ")
