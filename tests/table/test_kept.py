"""Columns of few texts that pass through are kept from the first reading, and read as if they had been read again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.errors import DataError
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import Missing, make
from anonymize.spec.blocks import Input
from anonymize.spec.columns import QuasiIdentifier
from anonymize.spec.model import Spec
from anonymize.table import Source, Table, kept, read
from anonymize.table.encode import Field
from anonymize.table.kept import MOST_TEXTS, UniquenessSample

Reads = Callable[..., Any]


def test_columns_of_few_texts_are_kept_and_others_are_not(read_text: Reads) -> None:
    rows = "".join(f'{number % 70},"{"x" if number % 3 else ""}",v{number}\n' for number in range(MOST_TEXTS + 1))
    table = read_text("age,few,many\n" + rows, "age:n few:in many:in")
    assert list(table.kept) == ["few"]
    assert table.kept["few"].cells.to_list()[0] is None
    texts = table.kept["few"].cells.gather(table.kept["few"].codes)
    assert texts.to_list() == ["x" if number % 3 else "" for number in range(MOST_TEXTS + 1)]


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
    rows = [
        (number % 7, f"p{number}", "" if number % 5 else None, f"0{number % 3}") for number in range(MOST_TEXTS + 200)
    ]
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


# --- weights ----------------------------------------------------------------------------------------------------------

Read = Callable[..., Table]


def problems(read_text: Read, *values: str, **more: Any) -> list[tuple[str, int | None]]:
    text = "a,w\n" + "".join(f"x,{value}\n" for value in values)
    with pytest.raises(DataError) as error:
        read_text(text, "a:c", sampling_weight="w", **more)
    return [(problem.message, problem.line) for problem in error.value.problems]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("", "missing"),
        ("?", "missing"),
        ("many", "not a number"),
        ("nan", "not a number"),
        ("inf", "not a number"),
        ("-0.5", "negative"),
        ("0", "zero"),
        ("-0", "zero"),
        ("0.0", "zero"),
    ],
)
def test_what_a_weight_cannot_be(read_text: Read, value: str, what: str) -> None:
    found = problems(read_text, "2", value, "3", input=Input(missing=("", "?")))
    assert found == [(f"sampling weight 'w': 1 value is {what}", 3)]


def test_every_kind_is_told_with_its_first_line(read_text: Read) -> None:
    found = problems(read_text, "1", "0", "x", "-1", "-2", "0", "", "0")
    assert found == [
        ("sampling weight 'w': 1 value is missing", 8),
        ("sampling weight 'w': 1 value is not a number", 4),
        ("sampling weight 'w': 2 values are negative", 5),
        ("sampling weight 'w': 3 values are zero", 3),
    ]


def test_below_one_is_warned_about(read_text: Read) -> None:
    (warning,) = read_text("a,w\nx,0.5\ny, 1 \nx,0.99\ny,1e3\n", "a:c", sampling_weight="w").warnings
    assert warning.text == "2 sampling weights are below one: a row represents at least itself"
    assert "1 sampling weight is below" in read_text("a,w\nx,0.5\ny,1\n", "a:c", sampling_weight="w").warnings[0]
    assert read_text("a,w\nx,1\ny,7.25\n", "a:c", sampling_weight="w").warnings == ()


def test_the_column_has_to_be_there(read_text: Read) -> None:
    with pytest.raises(DataError) as error:
        read_text("a\nx\n", "a:c", sampling_weight="w")
    assert "column 'w' is not in" in error.value.problems[0].message


def test_a_typed_column(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pl.DataFrame({"a": ["x", "y", "z"], "w": [2.5, None, -1.0]}).write_parquet(path)
    spec = Spec(version=1, quasi_identifiers={"a": QuasiIdentifier()}, sampling_weight="w")
    with Source.open(spec, path) as source, pytest.raises(DataError) as error:
        read(spec, source)
    assert [problem.message for problem in error.value.problems] == [
        "sampling weight 'w': 1 value is missing, the first in row 2",
        "sampling weight 'w': 1 value is negative, the first in row 3",
    ]


def test_a_table_that_is_only_looked_at(file_of: Callable[[str], Path]) -> None:
    spec = Spec(version=1, quasi_identifiers={"a": QuasiIdentifier()}, sampling_weight="w")
    with Source.open(spec, file_of("a,w\nx,0.5\ny,2\n")) as source:
        (warning,) = kept.check(spec, source)
        assert warning.text == "1 sampling weight is below one: a row represents at least itself"
        assert source.rows == 2 and source.sha256
    with Source.open(spec, file_of("a\nx\n")) as source, pytest.raises(DataError, match="has no column w"):
        kept.check(spec, source)
    plain = Spec(version=1, quasi_identifiers={"a": QuasiIdentifier()})
    with Source.open(plain, file_of("a,w\nx,\n")) as source:
        assert kept.check(plain, source) == [] and source.rows == 1


def test_rows_are_counted_over_batches(file_of: Callable[[str], Path]) -> None:
    spec = Spec(version=1, quasi_identifiers={"a": QuasiIdentifier()}, sampling_weight="w")
    column = kept.WeightColumn(Field("w", pl.String(), Missing(())), "0")
    with Source.open(spec, file_of("a,w\n" + "x,1\n" * 5 + "x,0\n")) as source:
        for batch in source.examine(column.expressions, size=2):
            column.add(batch)
        with pytest.raises(DataError) as error:
            column.check(source)
    assert error.value.problems[0].line == 7


# --- columns of which nearly all values differ ------------------------------------------------------------------------


def sampled(values: list[object], dtype: pl.DataType | None = None) -> UniquenessSample:
    column = UniquenessSample(Field("x", dtype or pl.String(), Missing(("", "?"))), "0")
    frame = pl.DataFrame({"x": pl.Series(values, dtype=dtype or pl.String())}).select(column.expressions)
    for start in range(0, len(frame), 20_000):
        column.add(frame[start : start + 20_000])
    return column


def test_nearly_unique_in_a_small_column() -> None:
    assert sampled([str(n) for n in range(100)]).exceeds(0.95, 100)
    assert not sampled([str(n) for n in range(99)]).exceeds(0.95, 100)
    assert sampled([*map(str, range(96)), *"0123"]).exceeds(0.95, 100)
    assert not sampled([*map(str, range(95)), *"01234"]).exceeds(0.95, 100)


def test_missing_values_do_not_count() -> None:
    assert sampled([*map(str, range(100)), *["?", None, ""] * 500]).exceeds(0.95, 100)
    assert not sampled(["?", None, ""] * 500).exceeds(0.95, 100)
    assert sampled([*range(100), *[None] * 500], pl.Int64()).exceeds(0.95, 100)


@pytest.mark.parametrize(("distinct", "expected"), [(300_000, True), (270_000, False), (3, False), (1, False)])
def test_nearly_unique_in_a_large_column(distinct: int, expected: bool) -> None:
    column = sampled([str(n % distinct) for n in range(300_000)])
    assert column.exceeds(0.95, 100) is expected
    assert len(column._sample) <= UniquenessSample.LIMIT
