"""A decision tree as SVG: a box a node, the root on the left."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

WIDE, HIGH, ACROSS, DOWN = 236, 34, 262, 44
COLOURS = ("#cfe3f5", "#f7d9c4", "#d8ecd3", "#e6dcf2", "#eeeeee")


def draw(nodes: Sequence[dict[str, Any]]) -> str:
    """The nodes of a tree, each before those below it, as `evaluate --tree` reports them. Colours are of labels."""
    labels = sorted({node["label"] for node in nodes})
    places = _places(nodes)
    width = ACROSS * max(node["depth"] for node in nodes) + WIDE + 8
    height = DOWN * sum(node["leaf"] for node in nodes) + 8
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">']
    parts.append(f'<rect width="{width}" height="{height}" fill="white"/>')
    above: dict[int, tuple[float, float]] = {}
    for node, (x, y) in zip(nodes, places, strict=True):
        if node["depth"]:
            left, middle = above[node["depth"] - 1]
            ends = f'x1="{left + WIDE}" y1="{middle + HIGH / 2}" x2="{x}" y2="{y + HIGH / 2}"'
            parts.append(f'<line {ends} stroke="#888"/>')
        above[node["depth"]] = (x, y)
    for node, place in zip(nodes, places, strict=True):
        parts += _box(node, *place, COLOURS[labels.index(node["label"]) % len(COLOURS)])
    return "\n".join([*parts, "</svg>", ""])


def _places(nodes: Sequence[dict[str, Any]]) -> list[tuple[float, float]]:
    """Leaves below each other, what is above them in their middle."""
    heights: list[float] = [0.0] * len(nodes)
    leaves = [index for index, node in enumerate(nodes) if node["leaf"]]
    for rank, index in enumerate(leaves):
        heights[index] = 4.0 + DOWN * rank
    for index in reversed(range(len(nodes))):
        if not nodes[index]["leaf"]:
            depth = nodes[index]["depth"]
            ends = [each for each in range(index + 1, len(nodes)) if nodes[each]["depth"] == depth + 1][:2]
            heights[index] = sum(heights[each] for each in ends) / 2
    return [(4.0 + ACROSS * node["depth"], height) for node, height in zip(nodes, heights, strict=True)]


def _box(node: dict[str, Any], x: float, y: float, colour: str) -> list[str]:
    share = "" if node["share"] is None else f"{node['share']:.1%} {node['label']}"
    return [
        f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="4" fill="{colour}" stroke="#666"/>',
        f'<text x="{x + 6}" y="{y + 14}" font-size="12">{escape(node["condition"] or "all rows")}</text>',
        f'<text x="{x + 6}" y="{y + 28}" font-size="11" fill="#333">{node["rows"]:,} rows, {escape(share)}</text>',
    ]
