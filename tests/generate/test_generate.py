"""The census-like table: percentages that add up, and dependencies that are there."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from anonymize import generate

TABLES = ("IN_REGION", "RACE_IN", "EDUCATION_AT", "MARITAL_AT", "CITIZENSHIP_OF", "WORKCLASS_OF", "HOURS_OF")


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return pl.concat(generate.frames(20_000, 2))


@pytest.mark.parametrize("name", [*TABLES, "OCCUPATION_OF"])
def test_every_line_is_a_hundred_percent(name: str) -> None:
    assert (np.array(getattr(generate, name)).sum(axis=-1) == 100).all()
    assert sum(share for _, _, share in generate.AGES) == 100


def test_slots_hold_each_value_as_often_as_its_percentage() -> None:
    lines = generate.slots(((10, 90), (100, 0)))
    assert lines.shape == (2, 100)
    assert [int((lines[0] == value).sum()) for value in (0, 1)] == [10, 90]
    assert not lines[1].any()


def test_columns_and_values(table: pl.DataFrame) -> None:
    assert tuple(table.columns) == generate.COLUMNS
    for name, (values, _) in generate.ABOVE.items():
        assert set(table[name]) == set(values)
    assert table["age"].min() == 17 and table["age"].max() == 90
    assert set(table["zipcode"].str.len_chars()) == {5}
    assert (table["salary-class"] == ">=30K").equals((table["salary"] >= 30_000).alias("salary-class"))


def test_who_does_not_work_has_no_occupation_hours_or_salary(table: pl.DataFrame) -> None:
    idle = table["workclass"] == "Not-working"
    for name in ("hours", "salary"):
        assert (table[name].filter(idle) == 0).all()
        assert (table[name].filter(~idle) > 0).all()
    assert ((table["occupation"] == "None") == idle).all()


def test_dependencies(table: pl.DataFrame) -> None:
    class_by = {name: table.group_by(name).agg((pl.col("salary-class") == ">=30K").mean()) for name in ("education",)}
    share = dict(class_by["education"].iter_rows())
    assert share["Masters"] > share["Bachelors"] > share["High-school"] > share["Primary"]
    young = table.filter(pl.col("age") < 25)
    single = [(people["marital-status"] == "Never-married").to_numpy().mean() for people in (young, table)]
    assert single[0] > 0.8 > single[1]
    assert 0.5 < (table["salary-class"] == "<30K").to_numpy().mean() < 0.65
    west = table.filter(pl.col("region") == "West")["zipcode"].str.slice(0, 1)
    assert set(west) == {"8", "9"}
