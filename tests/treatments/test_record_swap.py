"""Targeted record swapping: who goes first, with whom, and what stays exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.errors import DataError
from tests.common.treatments import Made, make_step

HOMES = 600
random = np.random.default_rng(11)
SIZE = random.integers(1, 5, HOMES)
AREA = random.integers(0, 12, HOMES)
WHOSE = np.repeat(np.arange(HOMES), SIZE)
PEOPLE = {
    "home": WHOSE.tolist(),
    "nuts1": [f"r{area // 4}" for area in AREA[WHOSE]],
    "nuts2": [f"a{area}" for area in AREA[WHOSE]],
    "code": [f"c{area}" for area in AREA[WHOSE]],
    "size": SIZE[WHOSE].tolist(),
    "age": random.integers(0, 150, len(WHOSE)).tolist(),
}
TARGETED: dict[str, Any] = {
    "move": ["nuts1", "nuts2"],
    "carry": ["code"],
    "alike": ["size"],
    "households": "home",
    "risk": ["age"],
    "k": 2,
}


def swapped(columns: Any = PEOPLE, /, **entry: Any) -> Made:
    made = make_step(columns, method="record-swap", **entry)
    assert not made.measured().wrong
    return made


def test_households_at_risk_move_first_and_as_a_whole() -> None:
    made = swapped(**TARGETED, rate=0.01)
    figures = made.measured().figures
    for level in ("nuts1", "nuts2"):
        own, alone = figures[f"at_risk_in_{level}"], made.change.private["at_risk_without_partner"][level]
        assert 0 < own["units"] == own["swapped"] + alone
        assert alone < 0.05 * own["units"]
        assert any(f"`{level}` found no partner" in warning for warning in made.change.warnings) == (alone > 0)
    assert [f"c{area[1:]}" for area in map(str, made.texts["nuts2"])] == made.texts["code"]


def test_the_rate_is_a_minimum() -> None:
    made = swapped(**{**TARGETED, "risk": []}, rate=0.3)
    assert made.measured().figures["swapped"] == pytest.approx(0.3, abs=0.002)
    assert made.change.private["swapped"] >= 0.3 * HOMES


def test_those_that_are_swapped_for_the_rate_stay_in_the_coarser_region() -> None:
    made = swapped(**{**TARGETED, "risk": []}, rate=0.3)
    assert made.texts["nuts1"] == PEOPLE["nuts1"]


def test_tables_of_what_is_alike_by_region_are_exact() -> None:
    made = swapped(**TARGETED, rate=0.5)
    first = np.unique(WHOSE, return_index=True)[1]
    before, after = (
        sorted(zip(np.array(texts)[first].tolist(), SIZE.tolist(), strict=True))
        for texts in (PEOPLE["nuts2"], made.texts["nuts2"])
    )
    assert before == after


def test_those_at_risk_without_a_partner_are_counted_by_region() -> None:
    columns = {"area": ["a", "a", "b", "b"], "size": [1, 1, 1, 2], "age": [30, 30, 30, 99]}
    made = swapped(columns, move=["area"], alike=["size"], risk=["age"], k=2, rate=0.1)
    assert "1 of 2 records at risk in their `area` found no partner" in made.change.warnings[0]


def test_a_rate_that_cannot_be_reached_is_warned_of_with_the_count() -> None:
    made = swapped({"area": ["a", "a", "a", "b"]}, move=["area"], rate=1)
    assert "2 records fewer than `rate` says" in made.change.warnings[0]


def test_nobody_with_a_partner_is_an_error_with_the_count() -> None:
    with pytest.raises(DataError, match="record-swap of area: none of 3 has a partner"):
        swapped({"area": ["a", "a", "a"]}, move=["area"])


def test_records_without_a_place_stay_without_and_are_counted() -> None:
    made = swapped({"area": ["a", None, "b"]}, move=["area"], rate=0.5)
    assert made.texts["area"] == ["b", None, "a"]
    assert "1 record left without a place" in made.change.warnings[0]


@pytest.mark.parametrize(("column", "cells"), [("area", ["a", "b", "b"]), ("size", [1, 2, 2])])
def test_a_household_in_two_places_is_an_error_with_its_line(column: str, cells: list[Any]) -> None:
    columns = {"home": [1, 1, 2], "area": ["a", "a", "b"], "size": [1, 1, 1], column: cells}
    with pytest.raises(DataError, match=rf"csv:3: column '{column}': not the same .* in 1 row"):
        swapped(columns, move=["area"], alike=["size"], households="home")


def test_a_row_of_no_household_is_an_error_with_its_line() -> None:
    with pytest.raises(DataError, match="csv:3: column 'home': no household in 1 row"):
        swapped({"home": [1, None], "area": ["a", "b"]}, move=["area"], households="home")


@given(
    st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=1, max_size=40),
    st.sampled_from([0.1, 0.5, 1]),
    st.booleans(),
)
def test_any_table_is_as_its_twin_has_it(rows: list[Any], rate: float, targeted: bool) -> None:
    coarse, fine, size, age = map(list, zip(*rows, strict=True))
    columns = {
        "nuts1": coarse,
        "nuts2": [f"{a}{b}" for a, b in zip(coarse, fine, strict=True)],
        "size": size,
        "age": age,
    }
    risk = ["age"] if targeted else []
    try:
        swapped(columns, move=["nuts1", "nuts2"], alike=["size"], risk=risk, rate=rate)
    except DataError as error:
        assert "has a partner" in str(error)


def test_a_seed_repeats_the_swaps_and_another_does_not() -> None:
    first, again, other = (swapped(**TARGETED, seed=seed).texts for seed in (1, 1, 2))
    assert first == again != other


def test_the_next_profile_is_tried_where_the_first_finds_nobody() -> None:
    """The regions a and b have no size in common; by sex alone everybody has a partner."""
    people = {
        "area": ["a"] * 6 + ["b"] * 6,
        "size": [1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 1],
        "sex": ["m", "f"] * 6,
    }
    profiles = [["size", "sex"], ["sex"]]
    made = swapped(people, move=["area"], alike=profiles, rate=1)
    assert made.change.private["swapped_alike_in"]["size, sex"] <= 2
    assert sum(made.change.private["swapped_alike_in"].values()) == made.change.private["swapped"] == 12
    assert made.change.declared["alike"] == profiles
    with pytest.raises(DataError, match="none of 12 has a partner"):
        swapped({**people, "size": list(range(12))}, move=["area"], alike=[["size", "sex"]], rate=1)


def test_what_is_in_all_profiles_stays_exact() -> None:
    people = {**PEOPLE, "kind": (WHOSE % 40).tolist()}
    made = swapped(people, **TARGETED | {"alike": [["size", "kind"], ["size"]]}, rate=0.3)
    assert all(made.change.private["swapped_alike_in"][each] for each in ("size, kind", "size"))
    assert made.measured(nuts2=made.after["nuts2"].reverse().to_list()).wrong
