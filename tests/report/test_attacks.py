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
    rates, _ = sections({"attacks": {"results": [learned, result("linkage", None, 0.123456)]}})
    assert rates.title == TITLE
    assert rates.header == ("attacker", "success", "baseline", "excess", "from", "to")
    assert rates.rows == [
        ("inference (ill)", "0.7500", "0.5000", "0.2500", "0.1250", "0.3750"),
        ("linkage", "0.1235", "-", "-", "-", "-"),
    ]


def test_an_excess_that_is_rounded_to_nothing_has_no_sign() -> None:
    nothing = result("linkage", None, 0.5, excess={"value": -0.00001, "low": -0.2, "high": 0.0})
    assert sections({"attacks": {"results": [nothing]}})[0].rows[0][-3:] == ("0.0000", "-0.2000", "0.0000")


def test_further_figures_have_a_row_each_with_the_attacker() -> None:
    certain = result("prosecutor", "ill", 0.5, figures={"at_risk": 12, "dcap_baseline": 0.25})
    _, further = sections({"attacks": {"results": [certain, result("linkage", None, 0.5)]}})
    assert further.names == 2
    assert further.rows == [
        ("prosecutor (ill)", "at risk", "12", "targets whose chance is above 0.2"),
        ("prosecutor (ill)", "dcap baseline", "0.25", "the same by the values of all rows"),
    ]
