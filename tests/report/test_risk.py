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
    assert [row[:2] for row in section.rows] == [
        ("sampling_fraction", "0.25"),
        ("uniques", "0.5"),
        ("estimator", "pitman"),
    ]


@pytest.mark.parametrize(("pairs", "shown"), [(0, 2), (23, 25), (24, 25)])
def test_subsets_are_every_attribute_and_then_those_that_tell_most(pairs: int, shown: int) -> None:
    subsets = [subset("a", 1), *(subset("ab", number) for number in range(pairs)), subset("b", 0)]
    _, section, special = risks({"risk": BLOCK | {"subsets": subsets, "special_uniques": SPECIAL}})
    told = f" ({SHOWN} of {len(subsets)}; all are in the JSON report)" if len(subsets) > SHOWN else ""
    assert section.title == "What subsets of the quasi-identifiers tell apart" + told
    assert [row[0] for row in section.rows] == ["a", "b", *["a, b"] * (shown - 2)]
    assert [row[-1] for row in section.rows[2:]] == [str(number) for number in reversed(range(pairs))][: shown - 2]
    assert special.rows[-1][:2] == ("age", "0.75")


def test_of_many_attributes_each_is_shown_and_no_set_of_them() -> None:
    subsets = [*(subset(letter, 1) for letter in "abcdefghijklmnopqrstuvwxyz"), subset("ab", 9)]
    section = risks({"risk": BLOCK | {"subsets": subsets, "special_uniques": SPECIAL}})[1]
    assert len(section.rows) == 26 and "(26 of 27; " in section.title
