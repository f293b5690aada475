"""The released rows, piece by piece, in the order that the spec asks for."""

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
from anonymize.writing import SortColumn
from anonymize.writing.columns import PassingColumns, Piece, null_text, passing_column, pieces
from anonymize.writing.rows import Written, comparing

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


def test_which_rows_were_written_is_known_in_their_order() -> None:
    written = Written()
    assert written.rows.tolist() == []
    written = Written()
    written.add(slice(0, 3), np.array([True, False, True]))
    written.add(np.array([7, 5], np.uint32))
    assert written.rows.tolist() == [0, 2, 7, 5]
