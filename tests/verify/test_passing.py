"""Rows alone in the columns that pass through, counted by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.verify.kept import Derivation, PassingFigures, RowShares
from anonymize.verify.passing import PassingColumns, figures_of, numbers_of
from anonymize.verify.table import TextTable
from anonymize.verify.verdict import Verdict

COLUMNS = PassingColumns(("a", "b"), ("q",), ("s",))


def table(rows: Sequence[tuple[str | None, ...]], **settings: object) -> TextTable:
    frame = pl.DataFrame(rows, schema=dict.fromkeys("abqs", pl.String), orient="row")
    return TextTable(frame.lazy(), (), (), **({"fill": ""} | settings))  # type: ignore[arg-type]


def measured_of(
    rows: Sequence[tuple[str | None, ...]],
    columns: PassingColumns = COLUMNS,
    units: pl.Series | None = None,
    **settings: object,
) -> PassingFigures:
    return figures_of(numbers_of(table(rows, **settings), columns), columns, units)


def shares(measured: PassingFigures) -> tuple[float, ...]:
    return astuple(measured.uniques)


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
    measured = measured_of([("1", "1", "q", "s")], PassingColumns((), ("q",), ("s",), bounds={"uniques": 0.0}))
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
    assert measured_of(rows, normalize=normalize).uniques.alone == alone


def test_a_null_is_what_it_is_read_as() -> None:
    rows = [("", "1", "q", "s"), (None, "1", "q", "s")]
    assert measured_of(rows).uniques.alone == 0
    assert measured_of(rows, fill=None).uniques.alone == 1


def test_rows_in_groups_of_fewer_than_k() -> None:
    """Four of `1`, of which two share the rest with the others' `r`; k counts the row itself."""
    rows = [("1", "1", q, s) for q, s in ("qs", "qs", "qt", "rt")]
    below = [measured_of(rows, replace(COLUMNS, k=k)).below for k in (2, 3, 4, 5)]
    assert [astuple(each) for each in below] == [(0, 0.25, 0.5), (0, 0.25, 1), (0, 1, 1), (1, 1, 1)]


def test_groups_below_k_are_of_individuals() -> None:
    rows = [("1", "1", "q", "s")] * 4
    units = pl.Series("person", [7, 7, 7, 8], dtype=pl.UInt32)
    assert measured_of(rows, replace(COLUMNS, k=3), units).below == RowShares(1, 1, 1)
    assert measured_of(rows, replace(COLUMNS, k=2), units).below == RowShares()


def test_what_a_class_tells_for_certain() -> None:
    """`a` is 1 in all of q, both in r; `b` never varies, and nobody learns it."""
    rows = [("1", "1", "q", "s")] * 3 + [("1", "1", "r", "s"), ("2", "1", "r", "s")]
    assert measured_of(rows).certain == {"a": 3 / 5}
    people = pl.Series("person", [1, 1, 1, 2, 3], dtype=pl.UInt32)
    assert measured_of(rows, units=people).certain == {"a": 1 / 3}


FIGURES = PassingFigures(("ward",), 200, RowShares(0.25, 0.5, 0.75), RowShares(0.5, 0.75, 1.0))


@pytest.mark.parametrize(
    ("bounds", "failing"),
    [
        ({"uniques": 0.5}, 0),
        ({"uniques": 0.49}, 100),
        ({"below_k": 0.75}, 0),
        ({"below_k": 0.74}, 150),
        ({"uniques": 0.5, "below_k": 0.74}, 150),
        ({"uniques": 0.49, "below_k": 0.75}, 100),
    ],
)
def test_what_is_required_is_judged_with_the_quasi_identifiers(bounds: dict[str, float], failing: int) -> None:
    measured = replace(FIGURES, bounds=bounds)
    verdict = Verdict(200, 0, (), {}, {}, passing=measured)
    assert verdict.satisfied is (failing == 0)
    assert len(verdict.unmet) == (failing > 0)
    assert [each.failing_rows for each in measured.results] == [failing]
    assert measured.block()["satisfied"] is (failing == 0) and measured.block()["required"] == bounds


def test_a_message_says_which_bound_is_not_met() -> None:
    verdict = Verdict(200, 0, (), {}, {}, passing=replace(FIGURES, bounds={"uniques": 0.5, "below_k": 0.1}))
    (message,) = verdict.unmet
    assert message.startswith("passing (uniques=0.5, below_k=0.1) is not met: 75 % of the rows are in groups of fewer")
    assert "alone" not in message


def test_a_column_that_follows_is_not_met_unless_it_is_accepted() -> None:
    copy = Derivation("ward", ("zip",), True, "copy")
    verdict = Verdict(200, 0, (), {}, {}, passing=replace(FIGURES, derived=(copy,)))
    assert verdict.satisfied is False and verdict.unmet[0].startswith(
        "ward follows from zip, as measured in the original"
    )
    accepted = replace(copy, accepted=True, follows=False)
    verdict = Verdict(200, 0, (), {}, {}, passing=replace(FIGURES, derived=(accepted,)))
    assert (verdict.satisfied, verdict.unmet) == (None, [])
    assert "ward gives zip away, which is accepted" in [each.text for each in verdict.cautions]
    assert FIGURES.block()["derived"] == {"basis": "unknown", "not_judged": ["ward"]}


def test_where_nothing_is_required_nothing_is_judged() -> None:
    verdict = Verdict(200, 0, (), {}, {}, passing=FIGURES)
    assert (verdict.satisfied, verdict.unmet) == (None, [])
    _, caution = verdict.cautions
    assert "(ward) single out 25 % of the rows by themselves, 50 % together with" in caution
    assert caution.text.endswith("75 % are then in groups of fewer than 5")


def test_what_is_certain_for_a_third_is_a_warning() -> None:
    (caution,) = PassingFigures(("w", "v"), 10, certain={"w": 1 / 3, "v": 0.33}).cautions
    assert caution.text.endswith("tell for certain what passes through: w of 33.3 % of the people")


def test_a_message_names_five_columns() -> None:
    (caution,) = replace(FIGURES, columns=tuple("abcdefg")).cautions
    assert "(a, b, c, d, e and 2 more) single out 25 %" in caution


@given(st.lists(st.tuples(*[st.sampled_from("12")] * 4), min_size=1, max_size=12))
def test_a_counter_agrees(rows: list[tuple[str, str, str, str]]) -> None:
    expected = []
    for width in (2, 3, 4):
        times = Counter(row[:width] for row in rows)
        expected.append(sum(times[row[:width]] == 1 for row in rows) / len(rows))
    assert shares(measured_of(list(rows))) == pytest.approx(tuple(expected))
