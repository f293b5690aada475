"""Sampling weights: what is refused, with its line, and what passes through."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anonymize.errors import DataError
from anonymize.spec import Missing
from anonymize.spec.columns import QuasiIdentifier
from anonymize.spec.model import Input, Spec
from anonymize.table import Source, Table, read, weights
from anonymize.table.encode import Field

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
    assert warning.text == "2 sampling weights are below one: a row stands at least for itself"
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
        (warning,) = weights.check(spec, source)
        assert warning.text == "1 sampling weight is below one: a row stands at least for itself"
        assert source.rows == 2 and source.sha256
    with Source.open(spec, file_of("a\nx\n")) as source, pytest.raises(DataError, match="has no column w"):
        weights.check(spec, source)
    plain = Spec(version=1, quasi_identifiers={"a": QuasiIdentifier()})
    with Source.open(plain, file_of("a,w\nx,\n")) as source:
        assert weights.check(plain, source) == [] and source.rows == 1


def test_rows_are_counted_over_batches(file_of: Callable[[str], Path]) -> None:
    spec = Spec(version=1, quasi_identifiers={"a": QuasiIdentifier()}, sampling_weight="w")
    column = weights.WeightColumn(Field("w", pl.String(), Missing(())), "0")
    with Source.open(spec, file_of("a,w\n" + "x,1\n" * 5 + "x,0\n")) as source:
        for batch in source.examine(column.expressions, size=2):
            column.add(batch)
        with pytest.raises(DataError) as error:
            column.check(source)
    assert error.value.problems[0].line == 7
