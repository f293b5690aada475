"""The report as a file: one HTML file that needs nothing else, or Markdown, both from the same page and from the
templates of this package."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from anonymize.errors import Problem, UsageError, visible
from anonymize.files import split
from anonymize.report.cards import KEPT
from anonymize.report.page import page
from anonymize.report.section import FIGURES, Curves, Picture, percent
from anonymize.report.verdict import capital

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.nodes import EvalContext

# --- pictures ---------------------------------------------------------------------------------------------------------
# Curves as inline SVG, drawn by lets-plot, which is the extra `html`; bars are elements of the page.
#
# lets-plot starts and draws faster than matplotlib and altair with vl-convert (0.1 s of processor time for the first
# picture against 0.9 and 0.8 s) and is the smallest (54 MB installed, against 100 and 105). All are above 30 MB, so
# it is an extra.
#
# A picture is drawn in stand-in colours, which are replaced by variables of the page's style sheet, so that one
# drawing serves light and dark pages and print. Names that the library draws at random are numbered, so that the same
# figures give the same bytes.

WIDTH = 560
INK, GRID = "#030303", "#040404"
LINES = ("#020202", "#010105", "#010106", "#010107", "#010108", "#010101")
"""Stand-ins: text, the grid, and the series of curves, which begin again after six."""

_STAND_INS = {
    INK: "ink",
    GRID: "rule",
    LINES[5]: "series-1",
    **{colour: f"series-{number}" for number, colour in enumerate(LINES[:5], 2)},
}
_VARIABLES = {
    written: f"var(--{name})"
    for colour, name in _STAND_INS.items()
    for written in (colour, "rgb({},{},{})".format(*bytes.fromhex(colour[1:])))
}
"""What each stand-in becomes, in both forms: the library writes lines as rgb(), points and text as #."""


def missing_library() -> UsageError:
    """What is said where the extra is not installed."""
    return UsageError(Problem("an HTML report needs lets-plot", hint="pip install 'anonymize-toolkit[html]'"))


def curves(series: Mapping[str, Sequence[tuple[float, float]]], x: str, y: str) -> str:
    """Points joined by lines, a line for each of `series`, from 0 up; shares on both axes, of which `x` and `y` are the
    names. Lines beyond the sixth have the colours of the first ones and other points.

    Raises UsageError where the library is not installed.
    """
    try:
        import lets_plot as lp
    except ImportError:
        raise missing_library() from None
    points = [(name, *point) for name, line in series.items() for point in line]
    columns = dict(zip(("series", "x", "y"), map(list, zip(*points, strict=True)), strict=True))
    colours = [LINES[number % len(LINES)] for number in range(len(series))]
    shapes = [(16, 15, 17, 18)[number // len(LINES) % 4] for number in range(len(series))]
    plot = (
        lp.ggplot(columns, lp.aes("x", "y", color="series"))
        + lp.geom_line(size=1.1, tooltips="none")
        + lp.geom_point(lp.aes(shape="series"), size=4, tooltips="none")
        + lp.scale_color_manual(values=colours, breaks=list(series))
        + lp.scale_shape_manual(values=shapes, breaks=list(series))
        + lp.scale_x_continuous(name=x, format=".1~%", limits=[0, None])
        + lp.scale_y_continuous(name=y, format=".0%", limits=[0, None])
        + _theme(lp)
        + lp.ggsize(WIDTH, max(320, 32 + 23 * len(series)))  # a line of the legend has 23 pixels
    )
    return _inline(plot.to_svg())


def _theme(lp: Any) -> Any:
    blank = lp.element_blank()
    return lp.theme(
        text=lp.element_text(color=INK),
        axis_title=lp.element_text(color=INK, size=12),
        axis_text_x=lp.element_text(color=INK, size=11),
        axis_text_y=lp.element_text(color=INK, size=12),
        axis_ticks=blank,
        axis_line=blank,
        panel_grid=blank,
        panel_grid_major=lp.element_line(color=GRID, size=0.6),
        panel_background=blank,
        plot_background=blank,
        legend_background=blank,
        legend_title=blank,
        legend_position="right",
        plot_margin=[0, 0, 6, 6],
    )


def _inline(svg: str) -> str:
    """The drawing as part of a page: its size left to the page, its colours replaced, and without the names of its
    parts, of which only clipping is used, and is not needed."""
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)
    width, height = (re.findall(rf'{side}="([0-9.]+)"', svg)[0] for side in ("width", "height"))
    opening = f'<svg viewBox="0 0 {width} {height}" width="{width}" aria-hidden="true" focusable="false">'
    svg = opening + svg.partition(">")[2]
    for stand_in, variable in _VARIABLES.items():
        svg = svg.replace(stand_in, variable)
    svg = re.sub(r"<defs>.*?</defs>", "", re.sub(r' (id|class|clip-path)="[^"]*"', "", svg), flags=re.DOTALL)
    return re.sub(r"\n\s*", "", re.sub("<[^>]+>", lambda tag: _short_tag(tag[0]), svg))


def _short_tag(tag: str) -> str:
    """A tag without what has no effect on the page, whose style sheet has the colour and the font of texts; in a report
    of many columns that is half of the file."""
    tag = re.sub(r' (clip-bounds-jfx|buffered-rendering|display)="[^"]*"', "", tag)
    tag = re.sub(
        r' (?:(?:fill|stroke)-opacity="1\.0"|stroke="[^"]*"(?=.* stroke-width="0\.0")|stroke-width="0\.0")', "", tag
    )
    tag = re.sub(r' transform="(?:rotate\(0\.0 [^"]*)?"', "", tag)
    tag = re.sub(r'fill:var\(--ink\);|font-family:[^;"]*;|(?<=<text) fill="var\(--ink\)"', "", tag)
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), tag)


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
    return template.render(page=page(report), report=report, figures=FIGURES, file=_released_file(report), **filters)


_READABLE = (".csv", ".csv.gz", ".parquet", ".arrow")
"""The suffixes of releases that the page says how to read."""


def _released_file(report: Mapping[str, Any]) -> tuple[str, str]:
    """The name of the release without its folders, and its suffix; those of a CSV where it is in no file that has a
    name."""
    name, suffix = split(os.path.basename(report.get("output", {}).get("path") or ""))
    return (name, suffix.lower()) if suffix.lower() in _READABLE else ("released", ".csv")


def drawn(picture: Picture | Curves) -> str:
    """The picture: curves as SVG, bars as elements whose text is as large as the page's, however narrow that is."""
    from markupsafe import Markup

    if isinstance(picture, Curves):
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
