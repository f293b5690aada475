"""Trees and patterns on a table that has two of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from anonymize._evaluate import Evaluate, evaluate
from anonymize.errors import UsageError
from anonymize.evaluation.patterns import Tolerance, TreePlan
from anonymize.privacy import PARAMETERS
from anonymize.spec import load

SPEC = """\
version: 1
input: {path: table.csv}
quasi_identifiers:
  gain: {type: numeric}
  job: {hierarchy: jobs.csv}
workload: {targets: [pay]}
"""
JOBS = "clerk;Office;*\nchief;Office;*\ncook;Kitchen;*\nwaiter;Kitchen;*\n"
ORIGINAL = [
    *((gain, job, "high") for gain in (60, 70, 80, 90) for job in ("clerk", "cook")),
    *((gain, job, "low") for gain in (10, 20, 30) for job in ("cook", "waiter", "cook", "waiter")),
    *((gain, job, "high") for gain in (10, 20, 30) for job in ("clerk", "chief")),
]
GROUPS = {"clerk": "Office", "chief": "Office", "cook": "Kitchen", "waiter": "Kitchen"}
Rows = Sequence[tuple[object, str, str]]


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "jobs.csv").write_text(JOBS, encoding="utf-8")
    write(tmp_path / "table.csv", ORIGINAL)
    return tmp_path / "spec.yaml"


def write(path: Path, rows: Rows) -> None:
    path.write_text("\n".join(["gain,job,pay", *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")


def tree(spec: Path, rows: Rows, **more: Any) -> dict[str, Any]:
    write(spec.with_name("out.csv"), rows)
    plan = TreePlan("pay", **more)
    report = evaluate(Evaluate(load(spec, PARAMETERS), str(spec.with_name("out.csv")), queries=0, tree=plan))
    found: dict[str, Any] = report["tree"]
    return found


def node(conditions: list[str], rows: int, label: str, share: float = 1.0, leaf: bool = True) -> dict[str, Any]:
    where = conditions[-1] if conditions else ""
    return {
        "depth": len(conditions),
        "leaf": leaf,
        "condition": where,
        "conditions": conditions,
        "rows": rows,
        "label": label,
        "share": share,
    }


NODES = [
    node([], 26, "high", 14 / 26, leaf=False),
    node(["job in Office"], 10, "high"),
    node(["job not in Office"], 16, "low", 12 / 16, leaf=False),
    node(["job not in Office", "gain from 60"], 4, "high"),
    node(["job not in Office", "gain not from 60"], 12, "low"),
]


def test_the_original_shows_its_own_patterns(spec: Path) -> None:
    """Every node but the root is one, also with no tolerance at all."""
    found = tree(spec, ORIGINAL, tolerance=Tolerance(0, 0))
    assert found["original"] == found["release"] == NODES
    assert [each["conditions"] for each in found["patterns"]] == [each["conditions"] for each in NODES[1:]]
    assert [each["statement"] for each in found["patterns"]] == [each["conditions"] for each in NODES[1:]]
    assert found["survived"] == 4


def test_a_pattern_survives_where_regions_lie_within_it(spec: Path) -> None:
    """Gains are hidden, jobs are not: who is in an office can still be told, who gains in a kitchen cannot."""
    found = tree(spec, [("[10-90]", GROUPS[job], pay) for _, job, pay in ORIGINAL])
    assert [each["survived"] for each in found["patterns"]] == [True, True, False, False]
    assert [each["rows_in_release"] for each in found["patterns"]] == [10, 16, 0, 0]


def gains(spec: Path, boundary: int, **more: Any) -> dict[str, Any]:
    """40 gains, the 20 from 200 on are of high pay, and a release with classes [0-boundary) and [boundary-390]."""
    rows = [(10 * index, "cook", "high" if index >= 20 else "low") for index in range(40)]
    write(spec.with_name("table.csv"), rows)
    low, high = f"[0-{10 * boundary - 10}]", f"[{10 * boundary}-390]"
    return tree(spec, [(low if gain < 10 * boundary else high, job, pay) for gain, job, pay in rows], **more)


@pytest.mark.parametrize(("boundary", "support", "survived"), [(20, 0, 2), (19, 0.1, 2), (19, 0.04, 0), (15, 0.1, 0)])
def test_a_reader_states_a_pattern_with_other_boundaries(
    spec: Path, boundary: int, support: float, survived: int
) -> None:
    """From 190 there are 21 rows, 5 % more than from 200, and 20 of them are high. What ends before 190 ends before
    200, so the other pattern keeps its boundary."""
    found = gains(spec, boundary, tolerance=Tolerance(support, 0.05))
    assert [each["conditions"] for each in found["patterns"]] == [["gain from 200"], ["gain not from 200"]]
    assert [each["statement"] for each in found["patterns"]] == [
        [f"gain from {10 * boundary}"],
        ["gain not from 200"],
    ]
    assert [each["rows_in_release"] for each in found["patterns"]] == [40 - boundary, boundary]
    assert found["survived"] == survived


def test_confidence_has_a_tolerance_of_its_own(spec: Path) -> None:
    """20 of the 21 rows from 190 on are high."""
    assert gains(spec, 19, tolerance=Tolerance(0.1, 0.04))["survived"] == 1
    assert gains(spec, 19, tolerance=Tolerance(0.1, 0.05))["survived"] == 2


def test_a_class_over_the_whole_range_states_nothing(spec: Path) -> None:
    """Overlapping classes, half of them over all gains: nobody can tell how many gain 200 or more."""
    rows = [(10 * index, "cook", "high" if index >= 20 else "low") for index in range(40)]
    write(spec.with_name("table.csv"), rows)
    shown = ["[0-390]" if gain % 20 else "[0-190]" if gain < 200 else "[200-390]" for gain, _, _ in rows]
    found = tree(spec, [(text, job, pay) for text, (_, job, pay) in zip(shown, rows, strict=True)])
    assert [each["rows_in_release"] for each in found["patterns"]] == [10, 10] and found["survived"] == 0


def test_a_pattern_whose_label_has_turned_does_not_survive(spec: Path) -> None:
    turned = {"high": "low", "low": "high"}
    found = tree(spec, [(gain, job, turned[pay]) for gain, job, pay in ORIGINAL])
    assert found["survived"] == 0


def test_a_category_is_stated_one_level_up(spec: Path) -> None:
    """Of clerk and chief only the office is released; no chief is there, so it says as much."""
    rows = [
        (gain, job, "high" if job == "clerk" else "low") for gain in range(5) for job in ("clerk", "cook", "waiter")
    ]
    write(spec.with_name("table.csv"), rows)
    found = tree(spec, [(gain, GROUPS[job] if job == "clerk" else job, pay) for gain, job, pay in rows])
    assert found["survived"] == len(found["patterns"]) == 2
    assert [each["statement"] for each in found["patterns"]] == [["job in Office"], ["job not in clerk"]]


def test_depth_and_columns(spec: Path) -> None:
    assert [each["depth"] for each in tree(spec, ORIGINAL, depth=1)["original"]] == [0, 1, 1]
    found = tree(spec, ORIGINAL, columns=("gain",))
    assert found["columns"] == ["gain"] and found["original"][1]["conditions"] == ["gain from 60"]
    with pytest.raises(UsageError, match="--tree-columns pay: cannot be asked"):
        tree(spec, ORIGINAL, columns=("pay",))


def test_numeric_targets_are_parted_at_their_median(spec: Path) -> None:
    numeric = spec.with_name("numeric.yaml")
    numeric.write_text(SPEC.replace("[pay]", "[{pay: {type: numeric}}]"), encoding="utf-8")
    rows: list[tuple[object, str, str]] = [(gain, "cook", str(gain * 2)) for gain in range(10)]
    write(spec.with_name("table.csv"), rows)
    found = tree(numeric, rows)
    assert found["original"] == [
        node([], 10, "at most 9", 0.5, leaf=False),
        node(["gain from 5"], 5, "above 9"),
        node(["gain not from 5"], 5, "at most 9"),
    ]
