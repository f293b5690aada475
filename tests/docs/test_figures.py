"""The pictures of measured runs: drawn from the figures that are kept, and fresh."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def figures() -> Iterator[ModuleType]:
    """docs/figures.py, which is a script beside its own modules."""
    path, before = list(sys.path), set(sys.modules)
    sys.path.insert(0, str(DOCS))
    import figures as script

    yield script
    sys.path[:] = path
    for name in {"figures", "measured", "plots", "randomization_pages", "runs"} - before:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["loss", "seconds"])
def test_pictures_are_drawn_from_the_figures_that_are_kept(figures: ModuleType, name: str) -> None:
    kept = (DOCS / {"loss": "ncp.svg", "seconds": "time.svg"}[name]).read_text(encoding="utf8")
    drawn = getattr(figures, name)(figures.measured.stored()).svg()
    assert kept == drawn, "a picture is stale: run `make figures ARGS=--stored`"
    assert ElementTree.fromstring(kept).tag.endswith("svg")


def test_what_attackers_get_is_drawn_from_the_figures_that_are_kept(figures: ModuleType) -> None:
    kept = (DOCS / "attacked.svg").read_text(encoding="utf8")
    assert kept == figures.attacked(), "a picture is stale: run `make figures ARGS=--stored`"
    assert kept.count("mondrian") >= 1


def test_k_or_epsilon_has_the_figures_that_are_kept(figures: ModuleType) -> None:
    page = (DOCS / "k-or-epsilon.md").read_text(encoding="utf8")
    assert f"<!-- figures: bounds -->\n{figures.bounds()}\n<!-- end -->" in page, "run `make figures ARGS=--stored`"
    assert (DOCS / "k-or-epsilon.svg").read_text(encoding="utf8") == figures.k_or_epsilon()


def test_the_page_of_synthetic_tables_has_the_figures_that_are_kept(figures: ModuleType) -> None:
    page = (DOCS / "synthetic.md").read_text(encoding="utf8")
    assert f"<!-- figures: synthetic -->\n{figures.synthetic()}\n<!-- end -->" in page, "`make figures ARGS=--stored`"
    assert {"original", "aim, epsilon = 1"} <= {line.split(" | ")[0][2:] for line in figures.synthetic().splitlines()}


def test_the_table_is_that_of_the_figures(figures: ModuleType) -> None:
    table = figures.table(figures.measured.stored())
    assert f"\n{table}\n" in (DOCS / "local-recoding.md").read_text(encoding="utf8")
    assert "ARX" in table and len(table.splitlines()) > 4


def test_the_choice_of_a_method_has_the_figures(figures: ModuleType) -> None:
    kept = figures.measured.stored()
    page = (DOCS / "choose.md").read_text(encoding="utf8")
    for name, made in figures.CHOOSING.items():
        block = f"<!-- figures: {name} -->\n{made(kept)}\n<!-- end -->"
        assert block in page, "run `make figures ARGS=--stored`"
    assert f"| mondrian | {kept['gcp']['mondrian']['5']:.4f} |" in figures.choices(kept)
    assert f"| mondrian | {kept['seconds']['mondrian']['1000']:.1f} s |" in figures.durations(kept)
    assert "--join" not in figures.choices(kept) and "not measured" not in page


def test_figures_of_other_tools_are_the_same_on_every_page(figures: ModuleType) -> None:
    """A line about ARX has its loss from the figures that are kept, or one of this project."""
    kept = figures.measured.stored()
    by_hand = [points for block in ("peers", "beside") for points in kept[block].values()]
    losses = [points for tables in by_hand for points in tables.values()] + list(kept["gcp"].values())
    known = {f"{loss:.4f}" for points in losses for loss in points.values() if loss is not None}
    pages = [DOCS.parent / "README.md", *DOCS.glob("*.md")]
    lines = [line for page in pages for line in page.read_text(encoding="utf8").splitlines() if "ARX" in line]
    quoted = {loss for line in lines for loss in re.findall(r"\b0\.\d{4}\b", line)}
    assert "0.0891" in quoted and quoted <= known


def test_every_method_has_a_figure_at_every_k(figures: ModuleType) -> None:
    kept, asked = figures.measured.stored()["gcp"], {str(k) for k in figures.measured.SIZES}
    assert kept and all(set(points) == asked or None in points.values() for points in kept.values())
    assert set(kept) <= {method.label for method in figures.measured.LOSS}


def test_a_run_that_took_too_long_is_left_out_by_name(figures: ModuleType) -> None:
    chart = figures.loss({"gcp": {"quick": {"2": 0.1, "5": 0.2}, "slow & late": {"2": 0.1, "5": None}}})
    assert [line.label for line in chart.lines] == ["quick"]
    assert chart.notes[-1] == "Left out, as a run took more than 60 s: slow & late."
    assert "slow &amp; late" in chart.svg()


def test_a_line_ends_where_its_method_got_too_slow(figures: ModuleType) -> None:
    chart = figures.seconds({"measured": "then", "seconds": {"a": {"1000": 1.0, "10000": None}, "b": {"1000": None}}})
    assert [(line.label, line.points) for line in chart.lines] == [("a", [(1000.0, 1.0)])]


def test_labels_of_lines_do_not_overlap(figures: ModuleType) -> None:
    plots = sys.modules["plots"]
    axis = plots.Axis("k", (1, 10, 100))
    lines = [plots.Line(f"line {index}", [(1, 1), (100, 50 + index / 100)]) for index in range(8)]
    drawn = plots.Chart("title", axis, axis, lines).svg()
    heights = sorted(height for text, height in texts(ElementTree.fromstring(drawn)) if text.startswith("line"))
    assert len(heights) == 8
    assert all(below - above >= 8 for above, below in pairwise(heights))


def test_the_bar_through_a_point_does_not_reach_below_nothing(figures: ModuleType) -> None:
    plots = sys.modules["plots"]
    columns = plots._columns([plots.Line("a", [(1, 0.2, 0.5), (2, 0.9, 0.1)])])
    assert (columns["low"], columns["high"]) == ([0.0, 0.8], [0.7, 1.0])


def texts(node: ElementTree.Element, height: float = 0.0) -> Iterator[tuple[str, float]]:
    """Every text of a drawing and how far it is from the top, by the translations around it."""
    moved = re.search(r"translate\([-\d.]+[ ,]+([-\d.]+)", node.get("transform", ""))
    height += float(moved[1]) if moved else 0.0
    if node.tag.endswith("text"):
        yield "".join(node.itertext()).strip(), height + float(node.get("y") or 0)
    for child in node:
        yield from texts(child, height)
