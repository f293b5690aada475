"""Values that are not what the spec says: the line of the first row that has one, the number of rows; never a value."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import yaml

from anonymize.table.roles import columns_in
from tests.security.running import Run, running

CELL = "SECRETCELL"
HIERARCHY = {
    "h.csv": "b;*\na;*\n",
    "n.csv": "1;low;*\n2;low;*\n",
    "t.yaml": '"*": [b, a]\n',
}
KINDS: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "a leaf of a file": ({"hierarchy": "h.csv"}, "a", CELL, "1 of 2 distinct values are not leaves of the hierarchy"),
    "a leaf of a tree": ({"hierarchy": "t.yaml"}, "a", CELL, "1 of 2 distinct values are not leaves of the hierarchy"),
    "a number of a file": (
        {"type": "numeric", "hierarchy": "n.csv"},
        "1",
        "99",
        "1 of 2 distinct numbers are not leaves of the hierarchy",
    ),
    "a date": ({"hierarchy": {"dates": ["year"]}}, "1990-01-01", CELL, "1 of 2 distinct values are not ISO dates"),
    "a date of a format": (
        {"hierarchy": {"dates": {"format": "%d.%m.%Y", "levels": ["year"]}}},
        "01.01.1990",
        "31.02.1990",
        "1 of 2 distinct values are not dates of the format %d.%m.%Y",
    ),
    "a time": ({"hierarchy": {"times": ["hour"]}}, "14:35", CELL, "1 of 2 distinct values are not times of day"),
    "a label": (
        {"hierarchy": {"rare": {"below": 3, "label": CELL}}},
        "a",
        CELL,
        "the label of `rare` is a value of the column",
    ),
    "a number": ({"type": "numeric"}, "1", CELL, "3 values are not numbers"),
}
"""What a column is, a cell that is right, one that is wrong, and what is said of it."""


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    for name, text in HIERARCHY.items():
        (tmp_path / name).write_text(text)
    return running(tmp_path, capsys)


def written(folder: Path, name: str, right: str, wrong: str) -> None:
    """A table whose first record is of two lines: the fourth row, in line 6, is wrong, and two more are."""
    rows = [("two\nlines", right), ("x", right), ("x", right), *[("y", wrong)] * 3, *[("y", right)] * 2]
    with (folder / name).open("w", newline="") as file:
        csv.writer(file).writerows([("sex", "it"), *rows])


def spec(folder: Path, definition: dict[str, Any], section: str, **more: Any) -> None:
    columns: dict[str, dict[str, Any]] = {"quasi_identifiers": {"sex": {}}, "sensitive": {}}
    columns[section] = columns[section] | {"it": definition}
    content = {"version": 1, "input": {"path": "table.csv"}, **columns, "privacy": {"k": 2}}
    (folder / "spec.yaml").write_text(yaml.safe_dump(content | more))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("section", ["quasi_identifiers", "sensitive"])
@pytest.mark.parametrize("command", ["mondrian spec.yaml", "validate spec.yaml -i table.csv"])
def test_the_first_line_is_named_and_the_rows_are_counted(
    kind: str, section: str, command: str, run: Run, tmp_path: Path
) -> None:
    definition, right, wrong, said = KINDS[kind]
    written(tmp_path, "table.csv", right, wrong)
    spec(tmp_path, definition, section)
    ended = run(*command.split())
    if ended.code == 2 and section == "sensitive":
        pytest.skip("no such hierarchy of a sensitive attribute")
    assert (ended.code, ended.out) == (3, "")
    assert "table.csv:6: " in ended.err and said in ended.err, ended.err
    assert "3 rows" in ended.err or "3 values" in ended.err
    assert CELL not in ended.err and wrong not in ended.err.replace("%d.%m.%Y", "")


def test_a_file_without_lines_names_the_row(run: Run, tmp_path: Path) -> None:
    import polars as pl

    written(tmp_path, "table.csv", "a", CELL)
    spec(tmp_path, {"hierarchy": "h.csv"}, "quasi_identifiers")
    pl.read_csv(tmp_path / "table.csv").write_parquet(tmp_path / "table.parquet")
    ended = run("mondrian", "spec.yaml", "-i", "table.parquet")
    assert ended.code == 3 and "in 3 rows, the first in row 4" in ended.err and CELL not in ended.err


def test_many_columns_are_one_line(run: Run, tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(6)]
    rows = [names, *([["a"] * 6] * 3), [CELL] * 6]
    (tmp_path / "table.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    columns = {name: {"hierarchy": "h.csv"} for name in names}
    content = {"version": 1, "input": {"path": "table.csv"}, "quasi_identifiers": columns, "privacy": {"k": 2}}
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(content))
    ended = run("mondrian", "spec.yaml")
    assert ended.code == 3 and "table.csv:5: " in ended.err and "the like in 5 more columns" in ended.err


@pytest.mark.parametrize("kind", ["a leaf of a file", "a number of a file", "a number", "a date"])
def test_of_a_population_as_well(kind: str, run: Run, tmp_path: Path) -> None:
    definition, right, wrong, _ = KINDS[kind]
    written(tmp_path, "table.csv", right, right)
    written(tmp_path, "people.csv", right, wrong)
    models = [{"model": "k-map", "k": 2, "population": "people.csv"}]
    spec(tmp_path, definition, "quasi_identifiers", privacy={"models": models})
    ended = run("mondrian", "spec.yaml")
    assert ended.code == 3 and "people.csv:6: " in ended.err, ended.err
    assert CELL not in ended.err and wrong not in ended.err


def test_an_audit_names_the_line_of_a_cell_that_is_no_number(run: Run, tmp_path: Path) -> None:
    written(tmp_path, "table.csv", "1", CELL)
    columns = ("--qi", "sex", "--sensitive", "it", "--numeric", "it", "--require", "k-e-anonymity k=2 e=1")
    ended = run("audit", "-i", "table.csv", *columns)
    assert ended.code == 3 and "table.csv:6: " in ended.err and "3 of its values" in ended.err
    assert CELL not in ended.err


def test_and_that_of_a_value_that_is_no_leaf(run: Run, tmp_path: Path) -> None:
    written(tmp_path, "table.csv", "a", CELL)
    models = [{"model": "t-closeness", "t": 1, "distance": "hierarchical", "attribute": "it"}]
    spec(tmp_path, {"hierarchy": "h.csv"}, "sensitive", privacy={"models": models})
    ended = run("audit", "spec.yaml")
    assert ended.code == 3 and "table.csv:6: " in ended.err and "in 3 rows" in ended.err, ended.err
    assert CELL not in ended.err


@pytest.mark.parametrize(
    ("present", "said"), [(["x"], "it has 1 column, and none"), (["x", "y"], "it has 2 columns, and")]
)
def test_columns_of_which_none_is_named_are_counted(present: list[str], said: str) -> None:
    assert columns_in(present, ["age"]).startswith(said)
