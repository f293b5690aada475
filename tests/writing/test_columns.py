"""Columns that pass through, held until the order of rows is known: cells come back as they were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize.algorithms import mondrian
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import Spec, make
from anonymize.table import Source, Table, read
from anonymize.writing import SortColumn, sorted_rows
from anonymize.writing.columns import (
    COMBINATIONS,
    HeldColumn,
    NeighbouringColumns,
    PassingColumns,
    Piece,
    as_written,
    hold,
    hold_column,
    neighbours_as_one,
    null_text,
    passing_column,
    pieces,
)
from anonymize.writing.rows import comparing

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


# --- in pieces -------------------------------------------------------------------------------------------------------
# The rows, piece by piece, in the order that the spec asks for.

TABLE = "age,ward,note\n97,b,1\n12,a,\n45,b,3\n12,a,2\n"


def spec_of(path: Path, **more: Any) -> Spec:
    quasi = {"age": {"type": "numeric", **more.pop("age", {})}}
    content = {
        "version": 1,
        "input": {"path": str(path / "t.csv")},
        "insensitive": ["ward", "note"],
        "privacy": {"k": 2},
    }
    return make({**content, "quasi_identifiers": quasi, **more}, PARAMETERS)


@pytest.fixture
def table_of(tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "t.csv").write_text(TABLE)
    opened: list[Source] = []

    def reading(**more: Any) -> tuple[Request, Table]:
        spec = spec_of(tmp_path, **more)
        opened.append(Source.open(spec, None).__enter__())
        return Request(spec, "mondrian", mondrian.Options(), seed=3), read(spec, opened[-1])

    yield reading
    for source in opened:
        source.__exit__(None, None, None)


def shown(request: Request, table: Table, *names: str, **more: Any) -> tuple[list[int], dict[str, list[Any]]]:
    """The rows in their order, by number, and what they show."""

    def sorting(held: PassingColumns) -> Iterator[SortColumn]:
        yield from (held[name].sorting(comparing(request.spec)) for name in names)

    made: list[Piece] = list(pieces(request, table, names, sorting, **more))
    numbers = [np.arange(p.rows.start, p.rows.stop) if isinstance(p.rows, slice) else p.rows for p in made]
    return np.concatenate(numbers).tolist(), pl.concat([piece.frame for piece in made]).to_dict(as_series=False)


def test_rows_come_in_the_order_of_what_they_show(table_of: Any) -> None:
    order, columns = shown(*table_of(), "ward", "note")
    assert order == [1, 3, 0, 2]
    assert columns["ward"] == ["a", "a", "b", "b"] and columns["note"] in (["", "2", "1", "3"], [None, "2", "1", "3"])


def test_rows_stay_where_they_are_asked_to(table_of: Any) -> None:
    assert shown(*table_of(output={"row_order": "keep"}), "ward") == ([0, 1, 2, 3], {"ward": list("baba")})


def test_a_shuffle_is_by_the_seed_and_has_every_row(table_of: Any) -> None:
    request, table = table_of(output={"row_order": "shuffle"})
    order, columns = shown(request, table, "ward")
    assert sorted(order) == [0, 1, 2, 3] and columns["ward"] == ["baba"[row] for row in order]
    assert shown(request, table, "ward")[0] == order
    assert any(shown(replace(request, seed=seed), table, "ward")[0] != order for seed in range(9))


@pytest.mark.parametrize("order", ["keep", "sorted"])
def test_rows_of_which_nothing_passes_through_are_rows_all_the_same(table_of: Any, order: str) -> None:
    request, table = table_of(output={"row_order": order})
    assert sum(piece.frame.height for piece in pieces(request, table, (), lambda held: iter(()))) == 4


@pytest.mark.parametrize("order", ["keep", "sorted"])
def test_of_numbers_beyond_a_code_nothing_comes_by(table_of: Any, order: str) -> None:
    """Not even the order of rows is made from what lies beyond."""
    request, table = table_of(age={"top": 40}, output={"row_order": order})
    assert sorted(shown(request, table, "age")[1]["age"]) == ["12", "12", "40+", "40+"]
    request, table = table_of(age={"bottom": 40}, output={"row_order": order})
    assert sorted(shown(request, table, "age")[1]["age"]) == ["40-", "40-", "45", "97"]
    request, table = table_of(age={"round": 10}, output={"row_order": order})
    assert sorted(shown(request, table, "age")[1]["age"]) == ["10", "10", "100", "50"]


@pytest.mark.parametrize("order", ["keep", "sorted"])
def test_a_csv_gets_texts_that_are_quoted(table_of: Any, tmp_path: Path, order: str) -> None:
    request, table = table_of(output={"row_order": order})
    (tmp_path / "t.csv").write_text(TABLE.replace("b,1", '"x,y",1'))
    request, table = table_of(output={"row_order": order})
    assert '"x,y"' in shown(request, table, "ward", separator=",")[1]["ward"]
    assert "x,y" in shown(request, table, "ward")[1]["ward"]


def test_a_null_is_written_where_it_would_not_mean_the_same(tmp_path: Path) -> None:
    """Of texts as they stand an empty field of a CSV is a text, and a null of a typed file is missing."""
    spec = spec_of(tmp_path, input={"path": "t.csv", "missing": ["?"], "normalize": False})
    assert (null_text(spec, "csv", "csv"), null_text(spec, "parquet", "parquet")) == (None, None)
    assert null_text(spec, "parquet", "csv") == "?" and null_text(spec, "csv", "parquet") == ""
    assert null_text(spec_of(tmp_path), "parquet", "csv") is None
    column = pl.Series("n", [1, None])
    assert passing_column(column, "?").to_list() == ["1", "?"] and passing_column(column, None) is column
