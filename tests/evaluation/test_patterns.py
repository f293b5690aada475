"""Trees and patterns on a table that has two of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from anonymize.evaluate import Evaluate, evaluate
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


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "jobs.csv").write_text(JOBS, encoding="utf-8")
    write(tmp_path / "table.csv", ORIGINAL)
    return tmp_path / "spec.yaml"


def write(path: Path, rows: Sequence[tuple[object, str, str]]) -> None:
    path.write_text("\n".join(["gain,job,pay", *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")


def tree(spec: Path, rows: list[tuple[object, str, str]]) -> dict[str, object]:
    write(spec.with_name("out.csv"), rows)
    report = evaluate(Evaluate(load(spec, PARAMETERS), str(spec.with_name("out.csv")), queries=0, tree="pay"))
    found: dict[str, object] = report["tree"]
    return found


def test_the_original_shows_its_own_patterns(spec: Path) -> None:
    found = tree(spec, [*ORIGINAL])
    assert found["original"] == found["release"]
    assert found["original"] == [
        {"conditions": ["job in Office"], "rows": 10, "label": "high", "share": 1.0},
        {"conditions": ["job not in Office", "gain from 60"], "rows": 4, "label": "high", "share": 1.0},
        {"conditions": ["job not in Office", "gain not from 60"], "rows": 12, "label": "low", "share": 1.0},
    ]
    assert found["survived"] == 3


def test_a_pattern_survives_where_regions_lie_within_it(spec: Path) -> None:
    """Gains are hidden, jobs are not: who is in an office can still be told, who gains in a kitchen cannot."""
    groups = {"clerk": "Office", "chief": "Office", "cook": "Kitchen", "waiter": "Kitchen"}
    found = tree(spec, [("[10-90]", groups[job], pay) for _, job, pay in ORIGINAL])
    patterns = found["patterns"]
    assert isinstance(patterns, list)
    assert [each["survived"] for each in patterns] == [True, False, False]
    assert [each["rows_in_release"] for each in patterns] == [10, 0, 0]


def test_a_pattern_whose_label_has_turned_does_not_survive(spec: Path) -> None:
    turned = {"high": "low", "low": "high"}
    found = tree(spec, [(gain, job, turned[pay]) for gain, job, pay in ORIGINAL])
    assert found["survived"] == 0


def test_numeric_targets_are_parted_at_their_median(spec: Path) -> None:
    numeric = spec.with_name("numeric.yaml")
    numeric.write_text(SPEC.replace("[pay]", "[{pay: {type: numeric}}]"), encoding="utf-8")
    rows: list[tuple[object, str, str]] = [(gain, "cook", str(gain * 2)) for gain in range(10)]
    write(spec.with_name("table.csv"), rows)
    found = tree(numeric, rows)
    assert found["original"] == [
        {"conditions": ["gain from 5"], "rows": 5, "label": "above 9", "share": 1.0},
        {"conditions": ["gain not from 5"], "rows": 5, "label": "at most 9", "share": 1.0},
    ]
