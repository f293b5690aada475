"""Line charts as SVG, for the pictures of the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import log10

WIDE, HIGH = 560, 400
LEFT, TOP, BOTTOM, LEGEND = 60, 36, 48, 210
GAP = 15
"""Least distance between two labels of lines, in pixels."""


@dataclass(frozen=True)
class Line:
    """A line and what it is called; `points` by x."""

    label: str
    points: dict[float, float]
    colour: str = "#222222"
    dashed: bool = False


@dataclass(frozen=True)
class Axis:
    """What an axis shows, and where it has ticks; the first and the last tick are its ends."""

    title: str
    ticks: Sequence[float]
    logarithmic: bool = True

    def place(self, value: float) -> float:
        """From 0, the first tick, to 1, the last."""
        first, last, here = (
            log10(each) if self.logarithmic else each for each in (self.ticks[0], self.ticks[-1], value)
        )
        return (here - first) / (last - first)


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
        width, height = LEFT + WIDE + LEGEND, TOP + HIGH + BOTTOM + 16 * len(self.notes)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
            ' font-family="sans-serif" font-size="12">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            _text(LEFT, 20, self.title, size=14),
            *self._grid(),
            *map(self._line, self.lines),
            *self._labels(),
            *(_text(LEFT, TOP + HIGH + BOTTOM + 16 * at, note) for at, note in enumerate(self.notes)),
        ]
        return "\n".join([*parts, "</svg>", ""])

    def _at(self, x: float, y: float) -> tuple[float, float]:
        return LEFT + WIDE * self.x.place(x), TOP + HIGH * (1 - self.y.place(y))

    def _grid(self) -> list[str]:
        parts = []
        for tick in self.x.ticks:
            x, _ = self._at(tick, self.y.ticks[0])
            parts += [_stroke(x, TOP, x, TOP + HIGH), _text(x, TOP + HIGH + 16, f"{tick:,.10g}", "middle")]
        for tick in self.y.ticks:
            _, y = self._at(self.x.ticks[0], tick)
            parts += [_stroke(LEFT, y, LEFT + WIDE, y), _text(LEFT - 6, y + 4, f"{tick:,.10g}", "end")]
        middle = TOP + HIGH / 2
        turned = f'<g transform="rotate(-90 14 {middle:g})">{_text(14, middle, self.y.title, "middle")}</g>'
        return [*parts, _text(LEFT + WIDE / 2, TOP + HIGH + 34, self.x.title, "middle"), turned]

    def _line(self, line: Line) -> str:
        places = [self._at(x, y) for x, y in sorted(line.points.items())]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dash = ' stroke-dasharray="5 4"' if line.dashed else ""
        dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{line.colour}"/>' for x, y in places)
        return f'<polyline points="{path}" fill="none" stroke="{line.colour}" stroke-width="1.8"{dash}/>{dots}'

    def _labels(self) -> list[str]:
        """Each label as near as may be to the right end of its line, from the top down."""
        ends = [self._at(*max(line.points.items())) for line in self.lines]
        parts, free = [], float(TOP)
        order = sorted(range(len(ends)), key=lambda index: ends[index][1])
        room = [TOP + HIGH + 8 - GAP * below for below in range(len(order) - 1, -1, -1)]
        for index, lowest in zip(order, room, strict=True):
            (x, y), line = ends[index], self.lines[index]
            at = min(max(y + 4, free), lowest)
            free = at + GAP
            parts.append(_stroke(x + 4, y, LEFT + WIDE + 12, at - 4, line.colour, 0.6))
            parts.append(_text(LEFT + WIDE + 16, at, line.label, colour=line.colour))
        return parts


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 12, colour: str = "#222") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
    )


def _stroke(x1: float, y1: float, x2: float, y2: float, colour: str = "#ddd", width: float = 1) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width:g}"/>'
