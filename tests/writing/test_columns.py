"""Columns that pass through, held until the order of rows is known: cells come back as they were."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from anonymize.writing import sorted_rows
from anonymize.writing.columns import (
    COMBINATIONS,
    HeldColumn,
    NeighbouringColumns,
    as_written,
    hold,
    hold_column,
    neighbours_as_one,
)

WARDS = ["b", None, "a", "b", "", "b", "a", "b"]


def column(cells: list[str | None]) -> HeldColumn:
    return hold_column(pl.Series("ward", cells, dtype=pl.String))


def in_order(*held: HeldColumn | NeighbouringColumns, rows: int) -> list[int]:
    """The rows by what they show."""
    order = np.concatenate(list(sorted_rows(iter([each.sorting() for each in held]), rows)))
    return [int(row) for row in order]


@pytest.mark.parametrize("cells", [WARDS, ["a"] * 8, [None] * 8, [f"w{n}" for n in range(8)]])
def test_cells_come_back_in_any_order(cells: list[str | None]) -> None:
    held = column(cells)
    rows = np.array([7, 0, 1, 1, 4])
    assert held.rows(rows).to_list() == [cells[row] for row in rows]
    assert held.rows(slice(2, 6)).to_list() == cells[2:6]
    assert held.of(rows).rows(np.array([2, 0])).to_list() == [cells[1], cells[7]]


def test_texts_that_repeat_themselves_are_held_once() -> None:
    held = column(WARDS * 50)
    assert isinstance(held.codes, np.ndarray) and held.codes.dtype.itemsize <= 4
    assert sorted(held.cells.drop_nulls().to_list()) == ["", "a", "b"]
    assert column([f"w{n}" for n in range(4000)]).codes is None


def test_what_is_no_text_is_held_as_it_is() -> None:
    held = hold_column(pl.Series("n", [3, None, 1]))
    assert held.codes is None and held.rows(np.array([2, 1])).to_list() == [1, None]
    assert held.cells.name == ""


def test_batches_are_held_as_one() -> None:
    batches = [pl.DataFrame({"a": ["x", "y"], "b": [1, 2]}), pl.DataFrame({"a": ["x"], "b": [3]})]
    held = hold(batches)
    assert list(held) == ["a", "b"] and held["a"].rows(slice(0, 3)).to_list() == ["x", "y", "x"]
    assert held["b"].rows(np.array([2])).to_list() == [3]


def test_a_csv_quotes_what_it_has_to() -> None:
    cells = pl.Series(["a", 'say "b"', "c,d", None])
    assert as_written(cells, ",").to_list() == ["a", '"say ""b"""', '"c,d"', None]
    assert as_written(cells, None).to_list() == cells.to_list()
    assert column(["c,d", "c,d"]).quoted(",").rows(slice(0, 2)).to_list() == ['"c,d"', '"c,d"']


@pytest.mark.parametrize("rows", [4, None])
def test_neighbours_are_one_column_with_their_texts_side_by_side(rows: int | None) -> None:
    columns = [column(["b", "a", "b", "a"]), column(["x", "x", "y", "x"])]
    together = NeighbouringColumns.of(columns, rows)
    assert together.quoted(";").rows(np.arange(4)).to_list() == ["b;x", "a;x", "b;y", "a;x"]
    assert together.quoted(";").rows(np.array([2, 1])).to_list() == ["b;y", "a;x"]


def test_neighbours_sort_as_the_columns_do_one_after_the_other() -> None:
    columns = [column(["b", "a", None, "a", "2"]), column(["x", "10", "y", "9", "x"])]
    order = [2, 4, 3, 1, 0]
    assert in_order(*columns, rows=5) == order
    assert [in_order(NeighbouringColumns.of(columns, rows), rows=5) for rows in (5, None)] == [order, order]
    assert in_order(column([f"w{n}" for n in range(9, 0, -1)]), rows=9) == list(range(8, -1, -1))


def test_few_combinations_of_neighbours_are_one_and_many_are_not() -> None:
    few = {name: column(["x", "y"] * 40) for name in "abc"}
    made = neighbours_as_one(few, [["a", "b"], ["c"]], 80)
    assert list(made) == ["a", "c"] and isinstance(made["a"], NeighbouringColumns) and made["c"] is few["c"]
    size = int(COMBINATIONS**0.5) + 1
    many = {name: column([f"{n % size}" for n in range(size * 9)]) for name in "ab"}
    assert list(neighbours_as_one(many, [["a", "b"]], size * 9)) == ["a", "b"]
    apart = {"a": few["a"], "b": HeldColumn(few["b"].rows(slice(0, 80))), "c": few["c"]}
    assert list(neighbours_as_one(apart, [["a", "b", "c"]], 80)) == ["a", "b", "c"]
