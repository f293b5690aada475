"""The pictures of the documentation as SVG files, drawn by lets-plot (the extra `html`): lines, panels of lines, bars.

Names that the library draws at random are taken out, so that the same figures give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import lets_plot as lp

INK, GRID, NOTE = "#222222", "#dddddd", "#555555"
COLOURS = ("#1b6ca8", "#c1440e", "#2e7d32", "#7b3fa0", "#555555", "#b8860b", "#008b8b")
DASHES = ("solid", "dashed", "dotted", "dotdash", "longdash", "twodash", "dashed")


@dataclass(frozen=True)
class Line:
    """A line and what it is called; `points`: (x, y), or (x, y, half the height of the bar through it)."""

    label: str
    points: Sequence[tuple[float, ...]]
    colour: str = INK
    dashed: bool = False


@dataclass(frozen=True)
class Axis:
    """What a logarithmic axis shows, and where it has ticks; the first and the last tick are its ends."""

    title: str
    ticks: Sequence[float]


@dataclass(frozen=True)
class Chart:
    """Lines over two axes, each with its label at its right end; `notes` stand below."""

    title: str
    x: Axis
    y: Axis
    lines: Sequence[Line]
    notes: Sequence[str] = ()

    def svg(self) -> str:
        """The picture as text."""
        columns = _columns(self.lines)
        last = [max(line.points) for line in self.lines]
        ends = {"label": [line.label for line in self.lines], "x": [p[0] for p in last], "y": [p[1] for p in last]}
        right = self.x.ticks[-1] * (self.x.ticks[-1] / self.x.ticks[0]) ** 0.45
        return _svg(
            lp.ggplot(columns, lp.aes("x", "y", color="label"))
            + lp.geom_line(lp.aes(linetype="label"), size=0.9, tooltips="none")
            + lp.geom_point(size=2, tooltips="none")
            + lp.geom_text_repel(
                lp.aes("x", "y", label="label", color="label"),
                data=ends,
                direction="y",
                hjust=0,
                nudge_x=0.04,
                xlim=[self.x.ticks[-1], None],
                size=5,
                seed=1,
                max_iter=5000,
            )
            + lp.scale_color_manual(values=[line.colour for line in self.lines], breaks=ends["label"])
            + lp.scale_linetype_manual(
                values=["dashed" if line.dashed else "solid" for line in self.lines], breaks=ends["label"]
            )
            + _logarithmic(lp.scale_x_log10, self.x, right)
            + _logarithmic(lp.scale_y_log10, self.y, self.y.ticks[-1])
            + lp.labs(title=self.title, caption="\n".join(self.notes))
            + _theme("none")
            + lp.ggsize(840, 520)
        )


@dataclass(frozen=True)
class Panel:
    """A titled chart; the vertical axis starts at 0."""

    title: str
    lines: Sequence[Line]


def panels(drawn: Sequence[Panel], below: str, columns: int = 3) -> str:
    """Panels row by row, one legend under them. `below`: what the horizontal axes are."""
    names = list(dict.fromkeys(line.label for panel in drawn for line in panel.lines))
    parts = [_columns(panel.lines) | {"panel": [panel.title] * _size(panel)} for panel in drawn]
    together: dict[str, list[Any]] = {name: reduce(add, (part[name] for part in parts)) for name in parts[0]}
    rows = -(-len(drawn) // columns)
    return _svg(
        lp.ggplot(together, lp.aes("x", "y", color="label", linetype="label"))
        + lp.geom_line(size=0.9, tooltips="none")
        + lp.geom_linerange(lp.aes(ymin="low", ymax="high"), size=0.9, linetype="solid", tooltips="none")
        + lp.facet_wrap("panel", ncol=min(columns, len(drawn)), scales="free_y", order=0)
        + lp.expand_limits(y=0)
        + lp.scale_x_continuous(name=below, breaks=sorted(set(together["x"])))
        + lp.scale_y_continuous(name="")
        + lp.scale_color_manual(values=[COLOURS[at % len(COLOURS)] for at in range(len(names))], breaks=names)
        + lp.scale_linetype_manual(values=[DASHES[at % len(DASHES)] for at in range(len(names))], breaks=names)
        + _theme("bottom")
        + lp.ggsize(270 * min(columns, len(drawn)), 220 * rows + 60)
    )


def bars(title: str, series: Mapping[str, Mapping[str, float]], below: str) -> str:
    """Bars side by side over the same labels, a colour for each of `series`."""
    cells = [(name, label, value) for name, values in series.items() for label, value in values.items()]
    columns = dict(zip(("series", "label", "value"), map(list, zip(*cells, strict=True)), strict=True))
    labels = list(dict.fromkeys(columns["label"]))
    return _svg(
        lp.ggplot(columns, lp.aes("label", "value", fill="series"))
        + lp.geom_bar(stat="identity", position="dodge", tooltips="none")
        + lp.scale_fill_manual(values=list(COLOURS[: len(series)]), breaks=list(series))
        + lp.scale_x_discrete(limits=labels, name="")
        + lp.scale_y_continuous(name=below)
        + lp.labs(title=title)
        + _theme("bottom" if len(series) > 1 else "none")
        + lp.ggsize(760, 320)
    )


def _size(panel: Panel) -> int:
    return sum(len(line.points) for line in panel.lines)


def _columns(lines: Sequence[Line]) -> dict[str, list[Any]]:
    """Every point of every line as a row; the bar through it does not reach below 0."""
    rows = [(line.label, p[0], p[1], p[2] if len(p) > 2 else 0.0) for line in lines for p in line.points]
    return {
        "label": [label for label, *_ in rows],
        "x": [x for _, x, _, _ in rows],
        "y": [y for *_, y, _ in rows],
        "low": [max(y - half, 0.0) for *_, y, half in rows],
        "high": [y + half for *_, y, half in rows],
    }


def _logarithmic(scale: Any, axis: Axis, end: float) -> Any:
    texts = [f"{tick:,.10g}" for tick in axis.ticks]
    return scale(name=axis.title, breaks=list(axis.ticks), labels=texts, limits=[axis.ticks[0], end], expand=[0, 0.02])


def _theme(legend: str) -> Any:
    blank = lp.element_blank()
    return lp.theme(
        text=lp.element_text(color=INK),
        plot_background=lp.element_rect(fill="white", color="white"),
        panel_background=blank,
        panel_grid_major=lp.element_line(color=GRID, size=0.6),
        panel_grid_minor=blank,
        axis_line=blank,
        axis_ticks=blank,
        legend_position=legend,
        legend_title=blank,
        strip_background=blank,
        plot_caption=lp.element_text(color=NOTE, hjust=0, size=11),
    )


def _svg(plot: Any) -> str:
    """The drawing without names that differ from run to run: of them only clipping is used, and is not needed."""
    svg: str = plot.to_svg()
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (id|class|clip-path|clip-bounds-jfx|buffered-rendering|display)="[^"]*"', "", svg)
    svg = re.sub(r"<defs>.*?</defs>", "", svg, flags=re.DOTALL)
    svg = svg.replace("<svg ", '<svg font-family="sans-serif" ', 1)
    return re.sub(r"\n\s*", "\n", svg) + "\n"
