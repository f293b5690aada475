"""The report as one HTML file that needs nothing else: no script, no request, no font; light, dark and on paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from anonymize.errors import visible
from anonymize.report.cards import KEPT
from anonymize.report.page import page
from anonymize.report.section import FIGURES, Curves, Picture, percent
from anonymize.report.templates import environment
from anonymize.report.verdict import capital

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
