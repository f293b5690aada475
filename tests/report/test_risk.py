"""The report's risk as tables."""

from __future__ import annotations

from typing import Any

import pytest

from anonymize.report.risk import SHOWN, risks

BLOCK: dict[str, Any] = {"prosecutor_max": 0.5, "threshold": 0.1}
SPECIAL = {"uniques": 3, "max_size": 2, "score": {"max": 2.0, "mean": 0.5, "contributions": {"age": 0.75}}}


def subset(names: str, uniques: int) -> dict[str, Any]:
    figures = {"distinct": 2, "separation": 0.5, "uniques": uniques, "minimal_uniques": uniques}
    return {"attributes": list(names), **figures}


def test_a_sample_is_shown_against_its_population() -> None:
    population = {"sampling_fraction": 0.25, "uniques": 0.5, "estimator": "pitman"}
    identification, section = risks({"risk": BLOCK | {"population": population}})
    assert identification.title == "Re-identification risk"
    assert section.title == "Population uniqueness"
    assert section.header == ("measure", "share", "figure", "key")
    assert [row[1:] for row in section.rows] == [
        ("25 %", "", "sampling_fraction"),
        ("50 %", "", "uniques"),
        ("", "pitman", "estimator"),
    ]


@pytest.mark.parametrize(("pairs", "shown"), [(0, 2), (23, 25), (24, 25)])
def test_subsets_are_every_attribute_and_then_those_that_tell_most(pairs: int, shown: int) -> None:
    subsets = [subset("a", 1), *(subset("ab", number) for number in range(pairs)), subset("b", 0)]
    _, section, special = risks({"risk": BLOCK | {"subsets": subsets, "special_uniques": SPECIAL}})
    told = f" ({SHOWN} of {len(subsets)}; all are in the JSON report)" if len(subsets) > SHOWN else ""
    assert section.title == "What subsets of the quasi-identifiers tell apart" + told
    assert [row[0] for row in section.rows] == ["a", "b", *["a, b"] * (shown - 2)]
    assert [row[-1] for row in section.rows[2:]] == [str(number) for number in reversed(range(pairs))][: shown - 2]
    assert special.rows[-1][:2] == ("age", "75 %")


def test_of_many_attributes_each_is_shown_and_no_set_of_them() -> None:
    subsets = [*(subset(letter, 1) for letter in "abcdefghijklmnopqrstuvwxyz"), subset("ab", 9)]
    section = risks({"risk": BLOCK | {"subsets": subsets, "special_uniques": SPECIAL}})[1]
    assert len(section.rows) == 26 and "(26 of 27; " in section.title


def test_each_part_of_the_risk_is_a_section_of_its_own() -> None:
    passing = {"columns": ["ward", "visit"], "uniques": 0.5, "left_out": [], "max_size": 2}
    smallest = [{"columns": ["ward", "visit"], "uniques": 0.25}]
    figures = {"population": 53, "journalist_max": 0.5, "records_at_risk": 0.125}
    block = BLOCK | {
        "attacker": {"ill": {"success": 0.5, "baseline": 0.25, "original": 0.75}, "job": None},
        "passing": passing | {"smallest": smallest},
        "sample": figures,
        "journalist": figures,
    }
    own, attacker, columns, sets, sample, journalist = risks({"risk": block})
    assert [row[1:] for row in attacker.rows] == [("50 %", "success"), ("25 %", "baseline"), ("75 %", "original")]
    assert all(row[0].startswith("ill: ") for row in attacker.rows)
    assert columns.rows[0][1:] == ("50 %", "uniques") and sets.rows == [("ward, visit", "0.25")]
    assert sets.title.endswith("single rows out (of at most 2 columns)")
    assert [section.rows[-1][-1] for section in (sample, journalist)] == ["records_at_risk"] * 2
    assert all("is above 0.1" in section.rows[-1][0] for section in (sample, journalist))
    assert own.rows[0][1:] == ("50 %", "prosecutor_max")


def test_columns_that_were_not_combined_are_counted_and_none_that_single_out_are_not_shown() -> None:
    passing = {"columns": ["ward"], "uniques": 0.5, "left_out": ["visit", "note"], "max_size": 2}
    assert len(risks({"risk": BLOCK | {"passing": passing | {"smallest": None}}})) == 2
    assert len(risks({"risk": BLOCK | {"passing": passing | {"columns": []}}})) == 1
    sets = risks({"risk": BLOCK | {"passing": passing | {"smallest": []}}})[-1]
    assert sets.title.endswith("(of at most 2 columns); 2 columns were not looked at together with others")


@pytest.mark.parametrize("given", [{}, {"threshold": 0.2}])
def test_the_threshold_is_a_fifth_unless_another_was_asked_for(given: dict[str, float]) -> None:
    block = {"records_at_risk": 0.5, "sample": {"records_at_risk": 0.5}, "journalist": {"records_at_risk": 0.5}}
    assert all("is above 0.2" in section.rows[-1][0] for section in risks({"risk": block | given}))
