"""What is drawn where: the elements of a picture, in pixels from its upper left corner."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from anonymize.errors import UsageError
from anonymize.report.pictures import bars, curves

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


def drawn_bars(svg: str) -> list[Element]:
    """The bars; the keys of a legend have an edge."""
    return [each for each in elements(svg) if each.tag == "rect" and "stroke" not in each.attributes]


def text(svg: str, said: str) -> Element:
    [found] = [each for each in elements(svg) if each.tag == "text" and each.said == said]
    return found


def series(number: int, labels: int) -> dict[str, Sequence[float | None]]:
    return {name: [0.25 * (row + 1) for row in range(labels)] for name in ("before", "after")[:number]}


def names(labels: int) -> list[str]:
    return [f"label {row}" for row in range(labels)]


# --- bars ------------------------------------------------------------------------------------------------------------


def test_bars_begin_beside_their_labels_and_are_as_long_as_their_values() -> None:
    drawing = bars(["age", "job"], {"before": [0.5, None], "after": [0.25, 1.0]}, form=".2f")
    first, second, third = drawn_bars(drawing)
    assert first.x == second.x == third.x
    assert 0 < first.x - text(drawing, "age").x < 5
    assert [each.width / third.width for each in (first, second, third)] == pytest.approx([0.5, 0.25, 1], abs=0.001)
    assert first.attributes["fill"] != second.attributes["fill"] == third.attributes["fill"]


def test_a_value_stands_behind_its_bar_where_there_is_room_for_it() -> None:
    drawing = bars(["age", "job"], {"before": [0.25, None], "after": [0.125, 0.5]}, form=".3f")
    for bar, value in zip(drawn_bars(drawing), ("0.250", "0.125", "0.500"), strict=True):
        behind = text(drawing, value)
        assert behind.x == pytest.approx(bar.right, abs=0.1) and behind.y == pytest.approx(bar.middle + 3.5, abs=0.5)
    assert 60 < size(drawing)[0] - text(drawing, "0.500").x < 100


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("labels", [1, 2, 30])
def test_bars_are_beside_their_label_one_below_the_other_and_never_beyond_the_picture(labels: int, number: int) -> None:
    drawing = bars(names(labels), series(number, labels), form=".2f")
    drawn = sorted(drawn_bars(drawing), key=lambda each: each.y)
    assert len(drawn) == labels * number
    assert drawn[-1].bottom <= size(drawing)[1]
    thickness = {round(each.height, 1) for each in drawn}
    assert len(thickness) == 1 and all(14 < each <= 20 for each in thickness)
    for row in range(labels):
        own = drawn[row * number : (row + 1) * number]
        assert sum(each.middle for each in own) / number == pytest.approx(text(drawing, f"label {row}").y, abs=0.1)
        assert all(first.bottom == pytest.approx(second.y, abs=0.1) for first, second in pairwise(own))
        assert row == 0 or own[0].y - drawn[row * number - 1].bottom > 2


@pytest.mark.parametrize(
    ("labels", "number", "height"),
    [(1, 1, 12 + 2 * 22), (1, 2, 12 + 36 + 2 * 37), (2, 1, 12 + 2 * 22), (10, 1, 12 + 220), (10, 2, 12 + 36 + 370)],
)
def test_a_picture_is_as_high_as_its_bars(labels: int, number: int, height: int) -> None:
    assert size(bars(names(labels), series(number, labels), form=".2f")) == (560, height)


def test_several_series_have_their_names_above_the_bars() -> None:
    drawing = bars(names(2), series(2, 2), form=".2f")
    for name in ("before", "after"):
        assert text(drawing, name).y < drawn_bars(drawing)[0].y
    said = [each.said for each in elements(bars(names(2), series(1, 2), form=".2f")) if each.tag == "text"]
    assert said == ["0.25", "0.50", "label 0", "label 1"]


def test_a_long_label_is_cut_and_one_that_fits_is_not() -> None:
    for label, shown in (("a" * 34, "a" * 34), ("a" * 35, "a" * 33 + "…")):
        assert text(bars([label], {"loss": [0.5]}, form=".2f"), shown)


def test_nothing_is_a_bar_of_no_length_and_what_is_unknown_none() -> None:
    drawing = bars(["age", "job"], {"loss": [0.0, None]}, form=".2f")
    [bar] = drawn_bars(drawing)
    assert bar.width < 1 and text(drawing, "0.00").x == bar.x
    assert drawn_bars(bars(["age"], {"loss": [None]}, form=".2f")) == []


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
    bar = bars(["age"], {"loss": [0.5]}, form=".2f")
    assert [text(bar, said).attributes["style"] for said in ("0.50", "age")] == ["font-size:10.4px;", "font-size:12px;"]


def test_without_the_library_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lets_plot", None)
    drawings: list[Any] = [lambda: bars(["a"], {"x": [1.0]}, form=".2f"), lambda: curves(lines(1), "x", "y")]
    for draw in drawings:
        with pytest.raises(UsageError, match="an HTML report needs lets-plot"):
            draw()
