"""Tables as people have them: what the commands say of them, and the keys that read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.security.commands import run

ROWS = [f"{20 + row % 30},{'FM'[row % 2]},{('flu', 'gout', 'angina')[row % 3]}" for row in range(60)]
TABLE = "\n".join(["age,sex,illness", *ROWS]) + "\n"
AGE_SEX: dict[str, Any] = {"age": {"type": "numeric"}, "sex": {}}


def files(folder: Path, table: str, **keys: Any) -> tuple[Path, Path]:
    """A spec and its table."""
    spec = {"version": 1, "quasi_identifiers": AGE_SEX, "others": "drop", "privacy": {"k": 3}, **keys}
    (folder / "spec.yaml").write_text(json.dumps(spec))
    (folder / "table.csv").write_text(table)
    return folder / "spec.yaml", folder / "table.csv"


@pytest.mark.parametrize("others", ["error", "drop", "insensitive"])
def test_a_wrong_separator_is_said_by_its_sign(tmp_path: Path, others: str) -> None:
    spec, table = files(tmp_path, TABLE.replace(",", ";"), others=others)
    ended = run("mondrian", spec, "-i", table, "-q")
    assert (ended.returncode, 'set input.separator: ";"' in ended.stderr) == (3, True)


def test_a_wrong_separator_is_said_where_decimals_part_the_rows(tmp_path: Path) -> None:
    german = "\n".join(["age;sex;pay", *(f"{20 + row};F;{row},5" for row in range(20))]) + "\n"
    spec, table = files(tmp_path, german)
    ended = run("mondrian", spec, "-i", table, "-q")
    assert (ended.returncode, 'set input.separator: ";"' in ended.stderr) == (3, True)


def test_a_header_in_another_case_is_what_was_meant(tmp_path: Path) -> None:
    spec, table = files(tmp_path, TABLE.replace("sex", "SEX", 1))
    ended = run("mondrian", spec, "-i", table, "-q")
    assert (ended.returncode, "did you mean 'SEX'?" in ended.stderr) == (3, True)


@pytest.mark.parametrize("others", ["error", "drop", "insensitive"])
def test_a_column_without_a_name_is_left_out_where_the_spec_says_so(tmp_path: Path, others: str) -> None:
    trailing = TABLE.replace("\n", ",\n")
    spec, table = files(tmp_path, trailing)
    ended = run("mondrian", spec, "-i", table, "-q")
    assert (ended.returncode, "column 4 has no name" in ended.stderr, "{unnamed: drop}" in ended.stderr) == (
        3,
        True,
        True,
    )
    spec, table = files(tmp_path, trailing, others=others, input={"unnamed": "drop"}, identifiers=["illness"])
    recoding = tmp_path / "recoding.json"
    ended = run("mondrian", spec, "-i", table, "-q", "--save-recoding", recoding)
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (0, "age,sex")
    recoded = run("recode", recoding, "-i", table, "-q")
    assert (recoded.returncode, recoded.stdout.splitlines()[0]) == (0, "age,sex")


def test_a_separator_at_the_end_of_a_row_is_named(tmp_path: Path) -> None:
    spec, table = files(tmp_path, TABLE.replace(ROWS[4], ROWS[4] + ","))
    ended = run("mondrian", spec, "-i", table, "-q")
    assert (ended.returncode, "table.csv:6: 4 fields" in ended.stderr, "at the end of the line" in ended.stderr) == (
        3,
        True,
        True,
    )


def test_the_empty_value_of_a_hierarchy_may_stay_empty(tmp_path: Path) -> None:
    (tmp_path / "sex.csv").write_text("F;person;*\nM;person;*\n;;*\n")
    columns = {"age": {"type": "numeric"}, "sex": {"hierarchy": "sex.csv"}}
    spec, table = files(tmp_path, TABLE.replace(",F,", ",,"), quasi_identifiers=columns)
    assert run("mondrian", spec, "-i", table, "-q").returncode == 0
    (tmp_path / "sex.csv").write_text("F;;*\nM;person;*\n")
    assert "field 2 is empty" in run("mondrian", spec, "-i", table, "-q").stderr


@pytest.mark.parametrize(
    ("privacy", "says"),
    [
        ({"k": 500}, "nearest feasible: k=60"),
        ({"k": 2, "l": 900}, "nearest feasible: l=3"),
        ({"combinations": [{"columns": ["sex"], "k": 61}]}, "nearest feasible: k=60"),
    ],
)
def test_what_no_release_can_meet_is_said_before_there_is_one(
    tmp_path: Path, privacy: dict[str, Any], says: str
) -> None:
    spec, table = files(tmp_path, TABLE, sensitive={"illness": {}}, privacy=privacy)
    ended = run("validate", spec, "-i", table)
    assert (ended.returncode, says in ended.stderr) == (4, True)


def test_an_audit_reads_a_table_as_the_spec_does_where_it_is_no_utf8(tmp_path: Path) -> None:
    spec, table = files(tmp_path, TABLE, input={"encoding": "latin-1"}, insensitive=["illness"])
    table.write_bytes(TABLE.replace(",F", ",Frau ö").encode("latin-1"))
    latin = run("audit", spec, "-i", table, "-k", "1")
    assert latin.returncode == 0, latin.stderr
    table.write_text(TABLE.replace(",F", ",Frau ö"))
    assert run("audit", spec, "-i", table, "-k", "1").returncode == 0


def test_a_combination_that_is_not_met_is_named_by_its_line(tmp_path: Path) -> None:
    spec, table = files(
        tmp_path, TABLE, privacy={"combinations": [{"columns": ["age", "sex"], "k": 50}]}, insensitive=["illness"]
    )
    ended = run("audit", spec, "-i", table)
    assert (ended.returncode, "spec.yaml:1: k-anonymity of a combination" in ended.stderr) == (1, True)
