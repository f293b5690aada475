"""Numbers of a release are read only where it is clear how they are written."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from anonymize.errors import DataError
from anonymize.fidelity.numerals import read_numbers


def read(ungrouped: tuple[str, ...] = (), /, **columns: list[Any]) -> dict[str, list[float | None]]:
    return read_numbers(pl.DataFrame(columns), ungrouped, "out.csv").to_dict(as_series=False)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1,5", "2", " -3,125 "], [1.5, 2, -3.125]),
        (["1.5", "2", "-3.125"], [1.5, 2, -3.125]),
        (["0,125", "1,250"], [0.125, 1.25]),
        (["1.234", "98.765"], [1.234, 98.765]),
        (["1,5e-3", "\u22122,5"], [0.0015, -2.5]),
        (["?", "", None, "NaN", "7"], [None, None, None, None, 7]),
        ([1.234, 999.0, float("nan")], [1.234, 999, None]),
        ([1234, 5, None], [1234, 5, None]),
    ],
)
def test_clear_notations_are_read(cells: list[object], numbers: list[float | None]) -> None:
    assert read(x=cells) == {"x": numbers}


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1,234", "999"], "x: 1 of 2 numbers have a comma before three digits"),
        (["1,234", "56,789"], "x: 2 of 2 numbers have a comma before three digits"),
        (["1.234", "999"], "x: 1 of 2 numbers have a point before three digits"),
        (["1,234,567", "?"], "x: 1 of 1 numbers have several commas"),
        (["1.234.567", "5"], "x: 1 of 2 numbers have several points"),
        (["1,234.5", "7"], "x: 1 of 2 numbers have a comma, and 1 a point"),
        (["1,5", "1.5", "2.5"], "x: 1 of 3 numbers have a comma, and 2 a point"),
        (["165 cm", "7", ""], "x: 1 of 3 cells cannot be read"),
        (["20-29", "1e999"], "x: 2 of 2 cells cannot be read"),
        ([float("inf"), 1.0], "x: 1 of 2 cells cannot be read"),
    ],
)
def test_what_is_in_doubt_is_refused(cells: list[object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(x=cells)


def test_a_column_that_a_step_wrote_has_no_sign_between_thousands() -> None:
    assert read(("x",), x=["1,234", "999"]) == {"x": [1.234, 999]}


def test_points_before_three_digits_are_in_doubt_beside_decimal_commas() -> None:
    with pytest.raises(DataError, match="y: 2 of 2 numbers have a point before three digits"):
        read(x=["1,5", "2"], y=["1.234", "56.789"])


def test_a_name_is_no_pattern() -> None:
    assert read((), **{"^x.*$": ["1,5"], "x1": ["2.5"]}) == {"^x.*$": [1.5], "x1": [2.5]}
