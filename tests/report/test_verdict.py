"""The verdict of a report in one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from anonymize.report.verdict import UNSHOWN, UNSHOWN_HERE, verdict_of

MET = "every requirement is met"
ALONE = {"uniques_with_quasi_identifiers": 0.25}


@pytest.mark.parametrize(
    ("report", "state", "sentence"),
    [
        ({"comparison": []}, "neutral", "compared, and nothing published"),
        ({"seed": 1}, "neutral", "evaluated, not judged"),
        ({}, "neutral", "recoded, not measured"),
        ({"privacy": {"satisfied": None, "unknown": ["x"]}}, "unknown", UNSHOWN),
        ({"privacy": {"satisfied": None, "unknown": ["x"]}, "public": True}, "unknown", UNSHOWN_HERE),
        ({"privacy": {"satisfied": None}}, "neutral", "measured; nothing was required"),
        ({"privacy": {"satisfied": False}}, "unmet", "NOT SAFE: a requirement is not met"),
        ({"privacy": {"satisfied": False, "unknown": ["x"]}}, "unmet", "NOT SAFE: a requirement is not met"),
        ({"privacy": {"satisfied": True}}, "met", MET),
        ({"privacy": {"satisfied": True}, "risk": {}}, "met", MET),
        ({"privacy": {"satisfied": True}, "risk": {"passing": ALONE | {"required": 0.5}}}, "met", MET),
        (
            {"privacy": {"satisfied": True}, "risk": {"passing": ALONE}},
            "but",
            f"{MET}, but columns that pass through single out 25 % of the rows",
        ),
    ],
)
def test_a_verdict_has_a_colour_and_a_sentence(report: dict[str, Any], state: str, sentence: str) -> None:
    verdict = verdict_of(report)
    assert (verdict.state, verdict.sentence) == (state, sentence)
