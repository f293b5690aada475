"""The rows of a table as numbers: what shows the same, what is suppressed, what is missing; counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anonymize.errors import DataError
from anonymize.verify.distances import texts_of
from anonymize.verify.table import (
    SharedNumbers,
    TextRows,
    TextTable,
    classes_of,
    entries_of,
    numbered,
    plain,
    read,
    text_of,
    values_of,
)
from anonymize.verify.verdict import Subject


def table(columns: dict[str, list[Any]], *quasi: str, **more: Any) -> TextTable:
    frame = pl.DataFrame(columns, strict=False)
    fields: dict[str, Any] = {"missing": ("?",), "fill": None} | more
    return TextTable(frame.lazy(), quasi or ("q",), **fields)


def rows(q: str, s: str = "", **more: Any) -> TextRows:
    own: dict[str, list[Any]] = {"q": [None if cell == "." else cell for cell in q], "s": list(s or "x" * len(q))}
    return read(table(own, "q", **more), ["s"], "*", keep=True)


def classes(of: TextRows) -> list[tuple[int, int, bool]]:
    """Size, rows and whether it is suppressed, of each class."""
    return sorted(classes_of(of).select("size", "rows", "suppressed").rows())


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("aabc", [(1, 1, False), (1, 1, False), (2, 2, False)]),
        ("a*b*", [(1, 1, False), (1, 1, False), (2, 2, True)]),
        ("**", [(2, 2, False)]),
        ("?.", [(1, 1, False), (1, 1, False)]),
    ],
)
def test_rows_that_show_the_same_are_one_class(cells: str, expected: list[tuple[int, int, bool]]) -> None:
    assert classes(rows(cells)) == expected and rows(cells).blank == (cells == "**")


def test_a_null_is_read_as_what_it_stands_for() -> None:
    assert classes(rows("?.", fill="?")) == [(2, 2, False)]


def test_a_row_is_suppressed_where_every_quasi_identifier_is() -> None:
    two = table({"q": ["*", "*", "a"], "r": ["*", "b", "*"]}, "q", "r")
    assert classes(read(two, [], "*")) == [(1, 1, False), (1, 1, False), (1, 1, True)]


def test_a_null_of_a_column_of_numbers_is_a_suppressed_cell() -> None:
    columns: dict[str, list[Any]] = {"q": [1, None, None], "r": ["a", "*", "b"]}
    found = read(table(columns, "q", "r", fill="?", numbers=frozenset({"q"})), [], "*")
    assert classes(found) == [(1, 1, False), (1, 1, False), (1, 1, True)]


def test_rows_about_one_unit_count_once_in_each_class() -> None:
    units = pl.Series(["p", "p", "q", "p"])
    assert classes(rows("aaab", units=units)) == [(1, 1, False), (2, 3, False)]
    with pytest.raises(DataError, match="the table has 4 rows, and the units are those of 3"):
        rows("aaab", units=units.head(3))
    with pytest.raises(DataError, match="2 rows have no unit"):
        rows("aaab", units=pl.Series(["p", None, None, "p"]))
    with pytest.raises(DataError, match="1 rows have no unit"):
        rows("aaab", units=pl.Series(["p", " ", "q", "p"]), normalize=True)


def test_values_are_counted_by_class_without_missing_ones() -> None:
    of = rows("aaabb", "xyx??")
    counted = entries_of(of, Subject("s"), ("?",))
    assert sorted(counted["count"].to_list()) == [1, 2] and counted["class"].n_unique() == 1
    assert texts_of(of, Subject("s"), ("?",)).to_list() == ["x", "y"]
    assert [value is None for value in values_of(of, Subject("s"), ("?",))] == [False, False, False, True, True]


def test_numbers_are_equal_by_value() -> None:
    of = read(table({"q": list("aaa"), "s": ["1", "1.0", "2"]}), ["s"], "*")
    assert entries_of(of, Subject("s", numeric=True), ("?",)).select("value", "count").sort("value").rows() == [
        (1.0, 2),
        (2.0, 1),
    ]
    assert entries_of(of, Subject("s"), ("?",)).height == 3
    with pytest.raises(DataError):
        entries_of(rows("a", "z"), Subject("s", numeric=True), ("?",))


def test_units_are_counted_once_for_each_value() -> None:
    of = rows("aaa", "xxy", units=pl.Series(["p", "p", "p"]))
    assert entries_of(of, Subject("s"), ("?",))["count"].to_list() == [1, 1]


@pytest.mark.parametrize(
    ("text", "compared"),
    [(" a ", "a"), ("a\u00a0b", "a b"), ("a\u200bb", "ab"), ("e\u0301", "é"), ("\t", ""), ("a  b", "a  b")],
)
def test_texts_are_compared_without_what_cannot_be_seen(text: str, compared: str) -> None:
    assert pl.DataFrame({"t": [text]}).select(plain(pl.col("t"))).item() == compared


def test_look_alikes_are_one_where_texts_are_normalized() -> None:
    assert classes(read(table({"q": ["a", "a ", "b"]}), [], "*")) == [(1, 1, False)] * 3
    assert classes(read(table({"q": ["a", "a ", "b"]}, normalize=True), [], "*")) == [(1, 1, False), (2, 2, False)]


def test_what_is_shared_is_read_once_and_keeps_its_texts() -> None:
    of = table({"q": ["a", None, "b"], "s": ["x", "y", "x"]})
    shared = SharedNumbers(of.frame, ["s"])
    assert shared.texts_of(["q"]) == {}
    known = read(TextTable(of.frame, ("q",), ("?",), None, shared=shared), ["s"], "*")
    assert known.count == 3 and set(shared.texts_of(["q", "r"])) == {"q"}
    assert shared.texts_of(["q"])["q"].to_list() == ["a", "b", None]
    before = dict(shared.columns)
    numbered(TextTable(of.frame, (), ("?",), None, shared=shared), ["s"])
    assert dict(shared.columns) == before and len(before) == 1


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_a_file_is_read_as_it_was_written(tmp_path: Path, form: str) -> None:
    frame, path = pl.DataFrame({'a"b': ["01", ""], "*": ["x;y", "z"]}), tmp_path / f"t.{form}"
    writers: dict[str, Any] = {"parquet": frame.write_parquet, "arrow": frame.write_ipc}
    writers.get(form, lambda place: frame.write_csv(place, separator=";"))(path)
    read_back = text_of(path, form, ";").collect()
    assert read_back.columns == ['a"b', "*"] and read_back["*"].to_list() == ["x;y", "z"]
    assert read_back.to_series(0).to_list()[0] == "01"
