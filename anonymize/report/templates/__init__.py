"""The templates that every written form of a report is made from; in HTML, what is put into one is escaped."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from anonymize.errors import visible

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def environment() -> Environment:
    """The templates of this folder."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    return Environment(
        loader=PackageLoader("anonymize.report"),
        autoescape=select_autoescape(["html.j2"]),
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        keep_trailing_newline=True,
    )


def _finalized(value: object) -> object:
    """What is put into a form, with control characters spelled out; what is HTML already stays HTML."""
    return type(value)(visible(value, lines=True)) if isinstance(value, str) else value
