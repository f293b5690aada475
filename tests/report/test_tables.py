"""What the tables of a report show, and what they leave out."""

from __future__ import annotations

from typing import Any

import pytest

from anonymize.metrics import METRICS
from anonymize.report.section import Section
from anonymize.report.tables import parameters, sections

MODEL = {
    "model": "k-anonymity",
    "attribute": None,
    "required": {"k": 5},
    "achieved": {"k": 6},
    "satisfied": True,
    "basis": "measured",
}


def only(report: dict[str, Any]) -> Section:
    [section] = sections(report)
    return section


def test_releases_compared_have_their_figures_or_why_there_is_none() -> None:
    made = {"gcp": 0.25, "prosecutor_max": 0.2, "prosecutor_mean": 0.1, "classes": 7, "suppressed_rows": 3}
    compared = [
        {"label": "mondrian", "k": 5, "code": 0, "efficient": True, "seconds": 1.5} | made,
        {"label": "datafly", "k": 5, "code": 0, "efficient": False, "seconds": 0.5} | made,
        {"label": "samarati", "k": 10, "code": 4, "error": ["no level is safe", "raise it"], "efficient": False},
    ]
    section, reasons = sections({"comparison": compared})
    figures = ("25 %", "20 %", "10 %", "7", "3")
    assert section.rows == [
        ("mondrian", "5", *figures, "1.5", "yes"),
        ("datafly", "5", *figures, "0.5", ""),
        ("samarati", "10", "-", "-", "-", "-", "-", "-", "exit 4"),
    ]
    assert reasons.rows == [("samarati", "10", "no level is safe")] and reasons.title == "Not released"
    assert section.names == 2 and len(section.header) == len(section.rows[0])


def test_a_release_that_failed_without_a_word_is_listed() -> None:
    section = only({"comparison": [{"label": "mondrian", "k": 5, "code": 1, "error": [], "efficient": False}]})
    assert section.rows[0][-1] == "exit 1"


def test_what_else_was_lost_stands_in_a_table_of_its_own_without_sums_over_rows() -> None:
    made = [
        {
            "label": "mondrian",
            "k": 5,
            "code": 0,
            "efficient": True,
            "gcp": 0.5,
            "ncp": 90.0,
            "loss": 0.25,
            "c_avg": 2.0,
        },
        {"label": "samarati", "k": 5, "code": 4, "error": ["no level is safe"], "efficient": False},
    ]
    *_, section = sections({"comparison": made})
    assert section.header == ("algorithm", "k", "c_avg", "loss")
    assert section.rows == [("mondrian", "5", "2", "25 %"), ("samarati", "5", "-", "-")]


def test_what_was_measured_beside_the_reports_has_columns_of_its_own() -> None:
    accuracy = {"figure": "balanced_accuracy", "original": 0.9, "released": 0.75}
    compared = [
        {"label": "mondrian", "k": 5, "code": 0, "efficient": True, "query_error": 0.5, "models": {"ill": accuracy}},
        {"label": "samarati", "k": 5, "code": 4, "error": ["no level is safe"]},
    ]
    section, _ = sections({"comparison": compared})
    beside = ("query error", "ill: balanced accuracy, original", "ill: balanced accuracy, released", "efficient")
    assert section.header[-4:] == beside
    assert [row[-4:] for row in section.rows] == [
        ("0.5", "0.9", "0.75", "yes"),
        ("-", "-", "-", "exit 4"),
    ]


def test_privacy_where_missing_is_anything_stands_beside_that_of_the_text() -> None:
    weaker = MODEL | {"achieved": {"k": 4}, "satisfied": False}
    own, wildcard = sections({"privacy": {"models": [MODEL], "wildcard": {"models": [weaker]}}})
    assert own.rows == [("k-anonymity", "", "k = 5", "k = 6", "yes")] and own.names == 2
    assert wildcard.rows == [("k-anonymity", "", "k = 5", "k = 4", "NO")]
    assert wildcard.title.startswith("The same where a missing or suppressed cell matches anything")


UNKNOWN = {"satisfied": None, "basis": "unknown", "unknown": "a reason"}


@pytest.mark.parametrize(
    ("result", "met"),
    [({"satisfied": True}, "yes"), ({"satisfied": False}, "NO"), ({"satisfied": None}, ""), (UNKNOWN, "not shown")],
)
def test_what_is_unknown_and_what_was_not_required_are_told_apart(result: dict[str, Any], met: str) -> None:
    model = MODEL | {"attribute": "ill"} | result
    assert only({"privacy": {"models": [model]}}).rows == [("k-anonymity", "ill", "k = 5", "k = 6", met)]


def test_rows_stand_below_the_classes_or_alone_where_there_are_none() -> None:
    output = {"rows": 90, "suppressed_rows": 0, "path": "out.csv"}
    rows = [("rows", "90"), ("suppressed_rows", "0")]
    with_classes = only({"classes": {"count": 7, "min_size": None, "sizes": {"5": 7}}, "output": output})
    keys = [row[:0:-1] for row in with_classes.rows]
    assert (with_classes.title, keys) == ("Equivalence classes", [("count", "7"), *rows])
    without = only({"classes": {"count": None}, "output": output})
    assert (without.title, [row[:0:-1] for row in without.rows]) == ("Rows", rows)


def test_what_is_outside_a_recoding_is_counted_of_the_rows() -> None:
    section = only({"outside": {"rows": 12, "unknown": 4}, "input": {"rows": 12345}})
    assert section.title == "Outside the recoding, of 12,345 rows" and section.header == ("measure", "figure", "key")
    assert [row[:0:-1] for row in section.rows] == [("rows", "12"), ("unknown", "4")]


def test_a_figure_of_loss_that_is_not_known_is_left_out() -> None:
    utility = {"gcp": 0.5, "precision": None, "bound": {"gcp": 0.25}, "attributes": {}}
    assert [row[:0:-1] for row in only({"utility": utility}).rows] == [("gcp", "50 %"), ("bound", "25 %")]
    assert only({"utility": utility}).rows[0][0] == METRICS["gcp"].MEANING.removesuffix(", 0 to 1")
    assert [row[-1] for row in only({"utility": utility | {"bound": {}}}).rows] == ["gcp"]


@pytest.mark.parametrize(
    ("block", "header", "rows"),
    [
        ({"levels": {"age": 2}, "heights": {"age": 4}}, ("attribute", "level", "height"), [("age", "2", "4")]),
        ({"levels": {"age": 0}}, ("attribute", "level"), [("age", "0")]),
    ],
)
def test_levels_stand_beside_heights_where_these_are_known(
    block: dict[str, Any], header: tuple[str, ...], rows: list[tuple[str, ...]]
) -> None:
    section = only({"recoding": block})
    assert (section.header, section.rows) == (header, rows)


def test_a_recoding_without_levels_has_no_table_of_them() -> None:
    assert sections({"recoding": {"kind": "regions", "levels": 7}}) == sections({"recoding": {}}) == []


def test_no_parameters_are_a_dash() -> None:
    assert parameters({}) == "-"
    assert parameters({"c": 2.0, "l": 3}) == "c = 2, l = 3"


def test_what_is_kept_is_not_listed_among_losses() -> None:
    report = {"utility": {"gcp": 0.0, "precision": 1.0, "attributes": {}}}
    tables = {section.title: [row[-1] for row in section.rows] for section in sections(report)}
    assert tables == {"Information loss": ["gcp"], "What is kept (higher is better)": ["precision"]}
