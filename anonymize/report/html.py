"""The report as one HTML file that needs nothing else: no script, no request, no font; light, dark and on paper."""

from __future__ import annotations

from typing import Any

from anonymize.report.page import Curves, Picture, page
from anonymize.report.section import FIGURES
from anonymize.report.templates import environment


def html(report: dict[str, Any]) -> str:
    """The page, from the JSON report alone. Raises UsageError where the extra `html` is not installed."""
    template = environment().get_template("report.html.j2")
    filters = {"drawn": drawn, "slug": _slug, "described": described}
    return template.render(page=page(report), report=report, figures=FIGURES, **filters)


def drawn(picture: Picture | Curves) -> str:
    """The picture as SVG."""
    from markupsafe import Markup

    from anonymize.report.pictures import bars, curves

    if isinstance(picture, Curves):
        return Markup(curves(picture.series, picture.x, picture.y))
    return Markup(bars(picture.labels, picture.series, form=picture.form))


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


def _rounded(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _slug(title: str) -> str:
    """A title as the name of an anchor."""
    return "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())
