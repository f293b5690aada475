"""What attackers achieved, as a table."""

from __future__ import annotations

from typing import Any

from anonymize.report.blocks import ATTACKS, SERIES, attack_sections, measured


def share(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.125, "high": value + 0.125}


def result(attacker: str, about: str | None, rate: float, **more: Any) -> dict[str, Any]:
    given = {"attacker": attacker, "about": about, "rate": share(rate), "baseline": None, "control": None}
    return {**given, "excess": None, "figures": {}} | more


def test_a_line_has_what_was_attacked_and_only_columns_that_somebody_has() -> None:
    learned = result("inference", "ill", 0.75, baseline=share(0.5), excess=share(0.25))
    more = result("linkage", None, 0.123456, excess=share(0.5))
    rates, _, _ = attack_sections({"attacks": {"results": [learned, more]}})
    assert rates.title == ATTACKS
    assert rates.header == ("attacker", "success", "baseline", "excess", "95 % interval")
    assert rates.rows == [
        ("linkage", "12.3 %", "-", "50 %", "37.5 % to 62.5 %"),
        ("inference (ill)", "75 %", "50 %", "25 %", "12.5 % to 37.5 %"),
    ]


def test_an_interval_of_no_width_is_said_in_words() -> None:
    exact = result("downcoding", None, 0.5, excess={"value": 0.25, "low": 0.25, "high": 0.25})
    assert attack_sections({"attacks": {"results": [exact]}})[0].rows[0][-2:] == ("25 %", "exact: all was tried")


def test_who_had_nothing_to_attack_has_a_line_with_the_columns() -> None:
    nothing = {"value": 0.0, "low": 0.0, "high": 0.0}
    idle = [result("order", name, 0.0, excess=nothing) for name in ("age", "sex")]
    nobody = result("linkage", None, 0.0) | {"rate": None}
    rates, unable, _ = attack_sections({"attacks": {"results": [*idle, nobody]}})
    assert rates.rows == [] and unable.rows == [("order", "age, sex"), ("linkage", "people")]


def test_further_figures_have_a_row_each_with_the_attacker() -> None:
    certain = result("prosecutor", "ill", 0.5, excess=share(0.5), figures={"at_risk": 12, "dcap_baseline": 0.25})
    _, _, further = attack_sections({"attacks": {"results": [certain, result("linkage", None, 0.5)]}})
    assert further.names == 2
    assert further.rows == [
        ("prosecutor (ill)", "at risk", "12", "targets whose chance is above 0.2"),
        ("prosecutor (ill)", "dcap baseline", "0.25", "the same by the values of all rows"),
    ]


# --- series -----------------------------------------------------------------------------------------------------------


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
    assert (first.title, list(first.rows)) == (SERIES, [("one.csv", *counts, "-", "-"), ("two.csv", *counts, "7", "2")])


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
