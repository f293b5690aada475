"""The verdict of a report in one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from anonymize.report.verdict import (
    UNSHOWN,
    UNSHOWN_HERE,
    known_by,
    main_figures,
    opening,
    smallest_group,
    verdict_of,
)

MET = "every requirement is met"
ALONE = {"uniques_with_quasi_identifiers": 0.25}


@pytest.mark.parametrize(
    ("report", "tone", "sentence"),
    [
        ({"comparison": []}, "neutral", "compared, and nothing published"),
        ({"utility": {}}, "neutral", "evaluated, not judged"),
        ({}, "neutral", "recoded, not measured"),
        ({"privacy": {"state": "unknown"}}, "unknown", UNSHOWN),
        ({"privacy": {"state": "unknown"}, "public": True}, "unknown", UNSHOWN_HERE),
        ({"privacy": {"state": "nothing required"}}, "neutral", "measured; nothing was required"),
        ({"privacy": {"state": "unmet"}}, "unmet", "NOT SAFE: a requirement is not met"),
        ({"privacy": {"state": "unmet", "unknown": ["x"]}}, "unmet", "NOT SAFE: a requirement is not met"),
        ({"privacy": {"state": "met"}}, "met", MET),
        ({"privacy": {"state": "met"}, "risk": {}}, "met", MET),
        ({"privacy": {"state": "met"}, "risk": {"passing": ALONE | {"required": {"uniques": 0.5}}}}, "met", MET),
        (
            {"privacy": {"state": "met"}, "risk": {"passing": ALONE}},
            "but",
            f"{MET}, but columns that pass through single out 25 % of the rows",
        ),
    ],
)
def test_a_verdict_has_a_colour_and_a_sentence(report: dict[str, Any], tone: str, sentence: str) -> None:
    verdict = verdict_of(report)
    assert (verdict.tone, verdict.sentence) == (tone, sentence)


@pytest.mark.parametrize(
    ("bases", "said"),
    [
        (["measured"], "measured from the table as written"),
        (["derived"] * 2, "derived from the declared mechanism, against which the table was tested"),
        (["unknown", "measured", "measured"], "2 measured from the table as written, 1 could not be shown"),
        ([], ""),
    ],
)
def test_what_a_figure_rests_on_is_said(bases: list[str], said: str) -> None:
    assert known_by([{"basis": each} for each in bases]) == said


# --- what was found, and what to do ----------------------------------------------------------------------------------


def attack(attacker: str, rate: float, baseline: float, low: float, high: float) -> dict[str, Any]:
    excess = {"value": (low + high) / 2, "low": low, "high": high}
    rates = {"rate": {"value": rate}, "baseline": {"value": baseline}, "against": "baseline", "remedy": "`-k 20`"}
    return {"attacker": attacker, "about": None, "excess": excess, **rates}


@pytest.mark.parametrize(
    ("results", "text", "remedy"),
    [
        ([], "there was nothing to attack", ""),
        (
            [attack("marketer", 0.2, 0.1, 0.1, 0.2), attack("downcoding", 0.5, 0.086, 0.4, 0.5)],
            "downcoding is right for 50 % where chance gives 8.6 %: an excess of 45 % (40 % to 50 %)",
            "`-k 20`",
        ),
        (
            [attack("order", 0.5, 0.5, 0.25, 0.25)],
            "order is right for 50 % where chance gives 50 %: an excess of 25 % (exact: all was tried)",
            "`-k 20`",
        ),
        (
            [attack("downcoding", 0.5, 0.2, -0.5, 1.0), attack("marketer", 0.2, 0.1, 0.1, 0.2)],
            "marketer is right for 20 % where chance gives 10 %: an excess of 15 % (10 % to 20 %)",
            "`-k 20`",
        ),
        ([attack("marketer", 0.1, 0.2, -0.2, -0.1)], "no attacker learns anything because of the release", ""),
    ],
)
def test_a_report_of_attacks_begins_with_who_learns_most(results: list[dict[str, Any]], text: str, remedy: str) -> None:
    first = opening({"attacks": {"results": results}, "input": {}})
    assert first is not None and (first.text, first.remedy) == (text, remedy)


def test_an_audit_begins_with_what_most_rows_fail() -> None:
    models = [
        {"model": "k-anonymity", "satisfied": False, "failing_rows": 12},
        {"model": "t-closeness", "satisfied": False, "failing_rows": 1},
        {"model": "delta-presence", "satisfied": True},
    ]
    first = opening({"privacy": {"state": "unmet", "models": models}})
    assert first is not None and "`anonymize release SPEC" in first.remedy
    assert first.text == "2 of 3 requirements not met, k-anonymity in most rows: 12 rows fail"
    assert opening({"privacy": {"state": "met", "models": models[2:]}, "classes": {"min_size": 5}}) is None
    unasked = opening({"privacy": {"state": "nothing required", "models": []}, "classes": {"min_size": 5}})
    assert unasked is not None and "`-k 5`" in unasked.remedy


def test_an_evaluation_begins_with_the_column_that_lost_most() -> None:
    first = opening({"utility": {"gcp": 0.25, "attributes": {"age": {"ncp": 0.125}, "zip": {"ncp": 0.375}}}})
    assert (
        first is not None and first.text.endswith("most of zip: 37.5 %") and "`weight: 3`, added to zip" in first.remedy
    )
    cells = {"age": {"ncp": 0.5, "changed_by": "suppress"}}
    suppressed = opening({"utility": {"gcp": 0.25, "attributes": cells}})
    assert suppressed is not None and "a higher `importance` of age" in suppressed.remedy
    kept = opening({"utility": {"gcp": 0.0, "attributes": {"age": {"ncp": 0.0}}}})
    assert kept is not None and kept.text.startswith("the release lost nothing") and not kept.remedy


def test_individuals_are_called_so_where_they_are_what_is_counted() -> None:
    passing = {"columns": ["ward"], "below_k_with_quasi_identifiers": 0.5, "k": 5}
    risk = {"counts": "individuals", "prosecutor_max": 0.2, "passing": passing}
    report = {"privacy": {"state": "nothing required"}, "classes": {"min_size": 5}, "risk": risk}
    said = " ".join(
        [str(opening(report)), *smallest_group(report), *map(str, main_figures(report | {"algorithm": {}}))]
    )
    assert "has 5 individuals" in said and "in groups below 5 individuals" in said and "for an individual" in said
    assert "5 rows" not in said and "a row" not in said


def test_a_release_needs_no_sentence_and_what_is_measured_in_the_input_is_no_requirement() -> None:
    models = [{"model": name, "satisfied": True, "basis": "measured"} for name in ("k-anonymity", "rare")]
    report = {"privacy": {"state": "met", "models": models}, "algorithm": {}, "classes": {"min_size": 5}}
    assert opening(report) is None
    figures = dict((name, (number, more)) for name, number, more in main_figures(report))
    assert figures["requirements"][0] == "1 met"
    alone = main_figures(report | {"risk": {"unique_values": {"pay": 0.98, "ill": 0.0}}})
    assert [more for name, _, more in alone if name == "smallest group"] == [
        " by the quasi-identifiers; pay alone singles out 98 % of the rows"
    ]
