"""The pictures of measured runs: drawn from the figures that are kept, and fresh."""

from __future__ import annotations

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
    for name in {"figures", "measured", "charts", "panels", "randomization_pages", "runs"} - before:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["loss", "seconds"])
def test_pictures_are_drawn_from_the_figures_that_are_kept(figures: ModuleType, name: str) -> None:
    kept = (DOCS / {"loss": "ncp.svg", "seconds": "time.svg"}[name]).read_text(encoding="utf8")
    drawn = getattr(figures, name)(figures.measured.stored()).svg()
    assert kept == drawn, "a picture is stale: run `make figures ARGS=--stored`"
    assert ElementTree.fromstring(kept).tag.endswith("svg")


def test_the_table_is_that_of_the_figures(figures: ModuleType) -> None:
    table = figures.table(figures.measured.stored())
    assert f"\n{table}\n" in (DOCS / "local-recoding.md").read_text(encoding="utf8")
    assert "ARX" in table and len(table.splitlines()) > 4


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
    assert [(line.label, line.points) for line in chart.lines] == [("a", {1000.0: 1.0})]


def test_axes_are_logarithmic_and_labels_do_not_overlap(figures: ModuleType) -> None:
    charts = sys.modules["charts"]
    axis = charts.Axis("k", (1, 10, 100))
    assert [axis.place(value) for value in (1, 10, 100)] == [0, 0.5, 1]
    lines = [charts.Line(f"line {index}", {1: 1, 100: 50 + index / 100}) for index in range(8)]
    root = ElementTree.fromstring(charts.Chart("title", axis, axis, lines).svg())
    heights = sorted(float(text.get("y", "")) for text in root.iter() if (text.text or "").startswith("line"))
    assert len(heights) == 8
    assert all(above + charts.GAP <= below + 0.11 for above, below in pairwise(heights))
