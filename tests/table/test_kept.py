"""Columns of few texts that pass through are kept from the first reading, and read as if they had been read again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import make
from anonymize.table.kept import FEW

Reads = Callable[..., Any]


def test_columns_of_few_texts_are_kept_and_others_are_not(read_text: Reads) -> None:
    rows = "".join(f'{number % 70},"{"x" if number % 3 else ""}",v{number}\n' for number in range(FEW + 1))
    table = read_text("age,few,many\n" + rows, "age:n few:in many:in")
    assert list(table.kept) == ["few"]
    assert table.kept["few"].cells.to_list()[0] is None
    texts = table.kept["few"].cells.gather(table.kept["few"].codes)
    assert texts.to_list() == ["x" if number % 3 else "" for number in range(FEW + 1)]


def test_an_empty_field_and_a_quoted_empty_one_stay_apart(read_text: Reads) -> None:
    table = read_text('age,b\n1,\n2,""\n3,x\n', "age:n b:in")
    kept = table.kept["b"]
    assert kept.cells.gather(kept.codes).to_list() == [None, "", "x"]


def test_a_column_that_is_kept_is_warned_of_where_its_values_differ(read_text: Reads) -> None:
    different = "age,b\n" + "".join(f"{number},v{number}\n" for number in range(200))
    alike = "age,b\n" + "".join(f"{number},v{number % 100}\n" for number in range(200))
    missing = "age,b\n" + "".join(f"{number},{f'v{number}' if number < 150 else '?'}\n" for number in range(200))
    assert any("'b' passes through" in warning for warning in read_text(different, "age:n b:in").warnings)
    assert not any("'b' passes through" in warning for warning in read_text(alike, "age:n b:in").warnings)
    with_missing = read_text(missing, "age:n b:in", input={"missing": ["?"]})
    assert any("'b' passes through" in warning for warning in with_missing.warnings)


@pytest.mark.parametrize("order", ["sorted", "keep", "shuffle"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_passes_through_comes_out_as_it_came(tmp_path: Path, order: str, form: str) -> None:
    """Beside a column that is read again; the person's number says which row is which."""
    rows = [(number % 7, f"p{number}", "" if number % 5 else None, f"0{number % 3}") for number in range(FEW + 200)]
    original = pl.DataFrame(rows, schema=["age", "person", "empty", "code"], orient="row")
    original.write_csv(tmp_path / "table.csv", quote_style="non_numeric")
    content = {"version": 1, "input": {"path": str(tmp_path / "table.csv"), "missing": ["?"]}, "privacy": {"k": 2}}
    roles = {"quasi_identifiers": {"age": {"type": "numeric"}}, "insensitive": ["person", "empty", "code"]}
    spec = make(content | roles | {"output": {"row_order": order}}, PARAMETERS)
    target = tmp_path / f"out.{form}"
    options = ALGORITHMS["mondrian"].Options()
    release(Request(spec, "mondrian", options, output=str(target), seed=1, threads=1, allow_unsafe=True))
    read = pl.read_parquet(target) if form == "parquet" else pl.read_csv(target, infer_schema=False)
    passing = ["person", "empty", "code"]
    came, expected = read[passing], original[passing]
    if order != "keep":
        came, expected = came.sort("person"), expected.sort("person")
    assert came.equals(expected)
