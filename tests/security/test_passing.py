"""Columns that pass through are judged together: what they single out is measured, said, and can be bounded."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.security.running import Run, running

PASSING = ["ward", "visits", "cost"]
NAMES = ["age", *PASSING, "ill"]
OF_FAMILY: dict[str, dict[str, Any]] = {
    "anatomy": {"l": 2},
    "randomize": {"models": [{"model": "disclosure", "attribute": "ill", "l": 2}]},
}
SAID = "columns that pass through (ward, visits, cost) single out"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return running(tmp_path, capsys)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """400 rows: classes by age are large, and nobody else has the same ward, visits and cost."""
    draw = random.Random(5)
    rows = [[20 + n % 8, *(draw.randrange(60) for _ in PASSING), draw.choice("abcde")] for n in range(400)]
    rows[1][1:4] = rows[0][1:4]  # two that agree in all of them, and differ in age
    path = tmp_path / "table.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([NAMES, *rows])
    return path


def spec(folder: Path, command: str = "", **privacy: Any) -> Path:
    content = {
        "version": 1,
        "input": {"path": "table.csv"},
        "quasi_identifiers": {"age": {"type": "numeric"}},
        "sensitive": {"ill": {}},
        "insensitive": PASSING[:2],
        "workload": {"targets": PASSING[2:]},
        "privacy": OF_FAMILY.get(command, {"k": 5, "l": 2}) | privacy,
    }
    path = folder / "spec.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def attacker(path: Path, names: Sequence[str]) -> float:
    """The share of rows that are alone in some columns of a file."""
    with path.open(newline="") as file:
        rows = [tuple(row[name] for name in names) for row in csv.DictReader(file)]
    times = Counter(rows)
    return sum(times[row] == 1 for row in rows) / len(rows)


def agrees(report: dict[str, Any], path: Path, groups: Sequence[Sequence[str]]) -> None:
    block = report["risk"]["passing"]
    measured = [block[f"uniques{end}"] for end in ("", "_with_quasi_identifiers", "_with_sensitive")]
    assert measured == pytest.approx([attacker(path, names) for names in groups])


GROUPS = (PASSING, [*PASSING, "age"], NAMES)


def test_an_independent_attacker_agrees(run: Run, tmp_path: Path, table: Path) -> None:
    """No row is alone in its class, and nearly all are in three columns that pass through."""
    ended = run("mondrian", spec(tmp_path), "-o", "released.csv", "--report", "report.json", "-v")
    assert ended.code == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["risk"]["uniques"] == 0
    assert report["risk"]["passing"]["columns"] == PASSING
    assert report["risk"]["passing"]["uniques"] > 0.99
    agrees(report, tmp_path / "released.csv", GROUPS)
    assert sum(SAID in warning for warning in report["warnings"]) == 1
    share = f"{100 * attacker(tmp_path / 'released.csv', PASSING):.3g} %"
    text = " ".join(f"{ended.out} {ended.err}".split())
    assert f"{SAID} {share} of the rows by themselves" in text
    assert "Columns that pass through" in text


def test_the_smallest_sets_are_those_of_the_file(run: Run, tmp_path: Path, table: Path) -> None:
    run("mondrian", spec(tmp_path), "-o", "released.csv", "--report", "report.json")
    block = json.loads((tmp_path / "report.json").read_text())["risk"]["passing"]
    assert block["max_size"] == 3
    assert block["left_out"] == []
    assert max(len(each["columns"]) for each in block["smallest"]) > 1
    assert sum(each["uniques"] for each in block["smallest"]) >= 400 * block["uniques"]


@pytest.mark.parametrize("command", ["mondrian", "datafly", "anatomy", "randomize"])
def test_what_is_required_and_not_met_is_refused(run: Run, tmp_path: Path, table: Path, command: str) -> None:
    """Nothing is written, and the message says what to do."""
    ended = run(command, spec(tmp_path, command, passing={"uniques": 0.01}), "-o", "released.csv")
    assert ended.code == 1
    text = " ".join(ended.err.split())
    assert "passing (uniques=0.01) is not met" in text
    assert "list these columns as quasi-identifiers, generalize or drop them" in text
    assert not (tmp_path / "released.csv").exists()


@pytest.mark.parametrize("command", ["anatomy", "randomize"])
def test_other_families_say_it(run: Run, tmp_path: Path, table: Path, command: str) -> None:
    ended = run(command, spec(tmp_path, command), "-o", "released.csv", "--report", "report.json")
    assert ended.code == 0, ended.err
    report = json.loads((tmp_path / "report.json").read_text())
    assert any(SAID in warning for warning in report["warnings"])
    block, name = report["risk"]["passing"], "released.csv" if command == "randomize" else "released.qit.csv"
    assert block["uniques"] == pytest.approx(attacker(tmp_path / name, PASSING))
    together = attacker(tmp_path / name, [*PASSING, "age"])
    assert block["uniques_with_quasi_identifiers"] == pytest.approx(together)


def test_what_is_required_and_met(run: Run, tmp_path: Path, table: Path) -> None:
    path = spec(tmp_path, passing={"uniques": 1})
    assert run("mondrian", path, "-o", "released.csv", "--report", "report.json").code == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["privacy"]["satisfied"] is True
    assert report["risk"]["passing"]["satisfied"] is True
    assert report["risk"]["passing"]["required"] == {"uniques": 1}


def test_nothing_singled_out_is_not_warned_of(run: Run, tmp_path: Path) -> None:
    rows = [[20 + n % 2, n // 2 % 2, 1, 1, "ab"[n // 4 % 2]] for n in range(40)]
    with (tmp_path / "table.csv").open("w", newline="") as file:
        csv.writer(file).writerows([NAMES, *rows])
    path = spec(tmp_path, passing={"uniques": 0})
    assert run("mondrian", path, "-o", "released.csv", "--report", "report.json").code == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["risk"]["passing"]["uniques_with_sensitive"] == 0
    assert not any("pass through" in warning for warning in report["warnings"])


def test_audit_with_a_spec(run: Run, tmp_path: Path, table: Path) -> None:
    ended = run("audit", spec(tmp_path), "--json")
    assert ended.code == 0
    report = json.loads(ended.out)
    agrees(report, table, GROUPS)
    assert any(SAID in warning for warning in report["warnings"])
    ended = run("audit", spec(tmp_path, passing={"uniques": 0.5}), "--json")
    assert ended.code == 1
    assert json.loads(ended.out)["privacy"]["satisfied"] is False
    assert run("audit", spec(tmp_path, passing={"uniques": 1.0})).code == 0


def test_audit_without_a_spec(run: Run, tmp_path: Path, table: Path) -> None:
    """What no option names passes through."""
    ended = run("audit", "-i", table, "--qi", "age", "--sensitive", "ill", "-k", "5", "--json")
    assert ended.code == 0
    report = json.loads(ended.out)
    assert report["risk"]["passing"]["columns"] == PASSING
    agrees(report, table, GROUPS)
    assert any(SAID in warning for warning in report["warnings"])


def test_a_public_report_says_it_too(run: Run, tmp_path: Path, table: Path) -> None:
    ended = run("mondrian", spec(tmp_path), "-o", "released.csv", "--report", "report.json", "--public-report")
    assert ended.code == 0, ended.err
    report = json.loads((tmp_path / "report.json").read_text())
    agrees(report, tmp_path / "released.csv", GROUPS)
    assert any(SAID in warning for warning in report["warnings"])


def test_rows_about_one_individual_count_as_one(run: Run, tmp_path: Path) -> None:
    """Both rows of a person agree with nobody else's."""
    rows = [[n // 2, 20, n // 2 % 4 if n < 32 else n // 2, 1, 1, "ab"[n % 2]] for n in range(40)]
    with (tmp_path / "table.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["person", *NAMES], *rows])
    path = spec(tmp_path)
    path.write_text(path.read_text() + "unit: person\n")
    assert run("mondrian", path, "-o", "released.csv", "--report", "report.json").code == 0
    block = json.loads((tmp_path / "report.json").read_text())["risk"]["passing"]
    assert block["uniques"] == 8 / 40


# --- gates -----------------------------------------------------------------------------------------------------------

AUDIT = ("audit", "spec.yaml", "-i", "released.csv")


def test_what_passes_through_is_a_gate_of_an_audit(run: Run, table: Path, tmp_path: Path) -> None:
    assert table.exists()
    spec(tmp_path)
    assert run("mondrian", "spec.yaml", "-o", "released.csv").code == 0
    assert run(*AUDIT).code == 0
    refused = run(*AUDIT, "--require", "passing uniques=0.01")
    assert refused.code == 1 and "passing (uniques=0.01) is not met" in refused.err
    assert run(*AUDIT, "--require", "passing uniques=1").code == 0
    wrong = run(*AUDIT, "--require", "passing uniques=2", "--require", "passing share=0.1")
    assert wrong.code == 2 and wrong.err.count("expected passing uniques=SHARE") == 2


def test_the_stricter_bound_holds(run: Run, table: Path, tmp_path: Path) -> None:
    assert table.exists()
    spec(tmp_path, passing={"uniques": 0.01})
    assert run("mondrian", "spec.yaml", "-o", "released.csv", "--allow-unsafe").code == 0
    assert run(*AUDIT, "--require", "passing uniques=1").code == 1


def test_what_passes_through_must_not_become_worse(run: Run, table: Path, tmp_path: Path) -> None:
    assert table.exists()
    spec(tmp_path)
    assert run("mondrian", "spec.yaml", "-o", "released.csv").code == 0
    (tmp_path / "before.json").write_text(run(*AUDIT, "--json").out)
    gate = (*AUDIT, "--baseline", "before.json", "--no-regress")
    assert run(*gate).code == 0
    report = json.loads((tmp_path / "before.json").read_text())
    report["risk"]["passing"]["uniques"] = 0.5
    (tmp_path / "before.json").write_text(json.dumps(report))
    worse = run(*gate)
    assert worse.code == 1 and "passing uniques is" in worse.err


# --- public reports --------------------------------------------------------------------------------------------------


def test_the_public_report_of_a_randomized_table_has_it(run: Run, table: Path, tmp_path: Path) -> None:
    assert table.exists()
    spec(tmp_path, "randomize")
    command = ("randomize", "spec.yaml", "-o", "released.csv", "-r", "report.json", "--force")
    assert run(*command, "--public-report").code == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["risk"]["passing"]["uniques"] == attacker(tmp_path / "released.csv", PASSING) > 0.9
    assert any(SAID in text for text in report["warnings"])


def test_the_public_report_of_individuals_has_it_row_by_row(run: Run, table: Path, tmp_path: Path) -> None:
    """Three rows of one person agree, so that rows say less than individuals do; nothing is shown to be met."""
    header, *rows = table.read_text().splitlines()
    people = [f"{row},{number}" for number, row in enumerate(rows)]
    table.write_text("\n".join([f"{header},whom", *people, people[-1], people[-1], ""]))
    path = spec(tmp_path, passing={"uniques": 1})
    path.write_text(path.read_text() + "unit: whom\n")
    command = ("mondrian", "spec.yaml", "-o", "released.csv", "-r", "report.json", "--force")
    assert run(*command, "--public-report").code == 0
    block = json.loads((tmp_path / "report.json").read_text())["risk"]["passing"]
    assert block["uniques"] == attacker(tmp_path / "released.csv", PASSING)
    assert (block["counts"], block["required"], block["satisfied"]) == ("rows", {"uniques": 1}, None)
    assert run(*command).code == 0
    assert json.loads((tmp_path / "report.json").read_text())["risk"]["passing"]["uniques"] > block["uniques"]
