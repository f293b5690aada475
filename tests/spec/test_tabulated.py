"""`tabulate` against the spec around it: which tables can be protected together."""

from __future__ import annotations

from typing import Any

import pytest

from anonymize.errors import SpecError
from anonymize.privacy import PARAMETERS
from anonymize.spec import make
from anonymize.spec.tabulated import reduced

COLUMNS = {"version": 1, "insensitive": ["area", "district", "illness", "wage"]}


def spec(*tables: dict[str, Any], mechanism: str = "suppression") -> Any:
    return make({**COLUMNS, "tabulate": {"mechanism": mechanism, "tables": list(tables)}}, PARAMETERS)


def by(*columns: str, **measure: Any) -> dict[str, Any]:
    return {"by": list(columns), **(measure or {"count": True})}


CIRCLE = (by("district", "area"), by("district", "illness"), by("area", "illness"))


def test_tables_that_go_round_in_a_circle_are_refused() -> None:
    """Where two districts and areas are the same people, the third table gives the blanks of the second away."""
    with pytest.raises(SpecError, match=r"\[district, area\]; \[district, illness\]; \[area, illness\] go round"):
        spec(*CIRCLE)


def test_a_table_of_all_their_columns_closes_the_circle() -> None:
    assert spec(*CIRCLE, by("area", "district", "illness")).tabulate is not None


def test_noise_hides_what_circles_tell() -> None:
    assert spec(*CIRCLE, mechanism="cell-keys").tabulate is not None


def test_sums_and_counts_are_of_different_measures() -> None:
    assert spec(*CIRCLE[:2], by("area", "illness", sum="wage")).tabulate is not None


@pytest.mark.parametrize(
    ("groups", "left"),
    [
        (["ab", "bc", "cd"], []),
        (["ab", "ab", "a"], []),
        (["abc", "bcd", "bd"], []),
        (["ab", "bc", "cd", "da"], ["ab", "bc", "cd", "da"]),
        (["ab", "bc", "ac", "cd"], ["ab", "bc", "ac"]),
    ],
)
def test_a_tree_is_taken_apart_and_a_circle_stays(groups: list[str], left: list[str]) -> None:
    assert reduced(groups) == [tuple(each) for each in left]
