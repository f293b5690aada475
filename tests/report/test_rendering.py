"""What is drawn where: the elements of a picture, in pixels from its upper left corner."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.errors import UsageError, visible
from anonymize.report import rendering
from anonymize.report.page import page
from anonymize.report.rendering import curves, described, drawn, environment, html, markdown
from anonymize.report.section import Curves, Picture
from anonymize.report.verdict import main_figures
from tests.report.test_report import REPORT, printed

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


pytest.importorskip("lets_plot", reason="HTML reports need the extra html")


class Reading(HTMLParser):
    """The tags, the addresses and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "action")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_verdict_figures_and_warnings_are_in_the_page() -> None:
    reading = Reading(html(REPORT))
    for text in (
        "Every requirement is met",
        "k-anonymity",
        "recursive-cl-diversity",
        "mondrian",
        *map(visible, REPORT["warnings"]),
    ):
        assert text in reading.text
    assert 'class="bars' in html(REPORT)


def test_the_loss_is_said_in_a_sentence_where_it_was_measured() -> None:
    report = deepcopy(REPORT)
    report["utility"]["gcp"] = 0.25
    assert "The quasi-identifiers lost 25 % of their precision." in Reading(html(report)).text
    del report["utility"]["gcp"]
    assert "of their precision." not in Reading(html(report)).text


def test_a_picture_is_said_in_words() -> None:
    bars = Picture("Loss", ["age", "job"], {"before": [0.25, None], "after": [12345.6, 0.0]}, "coefficient")
    assert described(bars) == "Bar chart. Loss. age: before 0.25, after 12,346; job: before unknown, after 0."
    assert described(Picture("Rows", ["a", "b"], {"rows": [9999.0, 10000.0]}, "rows")).endswith(
        " 9999; b: rows 10,000."
    )
    widths = re.findall(r'class="of-(\d)" style="width:([^"]+)"></i>([^<]+)<', drawn(bars))
    assert widths == [("1", "0.0%", "0.25"), ("2", "75.0%", "12345.60"), ("2", "0.0%", "0.00")]
    lines = Curves("loss", {"mondrian": [(0.2, 0.5), (0.1, 0.75)]}, "risk", "loss")
    assert described(lines) == "Lines. risk and loss. mondrian: 0.2 and 0.5, 0.1 and 0.75."


def test_what_there_is_nothing_of_has_no_chapter() -> None:
    bins = {"bins": ["a", "b"], "before": [3, 2], "after": [3, 1]}
    marginals = {"job": {**bins, "hidden": 0}, "age": {**bins, "hidden": 1}}
    reading = Reading(html({**deepcopy(REPORT), "marginals": marginals, "associations": {"pairs": []}}))
    assert "Rows before and after" in reading.text and "Associations" not in reading.text
    assert "shows nothing1 row" in reading.text and reading.text.count("Rows before and after") == 1


def test_every_chapter_is_named_by_its_heading() -> None:
    pattern = '<section aria-labelledby="([^"]+)">\n(?:<details><summary>)?<h2 id="([^"]+)">'
    names = re.findall(pattern, html(REPORT))
    assert ("columns",) * 2 in names and all(name == heading for name, heading in names)
    chapters = [each for each in page(REPORT).chapters if not each.on_cards]
    assert len(names) == len(set(names)) == len(chapters) + 1 < len(page(REPORT).chapters) + 1


def test_lines_are_drawn_where_the_page_has_them() -> None:
    result = {"label": "mondrian", "k": 5, "prosecutor_max": 0.2, "gcp": 0.1, "code": 0, "efficient": True}
    report = {"schema_version": 1, "tool": REPORT["tool"], "comparison": [result], "warnings": []}
    assert re.search('aria-label="Lines[^"]*"><svg ', html(report))


def test_there_is_no_script_and_no_request() -> None:
    reading = Reading(html(REPORT))
    assert not {"script", "link", "img", "iframe", "object", "form"}.intersection(reading.tags)
    assert all(each.startswith("#") for each in reading.addresses)
    assert "url(" not in html(REPORT) and "@import" not in html(REPORT)


def test_every_section_is_in_the_contents() -> None:
    text = html(REPORT)
    linked = [address.removeprefix("#") for address in Reading(text).addresses]
    contents = linked[:-1]  # the last one is in the certificate
    headings = re.findall(r'<h2 id="([^"]+)"', text)
    assert contents == [each.removesuffix("-heading") for each in headings] and len(contents) == len(set(contents)) > 3


def test_the_head_has_the_figures_that_decide_and_each_requirement_its_mark() -> None:
    text = html(REPORT)
    head = Reading(text.partition("<nav")[0]).text
    assert all(f"{name}" in head and number in head for name, number, _ in main_figures(REPORT))
    marks = re.findall(r'<td data-of="met" class="mark (\w*)">', text)
    assert marks == ["met" if each["satisfied"] else "unmet" for each in REPORT["privacy"]["models"]]


def test_what_comes_from_outside_is_escaped() -> None:
    report = deepcopy(REPORT)
    mark = "<b onclick=x>&\"'</b>"
    report["warnings"] = [mark]
    report["input"]["path"] = mark
    report["utility"]["attributes"] = {mark: next(iter(REPORT["utility"]["attributes"].values()))}
    page_text = html(report)
    assert "<b " not in page_text and mark in Reading(page_text).text


def test_a_page_ends_with_a_line() -> None:
    environment.cache_clear()
    assert html(REPORT).endswith("</html>\n")


def test_the_same_report_is_the_same_page() -> None:
    assert html(deepcopy(REPORT)) == html(deepcopy(REPORT))


@pytest.mark.parametrize(
    ("state", "unknown", "tone"),
    [
        ("met", None, "met"),
        ("unmet", None, "unmet"),
        ("unknown", ["a reason"], "unknown"),
        ("nothing required", None, "neutral"),
    ],
)
def test_the_verdict_has_a_colour(state: str, unknown: list[str] | None, tone: str) -> None:
    report: dict[str, Any] = deepcopy(REPORT)
    report["privacy"]["state"] = state
    if unknown:
        report["privacy"]["unknown"] = unknown
    assert page(report).tone == tone
    assert (unknown or [])[:1] == [each for each in page(report).problems if each == "a reason"]


def passing(uniques: float, together: float, **required: Any) -> dict[str, Any]:
    """The report of a release that meets what is required, and of which columns pass through."""
    report: dict[str, Any] = deepcopy(REPORT)
    figures = {"uniques": uniques, "uniques_with_quasi_identifiers": together, "uniques_with_sensitive": together}
    report["risk"]["passing"] = {"columns": ["ward"], **figures, **required, "smallest": [], "max_size": 3}
    report["risk"]["passing"]["left_out"] = []
    return report


def test_a_verdict_is_not_green_where_columns_that_pass_through_single_rows_out() -> None:
    report = passing(0.0, 0.542)
    sentence = "very requirement is met, but columns that pass through single out 54.2 % of the rows"
    assert page(report).tone == "but" and page(report).verdict == f"e{sentence}"
    assert f"E{sentence}" in Reading(html(report)).text and '<header class="but">' in html(report)
    assert f"- **e{sentence}**, measured" in markdown(report) and printed(report).startswith(f"E{sentence}.\n")


def test_a_verdict_is_green_where_nothing_is_singled_out_or_no_more_than_is_allowed() -> None:
    for report in (passing(0.0, 0.0), passing(0.1, 0.2, required={"uniques": 0.3}, satisfied=True)):
        assert page(report).tone == "met" and page(report).verdict == "every requirement is met"


def test_what_is_not_met_is_not_excused() -> None:
    report = passing(1.0, 1.0)
    report["privacy"]["state"] = "unmet"
    assert page(report).tone == "unmet" and "single out" not in page(report).verdict


def test_a_column_without_marginals_is_said_to_have_none() -> None:
    report = {**deepcopy(REPORT), "marginals": {}, "unbinned": {"age": "no label that may be named"}}
    [chapter] = [each for each in page(report).chapters if each.title == "Marginals"]
    assert chapter.table is not None and chapter.table.rows == [("age", "no label that may be named")]
    assert "no label that may be named" in Reading(html(report)).text and "| age | no label" in markdown(report)


def test_hierarchy_levels_are_in_every_form() -> None:
    report = deepcopy(REPORT)
    report["recoding"] = {"kind": "levels", "levels": {"age": 2, "sex": 0}, "heights": {"age": 4, "sex": 1}}
    assert "| age | 2 | 4 |" in markdown(report) and re.search(r"age +2 +4\n", printed(report))
    assert "<dt>level</dt><dd>2 of 4</dd>" in html(report)
    del report["recoding"]["heights"]
    assert "| age | 2 |\n| sex | 0 |" in markdown(report)
    report["recoding"]["levels"] = "by class"
    assert "Hierarchy levels" not in markdown(report)


def test_a_comparison_begins_with_what_loses_least() -> None:
    figures = [("mondrian", 5, 0.4), ("top-down", 5, 0.2), ("top-down", 10, None), ("mondrian", 10, 0.5)]
    block = [{"label": label, "k": k, "gcp": gcp, "code": 0, "efficient": True} for label, k, gcp in figures]
    report = {"schema_version": 1, "tool": REPORT["tool"], "comparison": block, "warnings": []}
    first = page(report).opening
    assert first is not None and "`anonymize top-down SPEC -k 5 " in first.remedy
    assert first.text == (
        "at k = 5, top-down loses least, 20 % of the precision; at k = 10, mondrian loses least, 50 % of the precision"
    )


def test_a_picture_keeps_its_labels_to_the_last_digit() -> None:
    bars = drawn(Picture("", ["1.23456 to <2.34567", "a 0.0 b"], {"rows": [1.0, 2.0]}, "coefficient"))
    assert {"1.23456 to <2.34567", "a 0.0 b"} <= {unescape(text).strip() for text in re.findall(">([^<>]+)<", bars)}


def test_pictures_have_the_colours_of_the_page_alone() -> None:
    """A colour of its own would be the same on a light and on a dark page; what is transparent has none."""
    lines = {f"algorithm {number}": [(0.1, 0.2), (0.2, 0.1)] for number in range(8)}
    drawings = rendering.curves(lines, "risk", "loss")
    shown = set(re.findall('(?:fill|stroke|color):([^;"]+)', drawings))
    for name, text in re.findall("<(\\w+)([^>]*)>", drawings):
        attributes = dict(re.findall('([\\w-]+)="([^"]*)"', text))
        seen = {"fill": name != "line", "stroke": attributes.get("stroke-opacity") != "0"}
        shown |= {attributes[each] for each in seen if seen[each] and each in attributes}
    shown |= {"var(--ink)"} if "<text" in drawings else set()  # by the style sheet
    own = {f"var(--{name})" for name in ("ink", "rule", *(f"series-{number}" for number in range(1, 7)))}
    assert shown - {"none", "transparent"} == own


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("html")
    rows = [f"{20 + row % 30},{'FM'[row % 2]},{('flu', 'gout')[row % 3 == 0]}" for row in range(300)]
    (folder / "table.csv").write_text("\n".join(["age,sex,illness", *rows]) + "\n")
    quasi = "quasi_identifiers: {age: {type: numeric}, sex: {}}"
    (folder / "spec.yaml").write_text(
        f"version: 1\ninput: {{path: table.csv}}\n{quasi}\nsensitive: {{illness: {{}}}}\nprivacy: {{k: 5}}\n"
    )
    return folder


def called(*arguments: object) -> int:
    return outcome(lambda: run([str(each) for each in arguments]))


def test_every_command_with_a_report_writes_a_page(folder: Path) -> None:
    spec, released = folder / "spec.yaml", folder / "released.csv"
    pages = [folder / f"{name}.html" for name in ("release", "public", "audit", "evaluate")]
    data = folder / "release.json"
    assert called("mondrian", spec, "-o", released, "-r", pages[0], "-r", data, "-q") == 0
    assert called("mondrian", spec, "-o", released, "-r", pages[1], "--public-report", "--force", "-q") == 0
    assert called("audit", spec, "-i", folder / "table.csv", "-r", pages[2], "-k", 50, "-q") == 1
    assert called("evaluate", spec, released, "-r", pages[3], "-q") == 0
    texts = [Reading(path.read_text()).text for path in pages]
    assert "Rows before and after" in texts[0]
    assert "Rows before and after" not in texts[1] and "in the original" not in texts[1]
    assert "NOT SAFE" in texts[2] and "k = 50 is required" in texts[2]
    assert "evaluated, not judged" in texts[3].lower()
    assert pages[0].read_text() == html(json.loads(data.read_text()))


def test_audit_prints_a_page_and_refuses_to_overwrite_one(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert called("audit", folder / "spec.yaml", "-i", folder / "table.csv", "--format", "html", "-k", 5) == 0
    assert capfd.readouterr().out.startswith("<!doctype html>")
    taken = folder / "taken.html"
    taken.write_text("mine")
    assert called("audit", folder / "spec.yaml", "-i", folder / "table.csv", "-r", taken, "-q") == 2
    assert taken.read_text() == "mine"
