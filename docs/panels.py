"""Line charts as SVG: several panels beside each other, one legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDE, HIGH = 250, 210
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 26, 36
NAMED = 125
"""Width of a name in the legend."""
COLORS = ("#1b6ca8", "#c1440e", "#2e7d32", "#7b3fa0", "#555555", "#b8860b", "#008b8b")
DASHES = ("", "6 3", "2 3", "8 3 2 3", "4 2", "10 4", "1 2")


@dataclass(frozen=True)
class Line:
    """Points (x, y, half the height of the bar through it) under a name."""

    name: str
    points: Sequence[tuple[float, float, float]]


@dataclass(frozen=True)
class Panel:
    """A titled chart; the vertical axis starts at 0."""

    title: str
    lines: Sequence[Line]


def chart(panels: Sequence[Panel], below: str, columns: int = 3) -> str:
    """The panels as SVG, row by row, with the legend under them. `below`: what the horizontal axes are."""
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    rows = math.ceil(len(panels) / columns)
    width = WIDE * min(columns, len(panels))
    each = width // NAMED
    height = HIGH * rows + 10 + 16 * math.ceil(len(names) / each)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for at, panel in enumerate(panels):
        lines.append(f'<g transform="translate({WIDE * (at % columns)} {HIGH * (at // columns)})">')
        lines += [*_panel(panel, names, below), "</g>"]
    for at, name in enumerate(names):
        x, y = 12 + at % each * NAMED, HIGH * rows + 16 + 16 * (at // each)
        lines.append(f'<line x1="{x}" y1="{y - 4}" x2="{x + 24}" y2="{y - 4}" {_stroke(at)}/>')
        lines.append(f'<text x="{x + 29}" y="{y}">{escape(name)}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _stroke(at: int) -> str:
    return f'stroke="{COLORS[at % len(COLORS)]}" stroke-width="1.8" stroke-dasharray="{DASHES[at % len(DASHES)]}"'


def _panel(panel: Panel, names: Sequence[str], below: str) -> list[str]:
    xs = sorted({x for line in panel.lines for x, _, _ in line.points})
    most = max(y + bar for line in panel.lines for _, y, bar in line.points)
    step = _step(most)
    top = step * math.ceil(most / step)
    inner, depth = WIDE - LEFT - RIGHT, HIGH - TOP - BOTTOM
    span = (xs[-1] - xs[0]) or 1

    def place(x: float, y: float) -> tuple[float, float]:
        return round(LEFT + inner * (x - xs[0]) / span, 1), round(TOP + depth * (1 - y / top), 1)

    found = [f'<text x="{WIDE / 2}" y="15" text-anchor="middle" font-weight="bold">{escape(panel.title)}</text>']
    for tick in range(round(top / step) + 1):
        _, y = place(xs[0], tick * step)
        found.append(f'<line x1="{LEFT}" y1="{y}" x2="{WIDE - RIGHT}" y2="{y}" stroke="#ddd"/>')
        found.append(f'<text x="{LEFT - 5}" y="{y + 4}" text-anchor="end">{tick * step:.4g}</text>')
    for x in xs:
        found.append(f'<text x="{place(x, 0)[0]}" y="{HIGH - BOTTOM + 15}" text-anchor="middle">{x:g}</text>')
    found.append(f'<text x="{LEFT + inner / 2}" y="{HIGH - 6}" text-anchor="middle">{escape(below)}</text>')
    for line in panel.lines:
        stroke = _stroke(names.index(line.name))
        points = " ".join(f"{x},{y}" for x, y in (place(x, y) for x, y, _ in line.points))
        found.append(f'<polyline points="{points}" fill="none" {stroke}/>')
        for x, y, bar in line.points:
            (left, low), (_, high) = place(x, max(y - bar, 0.0)), place(x, y + bar)
            found.append(
                f'<line x1="{left}" y1="{low}" x2="{left}" y2="{high}" {stroke.partition(" stroke-dash")[0]}/>'
            )
    return found


def _step(most: float) -> float:
    """1, 2 or 5 times a power of ten, of which four or so reach the top."""
    raw = most / 4 or 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    return next(power * by for by in (1, 2, 5, 10) if power * by >= raw)
