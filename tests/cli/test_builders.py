"""Published codes, ZIP areas, weeks and bands, from a first spec to a release, a check of it, and a saved recoding."""

from __future__ import annotations

import csv
import json
import random
import re
from pathlib import Path

import pytest

from tests.security.commands import run

SPEC = """version: 1
input: {path: t.csv}
quasi_identifiers:
  age: {type: numeric, hierarchy: {bands: [[18, 30, 45, 65, 80], [18, 65]]}, levels: {min: 1, max: 2}}
  icd: {hierarchy: {codes: icd10}, levels: {min: 1}}
  zip: {hierarchy: {zip3: people.csv}, levels: {min: 1}}
  week: {hierarchy: {dates: [week, year]}, levels: {min: 2}}
unit: pid
privacy: {k: 2, suppression: 0.5}
output: {suppressed_rows: drop}
"""
VALUES = [
    ["E11.9", "E10.1", "I10", "I21.4", "F32.1"],
    ["02138", "02139", "10001", "03601", "90210"],
    ["2023-W01", "2023-W52", "2024-12-30"],
]


def fill(folder: Path) -> list[list[str]]:
    draw = random.Random(5)
    rows = [[f"p{n}", str(draw.randrange(95)), *map(draw.choice, VALUES)] for n in range(300)]
    write(folder / "t.csv", rows)
    (folder / "people.csv").write_text("zcta,people\n2138,15000\n02139,15000\n10001,25000\n90210,20000\n")
    (folder / "spec.yaml").write_text(SPEC)
    run("key", "make", folder / "key")
    return rows


def write(path: Path, rows: list[list[str]]) -> None:
    with path.open("w") as file:
        csv.writer(file, lineterminator="\n").writerows([["pid", "age", "icd", "zip", "week"], *rows])


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
def test_nothing_finer_than_the_levels_is_released(tmp_path: Path, algorithm: str) -> None:
    fill(tmp_path)
    (tmp_path / "spec.yaml").write_text(SPEC.replace("unit: pid", "identifiers: [pid]"))
    ended = run(algorithm, tmp_path / "spec.yaml", "-o", tmp_path / "o.csv", "-r", tmp_path / "r.json")
    assert ended.returncode == 0, ended.stderr
    cells = list(csv.DictReader((tmp_path / "o.csv").read_text().splitlines()))
    assert {row["zip"] for row in cells} <= {"021*", "100*", "000", "*"}
    assert {row["week"] for row in cells} <= {"2023", "2025", "*"}
    assert run("audit", tmp_path / "spec.yaml", "-i", tmp_path / "o.csv").returncode == 0
    models = json.loads((tmp_path / "r.json").read_text())["privacy"]["models"]
    levels = [each["satisfied"] for each in models if each["model"] == "levels"]
    assert levels == [True] * 4


def test_a_saved_recoding_knows_values_that_it_has_not_seen(tmp_path: Path) -> None:
    rows = fill(tmp_path)
    saved = ["--save-recoding", tmp_path / "saved.json"]
    assert run("datafly", tmp_path / "spec.yaml", "-o", tmp_path / "o.csv", *saved).returncode == 0
    new = [["q1", "101", "E10.8", "02199", "2023-W33"], ["q2", "1", "E10.8", "59001", "2023-W33"]]
    write(tmp_path / "new.csv", [*rows, *new])
    assert run("recode", tmp_path / "saved.json", "-i", tmp_path / "new.csv", "-o", tmp_path / "n.csv").returncode == 0
    known = set((tmp_path / "o.csv").read_text().splitlines())
    assert set((tmp_path / "n.csv").read_text().splitlines()) <= known


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
def test_a_series_goes_on_with_the_same_areas_and_no_others(tmp_path: Path, algorithm: str) -> None:
    fill(tmp_path)
    spec = tmp_path / "spec.yaml"
    if algorithm == "mondrian":  # whose series does not keep to levels
        spec.write_text(re.sub(r", levels: \{[^}]*\}", "", SPEC))
    keyed = ["--key", tmp_path / "key"]
    first = run(algorithm, spec, "-o", tmp_path / "1.csv", "--start-series", tmp_path / "state", *keyed)
    assert first.returncode == 0, first.stderr
    second = run(algorithm, spec, "-o", tmp_path / "2.csv", "--after", tmp_path / "state", *keyed)
    assert second.returncode == 0, second.stderr
    (tmp_path / "people.csv").write_text("zcta,people\n02138,35000\n")
    third = run(algorithm, spec, "-o", tmp_path / "3.csv", "--after", tmp_path / "state", *keyed)
    assert third.returncode == 2


def test_a_text_that_is_no_code_is_named_by_line_and_count(tmp_path: Path) -> None:
    rows = fill(tmp_path)
    write(tmp_path / "t.csv", [*rows[:7], ["q", "5", "A10.1", "9021", "2023-W60"], *rows[7:]])
    ended = run("validate", tmp_path / "spec.yaml", "-i", tmp_path / "t.csv")
    assert ended.returncode == 3 and "A10" not in ended.stderr
    assert "t.csv:9: column 'icd': 1 of 6 distinct values are not ICD-10 codes" in ended.stderr
    assert "t.csv:9: column 'zip': 1 of 6 distinct values are not ZIP codes" in ended.stderr
    assert "t.csv:9: column 'week': 1 of 4 distinct values are not ISO dates or weeks" in ended.stderr


def test_bands_and_codes_beside_it_are_refused(tmp_path: Path) -> None:
    fill(tmp_path)
    spec = SPEC.replace("levels: {min: 1, max: 2}", "top: 80").replace("levels: {min: 2}", "bottom: 1990")
    (tmp_path / "spec.yaml").write_text(spec)
    ended = run("validate", tmp_path / "spec.yaml")
    assert ended.returncode == 2
    assert "cannot be combined with `bands`" in ended.stderr and "cannot be combined with `week`" in ended.stderr
