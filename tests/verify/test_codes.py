"""Levels and codes in the text of a table, against answers worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.security.commands import run

TREE = "cook;kitchen;trade;*\nbaker;kitchen;trade;*\nnurse;ward;care;*\n"


def audited(
    folder: Path, column: dict[str, Any], cells: list[str], **more: Any
) -> tuple[int, list[dict[str, Any]], str]:
    """The exit code, the entries of levels and codes, and the messages of a table with one quasi-identifier."""
    (folder / "jobs.csv").write_text(TREE)
    spec = {"version": 1, "input": {"missing": ["?"]}, "quasi_identifiers": {"x": column}, "privacy": {"k": 1}}
    spec |= {"output": {"edges": "tight"}} | more
    (folder / "spec.yaml").write_text(json.dumps(spec))
    name = "x"
    if cells and ";" in cells[0]:
        name = "x_low,x_high"
    (folder / "t.csv").write_text("\n".join([name, *(f'"{each}"'.replace(";", '","') for each in cells)]) + "\n")
    ended = run("audit", folder / "spec.yaml", "-i", folder / "t.csv", "--json")
    models = json.loads(ended.stdout)["privacy"]["models"]
    return ended.returncode, [each for each in models if each["model"] != "k-anonymity"], ended.stdout + ended.stderr


ZIP = {"hierarchy": {"mask": "right"}}
DATE = {"hierarchy": {"dates": ["month", "year", "decade"]}}
AGE = {"type": "numeric", "hierarchy": {"intervals": [5, 10]}}
BANDS = {"type": "numeric", "hierarchy": {"bands": [18, 65]}}
JOB = {"hierarchy": "jobs.csv"}


@pytest.mark.parametrize(
    ("column", "levels", "cells", "failing"),
    [
        (ZIP, {"min": 2}, ["021**", "02***", "*", "?"], 0),
        (ZIP, {"min": 2}, ["0213*", "02138", "021**"], 2),
        (ZIP, {"max": 2}, ["021**", "02138", "{02138|02139}", "02***"], 1),
        ({"hierarchy": {"prefix": [3, 1]}}, {"min": 1, "max": 1}, ["021*", "02138", "0*"], 2),
        (DATE, {"min": 2}, ["1950", "1950s", "1950-03", "1950-03-17"], 2),
        (DATE, {"max": 2}, ["1950", "1950-03", "1950s", "{1950-03|1950-04}", "{1950|1951}"], 2),
        ({"hierarchy": {"times": ["hour", "half-day"]}}, {"min": 1}, ["14:00-14:59", "12:00-23:59", "14:35"], 1),
        (AGE, {"min": 1}, ["[20-24]", "[20-34]", "21", "[20-23]", "[21-24]"], 3),
        (AGE, {"min": 1}, ["[20-25)", "[20-24)", "20+", "[5-14] or ?"], 1),
        (AGE, {"max": 2}, ["[20-29]", "[23-27]", "[25-34]", "7"], 1),
        (AGE, {"min": 3}, ["*", "[0-99]"], 1),
        ({"hierarchy": {"prefix": [3, 1]}}, {"max": 2}, ["{0|1}", "{021|023}"], 1),
        ({"hierarchy": {"codes": "icd10"}}, {"min": 2}, ["E10-E14", "IV E00-E90", "E11*", "E11.9"], 2),
        ({"hierarchy": {"codes": "icd10"}}, {"max": 2}, ["{E11.9|E10.1}", "{E11.9|E03.1}", "IV E00-E90"], 2),
        (BANDS, {"min": 1, "max": 1}, ["17-", "[18-64]", "65+", "[18-70]", "[20-64]"], 2),
        (JOB, {"min": 1}, ["kitchen", "care", "*", "cook", "{cook|nurse}"], 2),
        (JOB, {"max": 1}, ["kitchen", "cook", "trade", "{cook|baker}", "{cook|nurse}"], 1),
    ],
)
def test_what_lies_outside_the_levels_is_counted(
    tmp_path: Path, column: dict[str, Any], levels: dict[str, int], cells: list[str], failing: int
) -> None:
    code, [found], printed = audited(tmp_path, {**column, "levels": levels}, cells)
    assert (code, found["failing_rows"], found["satisfied"]) == (int(failing > 0), failing, failing == 0)
    assert found["required"] == {"min": 0, **levels}
    assert not failing or "something finer than level" in printed or "something wider than a node of level" in printed


def test_a_label_that_the_hierarchy_has_not_is_unknown(tmp_path: Path) -> None:
    code, [found], printed = audited(tmp_path, {**JOB, "levels": {"min": 1}}, ["kitchen", "office"])
    assert (code, found["satisfied"], found["basis"]) == (1, None, "unknown")
    assert "1 rows show what the spec does not place" in printed


def test_leaves_that_a_builder_counts_are_unknown_without_the_original(tmp_path: Path) -> None:
    code, [found], _ = audited(
        tmp_path, {**ZIP, "levels": {"min": 1}}, ["0;3", "0;3"], output={"categorical": "bounds"}
    )
    assert (code, found["satisfied"]) == (1, None)


def test_leaves_of_a_file_are_judged_by_its_order(tmp_path: Path) -> None:
    bounds = {"output": {"categorical": "bounds"}}
    assert audited(tmp_path, {**JOB, "levels": {"min": 1}}, ["0;1", "2;2", "0;2"], **bounds)[0] == 0
    code, [found], _ = audited(tmp_path, {**JOB, "levels": {"min": 1}}, ["0;1", "1;2", "0;0"], **bounds)
    assert (code, found["failing_rows"]) == (1, 2)


@pytest.mark.parametrize(
    ("codes", "cells", "failing"),
    [
        ({"top": 90}, ["90+", "[80-90]", "[80-95]", "97"], 2),
        ({"bottom": 18}, ["18-", "[18-20]", "[12-20]"], 1),
        ({"round": 5}, ["[20-35]", "20", "[20-34]", "20+"], 1),
    ],
)
def test_codes_of_numbers_are_measured(tmp_path: Path, codes: dict[str, int], cells: list[str], failing: int) -> None:
    code, [found], _ = audited(tmp_path, {"type": "numeric", **codes}, cells)
    assert (code, found["failing_rows"]) == (1, failing)


@pytest.mark.parametrize(
    ("codes", "cells", "failing"),
    [
        (
            {"bottom": 1934},
            ["1934-", "1930s-", "1930s", "1934", "1935-02-03", "*", "1933-", "1934-12-31", "1920s"],
            3,
        ),
        ({"bottom": "1934-05-03"}, ["1934-05-03-", "1934-05-", "1934-", "1934-05-02", "1934-04-", "1934-05-03"], 2),
        ({"top": 1999}, ["1999+", "1990s+", "1990s", "1999", "2000", "1999-05", "2000+", "{1998|2001}"], 4),
    ],
)
def test_codes_of_dates_are_measured(tmp_path: Path, codes: dict[str, Any], cells: list[str], failing: int) -> None:
    code, [found], _ = audited(tmp_path, {**DATE, **codes}, cells)
    assert (code, found["failing_rows"]) == (1, failing)


def test_open_ends_of_dates_are_at_their_level(tmp_path: Path) -> None:
    code, found, _ = audited(tmp_path, {**DATE, "levels": {"min": 2}, "bottom": 1934}, ["1934-", "1930s-", "1950"])
    assert (code, [each["satisfied"] for each in found]) == (0, [True, True])


def test_rare_values_are_not_judged_without_the_original(tmp_path: Path) -> None:
    code, found, printed = audited(tmp_path, {"hierarchy": {"rare": {"below": 5}}}, ["cook", "cook"])
    assert (code, found) == (0, [])
    assert "rare of x is not judged" in printed
