"""The tables of a series that was measured by history."""

from __future__ import annotations

from typing import Any

from anonymize.report.series import TITLE, measured


def of_k(satisfied: bool | None, values_of: str | None = None, **achieved: Any) -> dict[str, Any]:
    named = {"model": "k-anonymity", "attribute": None, "values_of": values_of}
    return {**named, "satisfied": satisfied, "achieved": achieved}


COUNTS = {"people": 1234, "first_time": 5, "histories": 6, "smallest": 3}
LEFT = {"people": 7, "in_small_company": 2}
VERIFIED = {
    "releases": [
        {"name": "n/one.csv", **COUNTS, "left": None, "models": [of_k(True, k=3)]},
        {
            "name": "two.csv",
            **COUNTS,
            "left": LEFT,
            "models": [of_k(None), of_k(False, "n/one.csv", k=1, x=None)],
            "departed": [of_k(True, k=4) | {"attribute": "ill"}],
        },
    ]
}
BESIDE = {
    "bcf_anonymity": [{"release": "n/two.csv", "after": "n/one.csv", "forward": 3, "cross": 3, "backward": 0}],
    "m_invariance": [{"attribute": "ill", "m": 2, "distinct": 0.5, "invariant": 1.0, "common": 1}],
}


def test_releases_have_their_counts_and_those_who_left() -> None:
    first, _ = measured({"series": {"verified": VERIFIED}})
    counts = ("1,234", "5", "6", "3")
    assert (first.title, list(first.rows)) == (TITLE, [("one.csv", *counts, "-", "-"), ("two.csv", *counts, "7", "2")])


def test_models_are_those_of_who_is_in_a_release_and_of_who_is_not_any_more() -> None:
    _, models = measured({"series": {"verified": VERIFIED}})
    assert list(models.rows) == [
        ("one.csv", "k-anonymity", "", "k = 3", "", "yes"),
        ("two.csv", "k-anonymity", "", "-", "", "not shown"),
        ("two.csv", "k-anonymity", "", "k = 1, x = -", "one.csv", "NO"),
        ("two.csv, not in it any more", "k-anonymity", "ill", "k = 4", "", "yes"),
    ]


def test_what_the_papers_promise_stands_beside() -> None:
    correspondence, invariance = measured({"series": {"beside": BESIDE}})
    assert list(correspondence.rows) == [("two.csv", "one.csv", "3", "0")]
    assert list(invariance.rows) == [("ill", "2", "0.5", "1", "1")]
    assert len(measured({"series": {"verified": VERIFIED, "beside": BESIDE}})) == 4
    assert measured({"series": {}}) == []
