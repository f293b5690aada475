"""`domains` and `synthesize` against the spec around them."""

from __future__ import annotations

from typing import Any

import pytest

from anonymize.errors import SpecError
from anonymize.privacy import PARAMETERS
from anonymize.spec import make
from anonymize.spec.block_checks import reduced

BASE: dict[str, Any] = {
    "version": 1,
    "identifiers": ["name"],
    "quasi_identifiers": {"age": {"type": "numeric"}, "sex": {}},
    "insensitive": ["ward"],
    "unit": "person",
}


def spec(**more: Any) -> Any:
    return make({**BASE, **more}, PARAMETERS)


def test_a_range_makes_the_numbers_of_a_column_be_written_as_the_input_says() -> None:
    made = spec(domains={"ward": {"low": 0, "high": 9}}, input={"decimal": ","})
    assert made.notation("ward").decimal == ","


def test_a_spec_of_a_synthetic_table_needs_no_quasi_identifiers() -> None:
    made = make({"version": 1, "insensitive": ["ward"], "domains": {"ward": ["A"]}, "synthesize": {}}, PARAMETERS)
    assert made.synthesize is not None and made.synthesize.method == "aim"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"wardd": ["A"]}, "has no role"),
        ({"name": ["A"]}, "an identifier, and left out"),
        ({"person": ["A"]}, "the unit, and left out"),
        ({"ward": ["A", "B", " A"]}, "1 of the values is listed twice"),
        ({"ward": {"values": ["A"], "low": 1}}, "beside `values`"),
        ({"ward": {"low": 1}}, "both `low` and `high`"),
        ({"ward": {"low": 2, "high": 1}}, "has to be above"),
        ({"ward": {"low": 0.5, "high": 0.5}}, "has to be above"),
        ({"ward": {"low": 0, "high": 9, "bins": [9]}}, "bins begin from"),
        ({"ward": {"low": 0, "high": 9, "bins": [4, 3]}}, "numbers that grow"),
        ({"ward": {"low": 0, "high": 9, "bins": 0}}, "bins"),
        ({"ward": {"low": 0, "high": 9.5, "whole": True}}, "no whole numbers"),
        ({"sex": {"low": 0, "high": 1}}, "is for numeric columns"),
        ({"age": ["young", "1"]}, "not all values are numbers"),
        ({"ward": 3}, "a list of values"),
    ],
)
def test_a_domain_that_contradicts_the_spec_is_refused(entry: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        spec(domains=entry)


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ({"method": "gan"}, "method"),
        ({"method": "fixed"}, "takes a list of `marginals`"),
        ({"method": "fixed", "marginals": 2}, "takes a list of `marginals`"),
        ({"method": "mst", "marginals": 2}, "mst chooses its own"),
        ({"method": "aim", "marginals": [["age"]]}, "aim takes the most columns"),
        ({"method": "aim", "marginals": 0}, "marginals"),
        ({"method": "fixed", "marginals": [["age", "sexx"]]}, "`sexx` has no role"),
        ({"method": "fixed", "marginals": [["age", "name"]]}, "an identifier"),
        ({"method": "fixed", "marginals": [["age", "age"]]}, "listed twice"),
        ({"rows_per_unit": 2, "count": "public"}, "otherwise the number of rows is private"),
        ({"rows_per_unit": 0}, "rows_per_unit"),
        ({"count": "secret"}, "count"),
        ({"epsilon": 1}, "epsilon"),
    ],
)
def test_a_synthesis_that_contradicts_itself_is_refused(block: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        spec(synthesize=block)


def test_rows_per_unit_need_a_unit() -> None:
    without = {name: value for name, value in BASE.items() if name != "unit"}
    with pytest.raises(SpecError, match="has no `unit`"):
        make({**without, "synthesize": {"rows_per_unit": 2}}, PARAMETERS)


COLUMNS = {"version": 1, "insensitive": ["area", "district", "illness", "wage"]}


def tabulated(*tables: dict[str, Any], mechanism: str = "suppression") -> Any:
    return make({**COLUMNS, "tabulate": {"mechanism": mechanism, "tables": list(tables)}}, PARAMETERS)


def by(*columns: str, **measure: Any) -> dict[str, Any]:
    return {"by": list(columns), **(measure or {"count": True})}


CIRCLE = (by("district", "area"), by("district", "illness"), by("area", "illness"))


def test_tables_that_form_a_circle_are_refused() -> None:
    """Where two districts and areas are the same people, the third table gives the blanks of the second away."""
    with pytest.raises(SpecError, match=r"\[district, area\]; \[district, illness\]; \[area, illness\] form a circle"):
        tabulated(*CIRCLE)


def test_a_table_of_all_their_columns_closes_the_circle() -> None:
    assert tabulated(*CIRCLE, by("area", "district", "illness")).tabulate is not None


def test_noise_hides_what_circles_tell() -> None:
    assert tabulated(*CIRCLE, mechanism="cell-keys").tabulate is not None


def test_sums_and_counts_are_of_different_measures() -> None:
    assert tabulated(*CIRCLE[:2], by("area", "illness", sum="wage")).tabulate is not None


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
