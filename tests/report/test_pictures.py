"""What is drawn where: the elements of a picture, in pixels from its upper left corner."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

import pytest

from anonymize.errors import UsageError
from anonymize.report.pictures import curves

pytest.importorskip("lets_plot", reason="HTML reports need the extra html")


@dataclass(frozen=True)
class Element:
    """A bar, a line, a point or a text (`said`), its left upper corner and its size, as far as it has one."""

    tag: str
    x: float
    y: float
    width: float
    height: float
    said: str
    attributes: dict[str, str]

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def elements(svg: str) -> list[Element]:
    """Everything that is drawn, in the order of the picture."""
    return list(_within(ElementTree.fromstring(svg), 0.0, 0.0))


def _within(node: ElementTree.Element, left: float, top: float) -> Iterator[Element]:
    moved = re.match(r"translate\((-?[\d.]+) (-?[\d.]+)", node.get("transform", ""))
    if moved:
        left, top = left + float(moved[1]), top + float(moved[2])
    x, y, width, height = (float(node.get(name, 0)) for name in ("x", "y", "width", "height"))
    if node.tag != "svg":
        yield Element(node.tag, left + x, top + y, width, height, "".join(node.itertext()).strip(), node.attrib)
    for each in node:
        yield from _within(each, left, top)


def size(svg: str) -> tuple[float, float]:
    *corner, width, height = map(float, ElementTree.fromstring(svg).attrib["viewBox"].split())
    assert corner == [0, 0]
    return width, height


def text(svg: str, said: str) -> Element:
    [found] = [each for each in elements(svg) if each.tag == "text" and each.said == said]
    return found


# --- lines -----------------------------------------------------------------------------------------------------------


def lines(number: int) -> dict[str, list[tuple[float, float]]]:
    return {f"algorithm {row}": [(0.1, 0.2 + row / 100), (0.2, 0.1)] for row in range(number)}


def shape(each: Element) -> str:
    """What a point is: its tag, and the number of its corners if it is a path."""
    return each.tag + (str(each.attributes["d"].count("L")) if each.tag == "path" else "")


def test_a_line_has_a_colour_and_a_point_of_its_own() -> None:
    points = [each for each in elements(curves(lines(25), "risk", "loss")) if each.attributes.get("stroke-opacity")]
    keys = [(shape(each), each.attributes["fill"]) for each in points[-25:]]
    assert len(set(keys)) == 24 and keys[24] == keys[0]
    assert [key for key, _ in keys] == [*["circle"] * 6, *["rect"] * 6, *["path3"] * 6, *["path4"] * 6, "circle"]
    assert [(shape(each), each.attributes["fill"]) for each in points[:50:2]] == keys


@pytest.mark.parametrize(("number", "height"), [(1, 320), (12, 320), (13, 331), (25, 607)])
def test_the_names_of_lines_are_beside_them_and_never_beyond_the_picture(number: int, height: int) -> None:
    drawing = curves(lines(number), "risk", "loss")
    assert size(drawing) == (560, height)
    named = [text(drawing, f"algorithm {row}") for row in range(number)]
    most = max(each.x for each in elements(drawing) if each.tag == "text" and each.said.endswith("%"))
    assert all(each.x > most and 10 < each.y < height - 10 for each in named)


def test_both_axes_begin_at_nothing_and_are_named() -> None:
    drawing = curves({"mondrian": [(0.3, 0.5), (0.2, 0.6)]}, "risk", "loss")
    said = [each for each in elements(drawing) if each.tag == "text"]
    assert [each.said for each in said].count("0%") == 2
    risk, loss = text(drawing, "risk"), text(drawing, "loss")
    ticks = [each for each in said if each.said.endswith("%")]
    assert loss.x < min(each.x for each in ticks) and risk.y > max(each.y for each in ticks)


def test_texts_and_lines_are_as_large_as_on_the_page() -> None:
    """The page is 38 rem wide, and its text of 16 pixels."""
    drawing = curves(lines(2), "risk", "loss")
    sizes = [(each.said, each.attributes["style"]) for each in elements(drawing) if each.tag == "text"]
    assert {style for said, style in sizes if said in ("risk", "loss")} == {"font-size:12px;"}
    assert {style for said, style in sizes if said.endswith("%")} == {"font-size:11px;", "font-size:12px;"}
    strokes = {each.attributes["stroke-width"] for each in elements(drawing) if each.tag == "line"}
    assert strokes == {"0.6", "1.65"}  # the grid, and the keys of the legend
    assert {each.attributes["stroke-width"] for each in elements(drawing) if each.attributes.get("d")} == {"2.42"}
    assert {each.attributes["r"] for each in elements(drawing) if each.tag == "circle"} == {"4.4", "5.5"}


def test_without_the_library_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lets_plot", None)
    with pytest.raises(UsageError, match="an HTML report needs lets-plot"):
        curves(lines(1), "x", "y")
