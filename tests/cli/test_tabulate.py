"""`tabulate` as a user runs it: a folder of tables, whole or not at all, with its reports."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import shutil
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.report import SCHEMA
from tests.cli.conftest import Call

ROWS = [
    (n // 2, 20 + n % 45, "MF"[n % 2], ("A1", "A1", "A2", "B1", "B2", "B2")[n % 6], n * 7 % 90 + 10) for n in range(120)
]
TABLE = "id,age,sex,town,wage\n" + "".join(f"{i},{a},{s},{t},{'' if w == 24 else w}\n" for i, a, s, t, w in ROWS)
TABLE += "200,33,,A2,4000\n"
SPEC = """\
version: 1
input: {path: table.csv}
identifiers: [id]
quasi_identifiers: {age: {type: numeric, bins: [30, 50]}, town: {hierarchy: town.csv}, sex: {}}
sensitive: {wage: {type: numeric}}
tabulate:
  mechanism: suppression
  tables: [{by: [town, age], count: true}, {by: [sex], share: true}, {by: [town], mean: wage}, {by: [sex], sum: wage}]
  suppression: {minimum: 8, p: 10}
"""


def written(folder: Path) -> Path:
    (folder / "table.csv").write_text(TABLE)
    (folder / "town.csv").write_text("A1;A;*\nA2;A;*\nB1;B;*\nB2;B;*\n")
    (folder / "spec.yaml").write_text(SPEC)
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return written(tmp_path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of the spec, which are made once."""
    folder = written(tmp_path_factory.mktemp("made"))
    with contextlib.chdir(folder):
        assert outcome(lambda: run(["tabulate", "spec.yaml", "-o", "tables", "-q"])) == 0
    return folder / "tables"


@pytest.fixture
def tabulated(folder: Path, made: Path) -> Path:
    """The folder with the tables in it."""
    shutil.copytree(made, folder / "tables")
    return folder


def with_tables(spec: str, tables: str) -> str:
    """A spec with other tables."""
    return spec[: spec.index("tables: [")] + tables + spec[spec.index("\n  suppression: {") :]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_table_has_its_totals_and_blanks(call: Call, folder: Path) -> None:
    result = call("tabulate", "spec.yaml", "-o", "tables", "-r", "report.json")
    assert result.code == 0, result.err
    names = ["manifest.json", "table-1-count.csv", "table-2-share.csv", "table-3-mean.csv", "table-4-sum.csv"]
    assert sorted(each.name for each in (folder / "tables").iterdir()) == names
    counts = {(each["town"], each["age"]): each for each in rows(folder / "tables/table-1-count.csv")}
    assert counts["Total", "Total"]["count"] == "121" and counts["A", "Total"]["count"] == "61"
    assert {each["status"] for each in counts.values()} == {"published", "suppressed"}
    blank = {key for key, each in counts.items() if each["status"] == "suppressed"}
    assert blank and all(counts[key]["count"] == "" for key in blank)
    report = json.loads((folder / "report.json").read_text())
    assert report["privacy"]["satisfied"] and report["tabulation"]["tables"][0]["blank"] == len(blank)
    assert (folder / "report.json").stat().st_mode & 0o777 == 0o600
    jsonschema.validate(report, json.loads(SCHEMA.read_text()))


def test_a_missing_value_is_a_group_of_its_own(tabulated: Path) -> None:
    shares = {each["sex"]: each for each in rows(tabulated / "tables/table-2-share.csv")}
    assert list(shares) == ["F", "M", "", "Total"] and shares[""]["status"] == "suppressed"
    assert [each["status"] for each in shares.values()].count("suppressed") >= 2


def test_reruns_are_the_same_bytes(call: Call, folder: Path) -> None:
    for name in ("one", "two"):
        assert call("tabulate", "spec.yaml", "-o", name, "-q").code == 0
    for each in (folder / "one").iterdir():
        assert each.read_bytes() == (folder / "two" / each.name).read_bytes()


def test_the_manifest_says_what_the_tables_mean(tabulated: Path) -> None:
    manifest = json.loads((tabulated / "tables/manifest.json").read_text())
    assert manifest["mechanism"] == "suppression" and manifest["groups"]["town"]["A1"] == "A"
    assert manifest["files"][2]["columns"][-1] == {"name": "mean", "meaning": "aggregate", "method": "suppression"}


@pytest.mark.parametrize("path", ["tables", "tables/table-1-count.csv", "tables/manifest.json"])
def test_what_measures_releases_of_rows_says_that_these_are_tables(call: Call, tabulated: Path, path: str) -> None:
    for command in (["audit", "spec.yaml", "-i", path], ["evaluate", "spec.yaml", path], ["attack", "spec.yaml", path]):
        outcome = call(*command)
        assert outcome.code == 2 and "these are tables of `tabulate`, which were checked when" in outcome.err
    (tabulated / "tables/other.csv").write_text(TABLE)
    assert call("audit", "spec.yaml", "-i", "tables/other.csv").code != 2
    said = call("audit", "spec.yaml", "-i", "tables").err
    assert "tables/other.csv: is in a folder of tables, and the manifest does not name it" in said


def test_a_public_report_has_nothing_of_unsafe_groups(call: Call, folder: Path) -> None:
    assert call("tabulate", "spec.yaml", "-o", "tables", "--public-report", "-r", "report.json", "-q").code == 0
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    assert report["public"] and not {"input", "timing", "memory", "started_at"} & report.keys()
    assert "private" not in report["tabulation"] and report["privacy"]["models"][0]["achieved"] == {}


def test_a_dry_run_writes_reports_alone(call: Call, folder: Path) -> None:
    assert call("tabulate", "spec.yaml", "-o", "tables", "--dry-run", "-r", "report.json", "-q").code == 0
    assert not (folder / "tables").exists() and (folder / "report.json").exists()
    assert not [each for each in os.listdir(folder) if each.startswith("anonymize-")]


def test_a_folder_with_files_is_not_taken(call: Call, folder: Path) -> None:
    (folder / "tables").mkdir()
    assert call("tabulate", "spec.yaml", "-o", "tables", "-q").code == 0  # an empty one is
    result = call("tabulate", "spec.yaml", "-o", "tables", "-q")
    assert result.code == 2 and "--force" in result.err
    assert call("tabulate", "spec.yaml", "-o", "tables", "-q", "--force").code == 0


def test_force_replaces_nothing_but_tables(call: Call, folder: Path) -> None:
    assert call("tabulate", "spec.yaml", "-o", "tables", "-q").code == 0
    (folder / "tables/notes.txt").write_text("mine")
    result = call("tabulate", "spec.yaml", "-o", "tables", "-q", "--force")
    assert result.code == 2 and "1 files that no earlier run has made" in result.err
    assert call("tabulate", "spec.yaml", "-o", str(folder), "-q", "--force").code == 2
    assert (folder / "tables/notes.txt").read_text() == "mine" and (folder / "table.csv").exists()


def test_the_folder_is_gone_where_a_report_cannot_be(call: Call, folder: Path) -> None:
    result = call("tabulate", "spec.yaml", "-o", "tables", "-r", "tables/report.json", "-q")
    assert result.code == 2 and not (folder / "tables").exists()


def test_what_cannot_be_protected_is_infeasible(call: Call, folder: Path) -> None:
    (folder / "table.csv").write_text("id,age,sex,town,wage\n1,20,M,A1,10\n2,20,F,A1,99\n")
    spec = SPEC.replace("minimum: 8, p: 10", "minimum: 2")
    (folder / "spec.yaml").write_text(with_tables(spec, "tables: [{by: [sex], sum: wage}]"))
    result = call("tabulate", "spec.yaml", "-o", "tables")
    assert result.code == 4 and "sums of wage" in result.err and not (folder / "tables").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--seed", "1"], "nothing that a seed could set"),
        (["--start-series", "s"], "not protected together"),
        (["--after", "s"], "not protected together"),
        (["--save-recoding", "r.json"], "no recoding"),
        (["--engine", "spark"], "on this machine"),
        (["--memory-limit", "1GB"], "held in memory"),
        (["--allow-unsafe"], "are not written"),
        (["--key", "k.json"], "about cell keys"),
    ],
)
def test_options_of_releases_of_rows_are_refused_by_name(
    call: Call, folder: Path, options: list[str], says: str
) -> None:
    result = call("tabulate", "spec.yaml", "-o", "tables", *options)
    assert result.code == 2 and says in result.err and not (folder / "tables").exists()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("sampling_weight: wage", "rows of the input, and not the population"),
        ("treatments: [{method: noise, columns: [wage], scale: 0.1}]", "values as they are"),
    ],
)
def test_parts_of_the_spec_that_tables_do_no_justice_to(call: Call, folder: Path, line: str, says: str) -> None:
    spec = (
        SPEC
        if line.startswith("treat")
        else SPEC.replace("sensitive: {wage: {type: numeric}}\n", "").replace(
            "{by: [town], mean: wage}, {by: [sex], sum: wage}", "{by: [town], count: true}"
        )
    )
    (folder / "spec.yaml").write_text(f"{spec}{line}\n")
    result = call("tabulate", "spec.yaml", "-o", "tables")
    assert result.code == 2 and says in result.err


def test_a_spec_without_tables(call: Call, folder: Path) -> None:
    (folder / "spec.yaml").write_text(SPEC[: SPEC.index("tabulate:")])
    result = call("tabulate", "spec.yaml", "-o", "tables")
    assert result.code == 2 and "`tabulate` is missing" in result.err


def test_rows_of_one_individual_are_one(call: Call, folder: Path) -> None:
    """Twelve rows of six individuals are a group of six."""
    lines = [f"{n // 2},20,M,A1,5\n" for n in range(12)] + [f"{n},20,F,A1,5\n" for n in range(20, 60)]
    (folder / "table.csv").write_text("id,age,sex,town,wage\n" + "".join(lines))
    text = SPEC.replace("identifiers: [id]", "unit: id").replace("minimum: 8, p: 10", "minimum: 8")
    (folder / "spec.yaml").write_text(with_tables(text, "tables: [{by: [sex, town], count: true}]"))
    assert call("tabulate", "spec.yaml", "-o", "tables", "-q").code == 0
    counts = {(each["sex"], each["town"]): each["status"] for each in rows(folder / "tables/table-1-count.csv")}
    assert counts["M", "A1"] == "suppressed"


def test_a_spec_of_tables_alone_is_valid_and_says_what_comes_next(call: Call, folder: Path) -> None:
    result = call("validate", "spec.yaml", "-i", "table.csv")
    assert result.code == 0 and "anonymize tabulate spec.yaml -i table.csv -o tables" in result.err
