"""Rows alone in the columns that pass through, counted by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.verify.passing import PassingColumns, numbers_of, uniqueness
from anonymize.verify.table import TextTable
from anonymize.verify.verdict import Uniqueness, Verdict

COLUMNS = PassingColumns(("a", "b"), ("q",), ("s",))


def table(rows: Sequence[tuple[str | None, ...]], **settings: object) -> TextTable:
    frame = pl.DataFrame(rows, schema=dict.fromkeys("abqs", pl.String), orient="row")
    return TextTable(frame.lazy(), (), (), **({"fill": ""} | settings))  # type: ignore[arg-type]


def measured_of(
    rows: Sequence[tuple[str | None, ...]],
    columns: PassingColumns = COLUMNS,
    units: pl.Series | None = None,
    **settings: object,
) -> Uniqueness:
    return uniqueness(numbers_of(table(rows, **settings), columns), columns, units)


def shares(measured: Uniqueness) -> tuple[float, ...]:
    return measured.alone, measured.with_quasi_identifiers, measured.with_sensitive


def test_rows_that_become_alone_one_group_after_the_other() -> None:
    rows = [
        ("1", "1", "q", "s"),
        ("1", "2", "q", "s"),
        ("1", "2", "r", "s"),
        ("2", "2", "q", "s"),
        ("2", "2", "q", "t"),
    ]
    assert shares(measured_of(rows)) == (1 / 5, 3 / 5, 1.0)


def test_rows_that_agree_in_everything_are_never_alone() -> None:
    assert shares(measured_of([("1", "1", "q", "s")] * 4)) == (0, 0, 0)


def test_a_row_that_was_alone_leaves_its_group_as_it_is() -> None:
    """The rows that are left are counted among themselves, since whoever left agrees with none of them."""
    rows = [("1", "1", "q", "s"), ("2", "1", "q", "s"), ("2", "1", "q", "s")]
    assert shares(measured_of(rows)) == (1 / 3, 1 / 3, 1 / 3)


def test_without_such_columns_there_is_nothing_to_count() -> None:
    measured = measured_of([("1", "1", "q", "s")], PassingColumns((), ("q",), ("s",), 0.0))
    assert shares(measured) == (0, 0, 0)
    assert measured.cautions == []


def test_a_column_of_two_groups_counts_once() -> None:
    rows = [("1", "1", "q", "s"), ("1", "1", "r", "s")]
    assert shares(measured_of(rows, PassingColumns(("a",), ("a",), ("q",)))) == (0, 0, 1)


def test_rows_about_one_individual_count_as_one() -> None:
    rows = [("1", "1", "q", "s"), ("1", "1", "q", "t"), ("2", "1", "q", "s"), ("2", "1", "q", "s")]
    units = pl.Series("person", [7, 7, 7, 8], dtype=pl.UInt32)
    assert shares(measured_of(rows, units=units)) == (1 / 2, 1 / 2, 1 / 2)


@pytest.mark.parametrize(("normalize", "alone"), [(True, 0.0), (False, 1.0)])
def test_texts_are_compared_as_those_of_classes(normalize: bool, alone: float) -> None:
    rows = [("é", "1", "q", "s"), ("e\u0301 ", "1", "q", "s")]
    assert measured_of(rows, normalize=normalize).alone == alone


def test_a_null_is_what_it_is_read_as() -> None:
    rows = [("", "1", "q", "s"), (None, "1", "q", "s")]
    assert measured_of(rows).alone == 0
    assert measured_of(rows, fill=None).alone == 1


@pytest.mark.parametrize(("most", "met"), [(0.5, True), (0.49, False)])
def test_what_is_required_is_judged_with_the_quasi_identifiers(most: float, met: bool) -> None:
    measured = Uniqueness(("ward",), 200, 0.25, 0.5, 0.75, most)
    verdict = Verdict(200, 0, (), {}, {}, passing=measured)
    assert verdict.satisfied is met
    assert len(verdict.unmet) == (not met)
    assert measured.result is not None
    assert measured.result.failing_rows == (0 if met else 100)
    assert measured.block()["satisfied"] is met


def test_where_nothing_is_required_nothing_is_judged() -> None:
    verdict = Verdict(200, 0, (), {}, {}, passing=Uniqueness(("ward",), 200, 0.25, 0.5, 0.75))
    assert (verdict.satisfied, verdict.unmet) == (None, [])
    _, caution = verdict.cautions
    assert "(ward) single out 25 % of the rows by themselves, 50 % together with" in caution


def test_a_message_names_five_columns() -> None:
    (caution,) = Uniqueness(tuple("abcdefg"), 10, 1.0, 1.0, 1.0).cautions
    assert "(a, b, c, d, e and 2 more) single out 100 %" in caution


@given(st.lists(st.tuples(*[st.sampled_from("12")] * 4), min_size=1, max_size=12))
def test_a_counter_agrees(rows: list[tuple[str, str, str, str]]) -> None:
    expected = []
    for width in (2, 3, 4):
        times = Counter(row[:width] for row in rows)
        expected.append(sum(times[row[:width]] == 1 for row in rows) / len(rows))
    assert shares(measured_of(list(rows))) == pytest.approx(tuple(expected))
