"""The templates that every written form of a report is made from; in HTML, what is put into one is escaped."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from anonymize.errors import visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.nodes import EvalContext


@cache
def environment() -> Environment:
    """The templates of this folder."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, pass_eval_context, select_autoescape

    return Environment(
        loader=PackageLoader("anonymize.report"),
        autoescape=select_autoescape(["html.j2"]),
        undefined=StrictUndefined,
        finalize=pass_eval_context(_finalized),
        trim_blocks=True,
        keep_trailing_newline=True,
    )


def _finalized(context: EvalContext, value: object) -> object:
    """What is put into a form, with control characters spelled out; what is HTML already stays HTML, and text that is
    put into HTML is one line."""
    if not isinstance(value, str):
        return value
    return type(value)(visible(value, lines=not context.autoescape or hasattr(value, "__html__")))
