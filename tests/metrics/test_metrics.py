"""Utility metrics, against sums over single rows."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from anonymize import Spec, evaluate, release
from anonymize._explain import manuals
from anonymize.classes import Partition
from anonymize.cli.questions import explain
from anonymize.domain.taxonomy import Taxonomy
from anonymize.measuring import figures, with_front
from anonymize.metrics import METRICS, Metric, View, computed, utility
from anonymize.report.rendering import html, markdown
from anonymize.report.tables import sections
from anonymize.report.terminal import show
from anonymize.table import Attribute, Table
from tests.algorithms.tables import categorical, cost, numeric, seeds, table_of, tables, taxonomy

Classes = list[list[int]]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Table, Classes, list[int], int]:
    """A table, its classes, the rows that are suppressed, and the size that classes had to have."""
    table = draw(tables(max_rows=30))
    labels = draw(seeds).integers(-1, draw(st.integers(1, 6)), table.rows)
    classes = [np.flatnonzero(labels == label).tolist() for label in range(6) if np.any(labels == label)]
    return table, classes, np.flatnonzero(labels < 0).tolist(), draw(st.integers(1, 5))


def view_of(table: Table, classes: Classes, suppressed: int, minimum: int = 1, **more: object) -> View:
    blocks = [np.array(rows, np.uint32) for rows in classes]
    partition = Partition.of_blocks(blocks, [np.array([len(rows)]) for rows in classes])
    boxes = [partition.boxes(a.codes) if classes else (a.codes[:0], a.codes[:0]) for a in table.attributes]
    pairs = list(zip(table.attributes, boxes, strict=True))
    ncp, loss = [a.domain.cost(*box) for a, box in pairs], [a.domain.loss(*box) for a, box in pairs]
    more = {"partition": partition, **more}
    return View(table.attributes, ncp, loss, partition.sizes, suppressed, minimum, **more)  # type: ignore[arg-type]


def cells(attribute: Attribute, classes: Classes, suppressed: list[int]) -> list[float]:
    """NCP of each row in one attribute."""
    penalties = [1.0] * len(suppressed)
    for rows in classes:
        penalties += [cost(attribute.domain, attribute.codes[rows].tolist())] * len(rows)
    return penalties


def set_cells(attribute: Attribute, classes: Classes, suppressed: list[int]) -> list[float]:
    """The same of the values present."""
    if attribute.domain.kind == "numeric":
        return cells(attribute, classes, suppressed)
    penalties = [1.0] * len(suppressed)
    for rows in classes:
        values = len(set(attribute.codes[rows].tolist()))
        penalties += [values / attribute.domain.size if values > 1 else 0.0] * len(rows)
    return penalties


def losses(attribute: Attribute, classes: Classes, suppressed: list[int]) -> list[float]:
    """Iyengar's loss of each row: categorical, from its NCP without weights, one leaf less above and below the line."""
    domain = attribute.domain
    if not isinstance(domain, Taxonomy):
        return cells(attribute, classes, suppressed)
    plain = replace(attribute, domain=Taxonomy(domain.name, domain.levels, domain.labels, domain.missing))
    penalties = cells(plain, classes, suppressed)
    return [(p * domain.size - 1) / (domain.size - 1) if p and domain.size > 1 else p for p in penalties]


@given(cases())
def test_metrics_are_sums_over_rows(case: tuple[Table, Classes, list[int], int]) -> None:
    table, classes, suppressed, minimum = case
    block = utility(view_of(table, classes, len(suppressed), minimum))
    ncp = [cells(attribute, classes, suppressed) for attribute in table.attributes]
    lost = [losses(attribute, classes, suppressed) for attribute in table.attributes]
    sets = [set_cells(attribute, classes, suppressed) for attribute in table.attributes]
    kept, n, m = sum(map(len, classes)), table.rows, len(table.attributes)
    expected = {
        "ncp": sum(map(sum, ncp)),
        "gcp": sum(map(sum, ncp)) / (n * m),
        "ncp_weighted": sum(a.weight * sum(column) for a, column in zip(table.attributes, ncp, strict=True)),
        "gcp_set": sum(map(sum, sets)) / (n * m),
        "ncp_set": sum(map(sum, sets)),
        "loss": sum(map(sum, lost)) / (n * m),
        "discernibility": sum(len(rows) ** 2 for rows in classes) + n * len(suppressed),
        "c_avg": kept / (len(classes) * minimum) if classes else None,
        "suppression": len(suppressed) / n,
        "precision": None,
        "research_value": None,
    }
    attributes = block.pop("attributes")
    assert block == {name: value if value is None else pytest.approx(value) for name, value in expected.items()}
    for attribute, column, set_column, lost_column in zip(table.attributes, ncp, sets, lost, strict=True):
        assert attributes[attribute.name] == {
            "ncp": pytest.approx(sum(column) / n),
            "ncp_set": pytest.approx(sum(set_column) / n),
            "loss": pytest.approx(sum(lost_column) / n),
            "weight": attribute.weight,
        }


@given(cases())
def test_figures_stay_within_their_bounds(case: tuple[Table, Classes, list[int], int]) -> None:
    table, classes, suppressed, _ = case
    minimum = min(map(len, classes), default=1)
    view = view_of(table, classes, len(suppressed), minimum)
    for metric in METRICS.values():
        figure, (low, high) = metric.compute(view), metric.BOUNDS
        assert figure is None or low - 1e-9 <= figure <= (math.inf if high is None else high + 1e-9)


def test_registered_metrics_are_known_by_their_id_and_say_which_end_is_better() -> None:
    assert all(name == metric.ID and metric.__doc__ for name, metric in METRICS.items())
    assert {name for name, metric in METRICS.items() if metric.GOAL == "higher"} == {"precision", "research_value"}


@given(cases())
def test_a_sum_over_rows_doubles_where_everybody_is_there_twice(case: tuple[Table, Classes, list[int], int]) -> None:
    """The same classes once more, beside the others; what is no sum stays as it is."""
    table, classes, _, minimum = case
    view = view_of(table, classes, 0, minimum, partition=None)
    ncp, loss = ([np.tile(each, 2) for each in costs] for costs in (view.ncp, view.loss))
    twice = replace(view, sizes=np.tile(view.sizes, 2), ncp=ncp, loss=loss)
    for metric in METRICS.values() if classes else ():
        one, two = metric.compute(view), metric.compute(twice)
        assert two == (None if one is None else pytest.approx((1 + metric.SUM) * one))


def example() -> tuple[Table, Classes]:
    """Four rows in two classes: ages 20 to 30 of 20 to 60, and under A; the others 60, and b and d."""
    age = numeric([20, 30, 60, 60], "age", weight=2.0)
    place = categorical(list("abdb"), taxonomy("a A *", "b A *", "c B *", "d B *", name="place"), weight=0.5)
    return table_of(age, place), [[0, 1], [2, 3]]


def test_an_example_by_hand() -> None:
    view = view_of(*example(), 0, 2)
    figures = {name: metric.compute(view) for name, metric in METRICS.items()}
    assert figures == {
        "ncp": pytest.approx(2 * 10 / 40 + 2 * 2 / 4 + 2 * 1),
        "ncp_weighted": pytest.approx(2 * 0.5 + 0.5 * 3),
        "gcp": pytest.approx(3.5 / 8),
        "ncp_set": pytest.approx(2 * 10 / 40 + 2 * 2 / 4 + 2 * 2 / 4),
        "gcp_set": pytest.approx(2.5 / 8),
        "loss": pytest.approx((2 * 1 / 4 + 2 * 1 / 3 + 2 * 1) / 8),
        "discernibility": 8,
        "c_avg": 1.0,
        "suppression": 0.0,
        "precision": None,
        "research_value": None,
    }
    assert isinstance(figures["discernibility"], int)


def test_everything_suppressed_costs_everything() -> None:
    table, _ = example()
    view = view_of(table, [], table.rows, 2)
    figures = {name: METRICS[name].compute(view) for name in ("gcp", "loss", "suppression", "discernibility", "c_avg")}
    assert figures == {"gcp": 1.0, "loss": 1.0, "suppression": 1.0, "discernibility": 16, "c_avg": None}


def test_discernibility_of_many_rows_does_not_overflow() -> None:
    view = View((), (), (), np.array([3_000_000_000]), 1, 1)
    assert METRICS["discernibility"].compute(view) == 3_000_000_000**2 + 3_000_000_001


def test_precision_is_how_far_below_the_roots_the_levels_are() -> None:
    view = view_of(*example(), 0, 2, levels=[(1, 2), (0, 4), (3, 3)])
    assert METRICS["precision"].compute(view) == pytest.approx(1 - (1 / 2 + 0 + 1) / 3)


# --- the registry is all ---------------------------------------------------------------------------------------------


@dataclass
class Halves:
    """Half: what a contributor adds, with the members of a metric and no more."""

    ID: str = "half"
    GOAL: Literal["lower", "higher"] = "lower"
    BOUNDS: tuple[float, float | None] = (0.0, 1.0)
    FORMULA: str = "Always a half."
    MEANING: str = "a half, whatever the release"
    SUM: bool = False

    def compute(self, view: View) -> float:
        return 0.5 * view.rows / view.rows


@pytest.fixture
def half(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Registers a metric; manuals that were made before it was there, or while it was, are made anew."""
    monkeypatch.setitem(METRICS, "half", Halves())
    manuals.cache_clear()
    yield
    manuals.cache_clear()


@pytest.mark.usefixtures("half")
def test_a_metric_that_is_registered_is_in_every_form(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,job\n31,cook\n34,cook\n52,clerk\n58,clerk\n")
    spec = {"quasi_identifiers": {"age": {"type": "numeric"}}, "insensitive": ["job"], "privacy": {"k": 2}}
    released = release(tmp_path / "t.csv", Spec(**spec), "mondrian")
    evaluated = evaluate(released.frame, Spec(**spec), tmp_path / "t.csv")
    for report in (released.report, evaluated.report):
        assert report["utility"]["half"] == 0.5
        told = io.StringIO()
        show(report, Console(file=told, width=200))
        for form in (told.getvalue(), markdown(report), html(report)):
            assert Halves.MEANING in form
    compared = {"comparison": with_front([{"label": "mondrian", "k": 2, "code": 0, **figures(released.report)}])}
    assert ("half", "0.5") in list(zip(sections(compared)[1].header, sections(compared)[1].rows[0], strict=True))
    manual = CliRunner().invoke(explain, ["half"]).output
    assert "what a contributor adds" in manual and "Always a half. From 0 to 1; lower is better." in manual


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_how_a_metric_is_computed_says_whether_it_is_a_sum(metric: Metric) -> None:
    assert computed(metric).startswith(f"{metric.FORMULA} From ")
    assert ("It is a sum over rows." in computed(metric)) == metric.SUM
    assert (metric.ID in ("ncp", "ncp_weighted", "ncp_set", "discernibility")) == metric.SUM
