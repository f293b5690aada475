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
        "t", ("measure", "figure", "meaning"), [("a", "1", "first"), ("b", "2", "second")]
    )
    assert explained("t", {"a": 1}, meanings, beside={"a": 3, "b": 4}, header=("x", "y")) == Section(
        "t", ("x", "y", "missing as anything", "meaning"), [("a", "1", "3", "first")]
    )
