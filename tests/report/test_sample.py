"""The rows and labels of a release that a report shows, and what of them it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.privacy import PARAMETERS
from anonymize.report import RENDERERS
from anonymize.report.sample import sample
from anonymize.spec import Spec, make


def spec(folder: Path, **output: Any) -> Spec:
    (folder / "jobs.csv").write_text("cook;kitchen;*\nclerk;office;*\n")
    quasi = {"age": {"type": "numeric"}, "job": {"hierarchy": str(folder / "jobs.csv")}, "sex": {}, "zip": {}}
    content = {"version": 1, "quasi_identifiers": quasi, "sensitive": ["ill"], "insensitive": ["ward"]}
    return make({**content, "privacy": {"k": 2}, "output": output}, PARAMETERS)


def frame(**columns: list[str]) -> pl.LazyFrame:
    return pl.LazyFrame(columns)


def test_values_are_null_and_what_stands_for_several_is_shown(tmp_path: Path) -> None:
    text = frame(
        age=["[20-29]", "34", "*"],
        job=["cook", "kitchen", "*"],
        sex=["M", "{F|M}", "*"],
        zip=["02138", "021**", "02139"],
        ill=["flu", "cold", "flu"],
        ward=["A", "B", "C"],
    )
    leaves = {"job": ["cook", "clerk"], "sex": ["M", "F"], "zip": ["02138", "02139"]}
    block, places = sample(text, spec(tmp_path), leaves)
    assert block["rows"] == [
        [None, None, None, None, None, None],
        [None, "kitchen", None, "021**", None, None],
        ["*", "*", "*", None, None, None],
    ]
    assert (block["labels"]["zip"], block["looked_at"], places) == ([["021**", 1]], 3, [0, 1, 2])
    assert "ill" not in block["labels"]
    assert sample(text, spec(tmp_path), {})[0]["rows"][1][3] is None, "of unknown leaves nothing is known to be a node"
    values, _ = sample(text, spec(tmp_path), {}, values=True)
    assert values["rows"][0] == ["[20-29]", "cook", "M", "02138", "flu", "A"]


def test_ten_rows_stand_at_equal_distances_and_of_values_alone_there_is_no_block(tmp_path: Path) -> None:
    text = frame(job=["kitchen", "*"] * 47 + ["kitchen"])
    block, places = sample(text, spec(tmp_path), {"job": ["cook", "clerk"]})
    assert places == list(range(0, 90, 9)) and [row[0] for row in block["rows"]][:3] == ["kitchen", "*", "kitchen"]
    assert sample(frame(ward=["a", "b"]), spec(tmp_path), {}) == ({}, [])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"{20 + row % 30},S{row % 7}ECRET,P{row}ERSON,ill{row // 30 % 5}" for row in range(300)]
    (tmp_path / "table.csv").write_text("\n".join(["age,job,name,illness", *rows]) + "\n")
    content = {"version": 1, "input": {"path": "table.csv"}, "identifiers": ["name"], "privacy": {"k": 5}}
    content |= {"quasi_identifiers": {"age": {"type": "numeric"}, "job": {}}, "insensitive": ["illness"]}
    (tmp_path / "spec.yaml").write_text(json.dumps(content))
    return tmp_path


def reports(folder: Path, *options: str) -> dict[str, str]:
    paths = {kind: folder / f"report{kind}" for kind in RENDERERS}
    given = [option for path in paths.values() for option in ("-r", str(path))]
    released = ["mondrian", str(folder / "spec.yaml"), "-o", str(folder / "released.csv"), "--force", "-q"]
    assert outcome(lambda: run([*released, *given, *options])) == 0
    return {kind: path.read_text() for kind, path in paths.items()}


@pytest.mark.parametrize("options", [(), ("--public-report",)])
def test_no_form_of_a_report_shows_a_value_unless_values_are_shown(folder: Path, options: tuple[str, ...]) -> None:
    for text in reports(folder, *options).values():
        assert not any(f"S{row}ECRET" in text or f"ill{row % 5}" in text for row in range(7)) and "PERSON" not in text
    shown_rows = json.loads(reports(folder, "--show-values")[".json"])["sample"]
    released = (folder / "released.csv").read_text().splitlines()[1:]
    assert [",".join(row) for row in shown_rows["rows"]] == released[::30]
    original = shown_rows["original"]
    assert original["columns"] == ["age", "job", "illness"] and len(original["rows"]) == 10
    for before, after in zip(original["rows"], shown_rows["rows"], strict=True):
        assert before[-1] == after[-1] and after[1] in (before[1], "*"), "the row of the original that it was"
    assert "The same rows of the original" in reports(folder, "--show-values")[".html"]


def test_values_are_not_for_the_public(folder: Path) -> None:
    given = ["mondrian", str(folder / "spec.yaml"), "-o", "-", "--public-report", "--show-values", "-q"]
    assert outcome(lambda: run(given)) == 2
