"""What the order of rows tells: an attacker who has the released file alone, and what the check says of it."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.common.budgets import limits_of
from tests.security.running import Run, running

SPEC = """\
version: 1
input: {{path: table.csv}}
quasi_identifiers:
  age: {{type: numeric}}
  sex: {{}}
  day: {{hierarchy: {{dates: [month, year]}}}}
insensitive: [ward]
privacy: {{k: 5}}
output: {{row_order: {order}, edges: tight}}
"""
ROWS = 600


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def attack(path: Path, column: str = "age", others: tuple[str, ...] = ("sex", "day")) -> tuple[float, int]:
    """The share of numbers that a file sorted by them gives back, and the rows that are singled out by what is left."""
    rows = read(path)
    ends = [
        [int(end) for end in cell.strip("[]").split("-")] if cell != "*" else [0, 999]
        for cell in (row[column] for row in rows)
    ]
    low, high = [end[0] for end in ends], [end[-1] for end in ends]
    for row in range(1, len(rows)):
        low[row] = max(low[row], low[row - 1])
    for row in range(len(rows) - 2, -1, -1):
        high[row] = min(high[row], high[row + 1])
    left = [(low[n], high[n], *(row[name] for name in others)) for n, row in enumerate(rows)]
    exact = sum(a == b for a, b in zip(low, high, strict=True)) / len(rows)
    return exact, sum(count for count in Counter(left).values() if count == 1)


def people(by: str, *, descending: bool = False) -> list[dict[str, str]]:
    draw = random.Random(7)
    rows = [
        {
            "age": str(draw.randint(18, 90)),
            "sex": draw.choice("FM"),
            "day": f"2024-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}",
            "ward": draw.choice("ABCDE"),
        }
        for _ in range(ROWS)
    ]
    keys: dict[str, Any] = {
        "age": lambda row: int(row["age"]),
        "day": lambda row: row["day"],
        "ward": lambda row: (row["ward"], int(row["age"])),
        "nothing": lambda row: 0,
    }
    return sorted(rows, key=keys[by], reverse=descending)


def written(folder: Path, rows: list[dict[str, str]], order: str = "keep") -> None:
    rewritten(folder / "table.csv", rows)
    (folder / "spec.yaml").write_text(SPEC.format(order=order))


@pytest.fixture
def run(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return running(tmp_path, capfd)


def rewritten(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, rows[0], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def forced(run: Run, folder: Path, *more: object) -> dict[str, Any]:
    """The report of a release that is written although it is not safe."""
    ended = run("mondrian", "spec.yaml", "-o", "r.csv", "-r", "r.json", "--allow-unsafe", "-q", *more)
    assert ended.code == 0, ended.err
    report: dict[str, Any] = json.loads((folder / "r.json").read_text())
    return report


def audited(run: Run, *more: object) -> tuple[int, dict[str, Any]]:
    ended = run("audit", "-i", "r.csv", *more, "--json")
    return ended.code, json.loads(ended.out)


QI = ("--qi", "age,sex,day", "-k", 5)


@pytest.mark.parametrize("descending", [False, True])
def test_a_sorted_table_in_its_own_order_is_not_safe(tmp_path: Path, run: Run, descending: bool) -> None:
    written(tmp_path, people("age", descending=descending))
    ended = run("mondrian", "spec.yaml", "-o", "r.csv")
    assert ended.code == 1 and "given what the order of the rows discloses" in ended.err
    assert not (tmp_path / "r.csv").exists()


def test_the_check_finds_what_the_attacker_finds(tmp_path: Path, run: Run) -> None:
    written(tmp_path, people("age"))
    report = forced(run, tmp_path)
    exact, alone = attack(tmp_path / "r.csv")
    assert exact > 0.1 and alone > 50
    order = report["privacy"]["order"]
    assert report["privacy"]["satisfied"] is False and order["judged"] is True
    assert order["attributes"]["age"] == {
        "direction": "ascending",
        "within": None,
        "exact_as_shown": order["attributes"]["age"]["exact_as_shown"],
        "exact": pytest.approx(exact),
    }
    assert order["singled_out_rows"] == alone and order["singled_out"] == pytest.approx(alone / ROWS)
    assert order["position"] == "not bounded"
    assert [model["satisfied"] for model in order["models"]] == [False]
    assert all(model["satisfied"] for model in report["privacy"]["models"])


def test_audit_which_has_the_file_alone_warns_with_the_same_figures(tmp_path: Path, run: Run) -> None:
    written(tmp_path, people("age"))
    forced(run, tmp_path)
    exact, alone = attack(tmp_path / "r.csv")
    code, report = audited(run, *QI)
    assert code == 0 and report["privacy"]["satisfied"] is True
    order = report["privacy"]["order"]
    assert not order["sorted"] and not order["judged"] and list(order["attributes"]) == ["age"]
    assert order["attributes"]["age"]["exact"] == pytest.approx(exact) and order["singled_out_rows"] == alone
    assert any(f"{alone} of {ROWS} rows are singled out" in warning for warning in report["warnings"])


def test_audit_judges_it_where_the_spec_keeps_the_order(tmp_path: Path, run: Run) -> None:
    written(tmp_path, people("age"))
    forced(run, tmp_path)
    ended = run("audit", "spec.yaml", "-i", "r.csv", "--format", "github")
    assert ended.code == 1 and "::error" in ended.out and "order of the rows" in ended.out


def key(cell: str) -> tuple[Any, ...]:
    """Of cells as they are written here: numbers and intervals by their ends, before texts."""
    ends = cell.strip("[]").split("-")
    if cell.isdigit() or cell.startswith("["):
        return (1, float(ends[0]), float(ends[-1]), cell)
    return (2, cell.encode())


def besides_passing(report: dict[str, Any]) -> list[str]:
    """The warnings but that of the columns that no option names."""
    start = "columns that pass through (ward) single out"
    assert sum(warning.startswith(start) for warning in report["warnings"]) <= 1
    return [warning for warning in report["warnings"] if not warning.startswith(start)]


def test_rows_in_the_order_of_what_they_show_tell_nothing(tmp_path: Path, run: Run) -> None:
    written(tmp_path, people("age"))
    forced(run, tmp_path)
    rows = read(tmp_path / "r.csv")
    rows.sort(key=lambda row: [key(row[name]) for name in ("age", "sex", "day", "ward")])
    rewritten(tmp_path / "r.csv", rows)
    code, report = audited(run, *QI)
    assert code == 0 and report["privacy"]["order"]["sorted"] and besides_passing(report) == []
    rows = [rows[-1], *rows[:-1]]
    rewritten(tmp_path / "r.csv", rows)
    assert audited(run, *QI)[1]["privacy"]["order"]["sorted"] is False


def test_a_table_in_no_order_may_keep_it(tmp_path: Path, run: Run) -> None:
    written(tmp_path, people("nothing"))
    ended = run("mondrian", "spec.yaml", "-o", "r.csv", "-r", "r.json")
    assert ended.code == 0, ended.err
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["privacy"]["order"]["attributes"] == {} and report["privacy"]["satisfied"] is True
    assert any("position is not bounded" in warning for warning in report["warnings"])
    assert besides_passing(audited(run, *QI)[1]) == []


def test_a_table_in_order_within_runs_of_another_column(tmp_path: Path, run: Run) -> None:
    written(tmp_path, people("ward"))
    assert run("mondrian", "spec.yaml", "-o", "r.csv").code == 1
    order = forced(run, tmp_path)["privacy"]["order"]
    assert (order["attributes"]["age"]["within"], order["attributes"]["age"]["direction"]) == ("ward", "ascending")
    assert order["singled_out_rows"] > 50


def test_dates_are_in_order_by_their_text(tmp_path: Path, run: Run) -> None:
    written(tmp_path, people("day"))
    assert run("mondrian", "spec.yaml", "-o", "r.csv").code == 1
    order = forced(run, tmp_path)["privacy"]["order"]
    assert list(order["attributes"]) == ["day"] and order["singled_out_rows"] > 0


@pytest.mark.parametrize("algorithm", ["mondrian", "top-down", "datafly"])
def test_a_shuffled_release_of_a_sorted_table_is_safe(tmp_path: Path, run: Run, algorithm: str) -> None:
    written(tmp_path, people("age"), "shuffle")
    ended = run(algorithm, "spec.yaml", "-o", "r.csv", "--suppression", "0.1", *limits_of(algorithm))
    assert ended.code == 0, ended.err
    report = audited(run, *QI)[1]
    assert report["privacy"]["order"]["attributes"] == {} and besides_passing(report) == []


def test_rows_that_were_dropped_are_not_matched_with_others(tmp_path: Path, run: Run) -> None:
    """Were the dropped rows of the input not left out, its ages would not be those of the released rows."""
    rows = people("age")
    for row in rows[::40]:
        row["sex"] = f"X{row['age']}"
    written(tmp_path, rows)
    spec = (
        SPEC.format(order="keep")
        .replace("edges: tight", "suppressed_rows: drop")
        .replace("k: 5", "k: 5, suppression: 0.3")
    )
    spec = spec.replace("  day: {hierarchy: {dates: [month, year]}}\n", "").replace("[ward]", "[ward, day]")
    (tmp_path / "spec.yaml").write_text(
        spec.replace("{type: numeric}", "{type: numeric, hierarchy: {intervals: [5, 10]}}")
    )
    release = ("datafly", "spec.yaml", "-o", "r.csv", "-r", "r.json", "-q")
    ended = run(*release)
    assert ended.code == 0, ended.err
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["output"]["dropped_rows"] > 0
    assert report["privacy"]["order"]["attributes"] == {}  # bands of ages that do not overlap are narrowed by nothing
    assert len(read(tmp_path / "r.csv")) == ROWS - report["output"]["dropped_rows"]
