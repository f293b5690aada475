"""What attackers achieved, as a table."""

from __future__ import annotations

from typing import Any

from anonymize.report.attacks import TITLE, sections


def share(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.125, "high": value + 0.125}


def result(attacker: str, about: str | None, rate: float, **more: Any) -> dict[str, Any]:
    given = {"attacker": attacker, "about": about, "rate": share(rate), "baseline": None, "control": None}
    return {**given, "excess": None, "figures": {}} | more


def test_a_line_has_what_was_attacked_and_only_columns_that_somebody_has() -> None:
    learned = result("inference", "ill", 0.75, baseline=share(0.5), excess=share(0.25))
    more = result("linkage", None, 0.123456, excess=share(0.5))
    rates, _, _ = sections({"attacks": {"results": [learned, more]}})
    assert rates.title == TITLE
    assert rates.header == ("attacker", "success", "baseline", "excess", "95 % interval")
    assert rates.rows == [
        ("linkage", "12.3 %", "-", "50 %", "37.5 % to 62.5 %"),
        ("inference (ill)", "75 %", "50 %", "25 %", "12.5 % to 37.5 %"),
    ]


def test_an_interval_of_no_width_is_said_in_words() -> None:
    exact = result("downcoding", None, 0.5, excess={"value": 0.25, "low": 0.25, "high": 0.25})
    assert sections({"attacks": {"results": [exact]}})[0].rows[0][-2:] == ("25 %", "exact: all was tried")


def test_who_had_nothing_to_attack_has_a_line_with_the_columns() -> None:
    nothing = {"value": 0.0, "low": 0.0, "high": 0.0}
    idle = [result("order", name, 0.0, excess=nothing) for name in ("age", "sex")]
    nobody = result("linkage", None, 0.0) | {"rate": None}
    rates, unable, _ = sections({"attacks": {"results": [*idle, nobody]}})
    assert rates.rows == [] and unable.rows == [("order", "age, sex"), ("linkage", "people")]


def test_further_figures_have_a_row_each_with_the_attacker() -> None:
    certain = result("prosecutor", "ill", 0.5, excess=share(0.5), figures={"at_risk": 12, "dcap_baseline": 0.25})
    _, _, further = sections({"attacks": {"results": [certain, result("linkage", None, 0.5)]}})
    assert further.names == 2
    assert further.rows == [
        ("prosecutor (ill)", "at risk", "12", "targets whose chance is above 0.2"),
        ("prosecutor (ill)", "dcap baseline", "0.25", "the same by the values of all rows"),
    ]
