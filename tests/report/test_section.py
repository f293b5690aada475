"""What sections are made of."""

from __future__ import annotations

import pytest

from anonymize.report.section import Section, called, explained, figure


def test_an_algorithm_is_called_as_on_a_command_line() -> None:
    assert called({"algorithm": "mondrian", "options": {"refine": True, "passes": 2}}) == "mondrian --refine --passes 2"
    assert called({"algorithm": "datafly", "options": {}}) == "datafly"


@pytest.mark.parametrize(
    ("value", "text"), [(1e4, "10,000"), (9999.9999, "1e+04"), (["a", "b"], "[a, b]"), ("text", "text")]
)
def test_a_figure_at_the_edge_and_what_is_none(value: object, text: str) -> None:
    assert figure(value) == text


def test_the_first_column_names_a_row() -> None:
    assert Section("t", ("a", "b"), []).names == 1 == explained("t", {}, {}).names


def test_figures_stand_beside_those_where_missing_is_anything() -> None:
    meanings = {"a": "first", "b": "second", "c": "third"}
    assert explained("t", {"a": 1, "b": 2}, meanings) == Section(
        "t", ("measure", "figure", "key"), [("first", "1", "a"), ("second", "2", "b")]
    )
    assert explained("t", {"a": 1}, meanings, wildcard={"a": 3, "b": 4}) == Section(
        "t", ("measure", "figure", "missing as anything", "key"), [("first", "1", "3", "a")]
    )


def test_shares_have_a_column_of_their_own() -> None:
    meanings = {"a": "first", "b": "second", "c": "third"}
    both = explained(
        "t", {"a": 0.25, "b": 2, "c": None}, meanings, shares={"a", "c"}, wildcard={"a": 0.5, "b": 3, "c": 1}
    )
    assert both.header == ("measure", "share", "figure", "missing as anything", "key")
    assert both.rows == [
        ("first", "25 %", "", "50 %", "a"),
        ("second", "", "2", "3", "b"),
        ("third", "-", "", "100 %", "c"),
    ]
    assert explained("t", {"a": 0.25}, meanings, shares={"a"}).header == ("measure", "share", "key")
