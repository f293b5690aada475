"""k-anonymity of combinations of quasi-identifiers, against counts by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonymize
from anonymize.errors import SpecError, UsageError
from anonymize.privacy import PARAMETERS
from anonymize.spec import make
from anonymize.verify.combinations import PassingColumns, figures_of, numbers_of
from anonymize.verify.kept import Derivation, PassingFigures, RowShares
from anonymize.verify.table import TextTable
from anonymize.verify.verdict import Verdict

ROWS = pl.DataFrame({"a": [*"xxxxyy"], "b": [*"uuvvvv"], "c": [*"123456"], "who": [*"pqrsst"]})
SPEC: dict[str, Any] = {"quasi_identifiers": {"a": {}, "b": {}, "c": {}}, "identifiers": ["who"]}


def audited(combinations: list[dict[str, Any]], **more: Any) -> list[tuple[Any, ...]]:
    spec = {**SPEC, **more, "privacy": {"combinations": combinations}}
    table = ROWS if "unit" in more else ROWS.drop("who")
    report = anonymize.audit(table, spec).report
    assert any("combinations of quasi-identifiers" in each for each in report["warnings"])
    return [
        (each["attribute"], each["achieved"]["k"], each["failing_rows"], each["satisfied"])
        for each in report["privacy"]["models"]
    ]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"columns": ["a"], "k": 2}, ("a", 2, 0, True)),
        ({"columns": ["a", "b"], "k": 3}, ("a, b", 2, 6, False)),
        ({"columns": ["b"], "k": 3}, ("b", 2, 2, False)),
        ({"size": 1, "k": 1}, ("any 1 of the quasi-identifiers", 1, 0, True)),
        ({"size": 2, "k": 2}, ("any 2 of the quasi-identifiers", 1, 6, False)),
    ],
)
def test_groups_of_a_combination_are_counted(rule: dict[str, Any], expected: tuple[Any, ...]) -> None:
    assert audited([rule]) == [expected]


def test_rows_about_one_individual_count_once() -> None:
    assert audited([{"columns": ["a"], "k": 2}], unit="who", identifiers=[]) == [("a", 2, 0, True)]
    assert audited([{"columns": ["a", "b"], "k": 3}], unit="who", identifiers=[])[0][1] == 2


@pytest.mark.parametrize("algorithm", ["mondrian", "tds"])
def test_a_release_meets_its_combinations(algorithm: str) -> None:
    people = pl.DataFrame(
        {"age": [20 + row * 7 % 40 for row in range(200)], "zip": [f"{10 + row % 9}{row % 10}" for row in range(200)]}
    ).with_columns(label=pl.col("zip").str.slice(0, 1))
    columns: dict[str, Any] = {"age": {"type": "numeric"}, "zip": {"hierarchy": {"prefix": [2, 1]}}}
    required = {"k": 2, "combinations": [{"columns": ["age"], "k": 12}]}
    spec = {"quasi_identifiers": columns, "privacy": required, "workload": {"targets": ["label"]}}
    released = anonymize.release(people, spec, algorithm=algorithm)
    assert released.frame["age"].value_counts()["count"].min() >= 12
    models = {each["model"]: each for each in released.report["privacy"]["models"]}
    assert models["k-anonymity"]["required"] == {"k": 2}
    assert models["k-anonymity of a combination"]["satisfied"]


@pytest.mark.parametrize(
    ("privacy", "says"),
    [
        ({"combinations": [{"columns": ["ab"], "k": 2}]}, "not a quasi-identifier"),
        ({"combinations": [{"k": 2}]}, "one of `columns` and `size`"),
        ({"combinations": [{"columns": ["a"], "size": 1, "k": 2}]}, "one of `columns` and `size`"),
        ({"combinations": [{"size": 4, "k": 2}]}, "there are 3 quasi-identifiers"),
        ({"k": 5, "combinations": [{"size": 2, "k": 5}]}, "requires no more than `privacy.k`"),
    ],
)
def test_combinations_that_cannot_be_are_refused(privacy: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        make({"version": 1, **SPEC, "privacy": privacy}, PARAMETERS)


def test_what_gives_no_k_refuses_them() -> None:
    required = {"l": 2, "combinations": [{"size": 1, "k": 2}]}
    spec = {"quasi_identifiers": {"a": {}}, "sensitive": ["b"], "insensitive": ["c", "who"], "privacy": required}
    with pytest.raises((SpecError, UsageError), match="gives no k-anonymity"):
        anonymize.release(
            ROWS, {**spec, "privacy": {"l": 2, "combinations": [{"size": 1, "k": 2}]}}, algorithm="anatomy"
        )


# --- passing ----------------------------------------------------------------------------------------------------------

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
    assert caution.text.endswith("disclose with certainty what passes through: w of 33.3 % of the people")


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
