"""The report as a file: one HTML file that needs nothing else, or Markdown, both from the same page and from the
templates of this room."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from anonymize.errors import visible
from anonymize.report.cards import KEPT
from anonymize.report.page import page
from anonymize.report.section import FIGURES, Curves, Picture, percent
from anonymize.report.verdict import capital

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.nodes import EvalContext


# --- templates --------------------------------------------------------------------------------------------------------
# The templates that every written form of a report is made from; in HTML, what is put into one is escaped.


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


# --- html -------------------------------------------------------------------------------------------------------------
# The report as one HTML file that needs nothing else: no script, no request, no font; light, dark and on paper.

FORMS: Mapping[str, Callable[[float], str]] = {
    "share": percent,
    "rows": "{:,.0f}".format,
    "coefficient": "{:.2f}".format,
}
"""How a value is written at the end of its bar."""


def html(report: dict[str, Any]) -> str:
    """The page, from the JSON report alone. Raises UsageError where the extra `html` is not installed."""
    template = environment().get_template("report.html.j2")
    filters = {"drawn": drawn, "slug": _slug, "described": described, "typed": typed, "capital": capital, "kept": KEPT}
    return template.render(page=page(report), report=report, figures=FIGURES, **filters)


def drawn(picture: Picture | Curves) -> str:
    """The picture: curves as SVG, bars as elements whose text is as large as the page's, however narrow that is."""
    from markupsafe import Markup

    if isinstance(picture, Curves):
        from anonymize.report.pictures import curves

        return Markup(curves(picture.series, picture.x, picture.y))
    bars = environment().get_template("bars.html.j2")
    values = [value for series in picture.series.values() for value in series if value is not None]
    longest = max([*values, 0.0]) or 1.0
    return Markup(bars.render(picture=picture, longest=longest, write=FORMS[picture.form]))


def described(picture: Picture | Curves) -> str:
    """The picture in words, for whoever does not see it: every value by its label."""
    if isinstance(picture, Curves):
        lines = [
            f"{name}: " + ", ".join(f"{_rounded(x)} and {_rounded(y)}" for x, y in points)
            for name, points in picture.series.items()
        ]
        return f"Lines. {picture.x} and {picture.y}. " + "; ".join(lines) + "."
    lines = [
        f"{label}: " + ", ".join(f"{name} {_rounded(values[index])}" for name, values in picture.series.items())
        for index, label in enumerate(picture.labels)
    ]
    return f"Bar chart. {picture.caption}. " + "; ".join(lines) + "."


def typed(text: str) -> str:
    """What is said to type, between backquotes, as code; the rest as it is."""
    from markupsafe import Markup, escape

    parts = (escape(visible(part)) for part in text.split("`"))
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


def _rounded(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _slug(title: str) -> str:
    """A title as the name of an anchor."""
    return "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())


# --- markdown ---------------------------------------------------------------------------------------------------------
# The report in Markdown: the same page as the HTML report's, without pictures.


def markdown(report: dict[str, Any]) -> str:
    """A title, what it is about, the warnings, then a table a chapter."""
    template = environment().get_template("report.md.j2")
    return template.render(page=page(report), report=report, plain=plain, typed=markdown_typed, capital=capital)


def markdown_typed(text: str) -> str:
    """What is said to type, between backquotes, stays as it is but for ends of lines; the rest is plain."""
    parts = enumerate(" ".join(text.splitlines()).split("`"))
    return "".join(f"`{part}`" if place % 2 else plain(part) for place, part in parts)


def plain(text: str) -> str:
    """Text that Markdown leaves alone inside a table."""
    for character in "\\|*_`<>[]":
        text = text.replace(character, "\\" + character)
    return text.replace("\n", " ")
