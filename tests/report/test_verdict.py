"""The verdict of a report in one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from anonymize.report.verdict import UNSHOWN, UNSHOWN_HERE, known_by, verdict_of

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
