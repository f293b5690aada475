"""The functions against their definitions written out row by row, and the attributes against their distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from anonymize.generate import agrawal

Row = dict[str, Any]


def band(row: Row) -> int:
    return 0 if row["age"] < 40 else 1 if row["age"] < 60 else 2


def salary_in_band(row: Row, amount: float) -> bool:
    low, high = [(50e3, 100e3), (75e3, 125e3), (25e3, 75e3)][band(row)]
    return bool(low <= amount <= high)


def function_4(row: Row) -> bool:
    levels = [(0, 1), (1, 2, 3), (2, 3, 4)][band(row)]
    inside = [(25e3, 75e3), (50e3, 100e3), (50e3, 100e3)][band(row)]
    outside = [(50e3, 100e3), (75e3, 125e3), (25e3, 75e3)][band(row)]
    low, high = inside if row["elevel"] in levels else outside
    return bool(low <= row["salary"] <= high)


def function_5(row: Row) -> bool:
    inside = [(100e3, 300e3), (200e3, 400e3), (300e3, 500e3)][band(row)]
    outside = [(200e3, 400e3), (300e3, 500e3), (100e3, 300e3)][band(row)]
    low, high = inside if salary_in_band(row, row["salary"]) else outside
    return bool(low <= row["loan"] <= high)


def disposable(row: Row, elevel: int, loan: float, equity: float, needed: int) -> bool:
    years = max(row["hyears"] - 20, 0)
    income = 0.67 * (row["salary"] + row["commission"]) - elevel * row["elevel"] - loan * row["loan"]
    return bool(income + equity * 0.1 * row["hvalue"] * years - needed > 0)


DEFINITIONS: dict[int, Callable[[Row], bool]] = {
    1: lambda row: row["age"] < 40 or row["age"] >= 60,
    2: lambda row: salary_in_band(row, row["salary"]),
    3: lambda row: row["elevel"] in [(0, 1), (1, 2, 3), (2, 3, 4)][band(row)],
    4: function_4,
    5: function_5,
    6: lambda row: salary_in_band(row, row["salary"] + row["commission"]),
    7: lambda row: disposable(row, 0, 0.2, 0, 20_000),
    8: lambda row: disposable(row, 5000, 0, 0, 20_000),
    9: lambda row: disposable(row, 5000, 0.2, 0, 10_000),
    10: lambda row: disposable(row, 5000, 0, 0.2, 10_000),
}
ALL = tuple(DEFINITIONS)


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return pl.concat(agrawal.frames(4000, 11, ALL))


def test_every_function_is_defined() -> None:
    assert tuple(agrawal.FUNCTIONS) == ALL
    assert agrawal.VARIED == (1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize("number", ALL)
def test_groups_follow_from_the_rows(table: pl.DataFrame, number: int) -> None:
    labels = table[f"group_{number}"].to_list()
    assert labels == ["A" if DEFINITIONS[number](row) else "B" for row in table.iter_rows(named=True)]
    assert set(labels) == {"A", "B"}


def test_attributes_fill_their_ranges(table: pl.DataFrame) -> None:
    for name, (low, high) in agrawal.RANGES.items():
        if name in ("total", "commission"):
            continue
        column = table[name]
        assert low <= min(column) and max(column) <= high
        assert column.mean() == pytest.approx((low + high) / 2, rel=0.05)
    assert set(table["age"]) == set(range(20, 81))
    assert set(table["car"]) == set(range(1, 21))


def test_what_depends_on_what(table: pl.DataFrame) -> None:
    rich = table["salary"] >= 75_000
    assert (table["commission"].filter(rich) == 0).all()
    poor = table["commission"].filter(~rich)
    assert min(poor) >= 10_000 and max(poor) <= 75_000
    share = (table["hvalue"] / (table["zipcode"] * 100_000)).filter(table["zipcode"] > 0)
    assert 0.5 <= min(share) < 0.55 and 1.45 < max(share) <= 1.5
    assert (table["hvalue"].filter(table["zipcode"] == 0) == 0).all()


def test_varied_constants_follow_from_seed_and_function_alone() -> None:
    one = pl.concat(agrawal.frames(500, 3, (2,), varied=(2,)))["group"]
    several = pl.concat(agrawal.frames(500, 3, (4, 2), varied=(4, 2)))
    plain = pl.concat(agrawal.frames(500, 3, (2,)))
    assert one.to_list() == several["group_2"].to_list() != plain["group"].to_list()
    assert several.drop("group_2", "group_4").equals(plain.drop("group"))
    assert len({tuple(pl.concat(agrawal.frames(50, seed, (2,), varied=(2,)))["group"]) for seed in range(5)}) == 5


def test_functions_that_are_not_varied_keep_their_constants() -> None:
    varied = pl.concat(agrawal.frames(500, 3, (2, 4, 7), varied=(4,)))
    plain = pl.concat(agrawal.frames(500, 3, (2, 4, 7)))
    changed = [name for name in plain.columns if not varied[name].equals(plain[name])]
    assert changed == ["group_4"]


@pytest.mark.parametrize("number", agrawal.VARIED)
def test_varied_constants_stay_in_range(number: int) -> None:
    function = agrawal._function(number, 7, vary=True)
    assert isinstance(function, agrawal.Banded)
    tests = [test for each in function.bands for test in getattr(each, "__dict__", {}).values()]
    tests = [test for test in [*tests, *function.bands] if isinstance(test, agrawal.Between)]
    assert function.ages == tuple(sorted(function.ages))
    for test in tests:
        low, high = agrawal.RANGES[test.attribute]
        assert low <= test.bounds[0] <= test.bounds[1] <= high


def test_perturbed_columns_move_a_little_and_stay_in_range() -> None:
    plain = pl.concat(agrawal.frames(3000, 5, (2,)))
    moved = pl.concat(agrawal.frames(3000, 5, (2,), perturb=0.05))
    assert moved["group"].equals(plain["group"])
    for name in ("elevel", "car", "zipcode"):
        assert moved[name].equals(plain[name])
    for name in ("salary", "age", "loan", "hyears"):
        low, high = agrawal.RANGES[name]
        step = (moved[name] - plain[name]).abs()
        assert 0 < max(step) <= 0.025 * (high - low) + 0.5
        assert low <= min(moved[name]) and max(moved[name]) <= high
    assert (moved["commission"].filter(plain["commission"] == 0) == 0).all()
