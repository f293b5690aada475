"""The twins of swapping and shuffling find cells that are not where the step may put them."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

from tests.common.treatments import Made, make_step

ROWS = 400
random = np.random.default_rng(1)
SIZE = random.integers(1, 4, ROWS // 2).repeat(2)
PEOPLE: dict[str, Any] = {
    "wage": [None, *random.permutation(ROWS - 1).tolist()],
    "drug": random.choice(["a", "b", "c"], ROWS).tolist(),
    "age": random.integers(20, 60, ROWS).tolist(),
    "home": np.arange(ROWS // 2).repeat(2).tolist(),
    "size": SIZE.tolist(),
    "area": random.choice(["x", "y", "z"], ROWS // 2).repeat(2).tolist(),
    "region": random.choice(["n", "s"], ROWS).tolist(),
}
SWAPS: dict[str, dict[str, Any]] = {
    "rank-swap": {"columns": ["wage"], "distance": 0.05, "by": ["region"]},
    "random-swap": {"columns": ["wage", "drug"], "rate": 0.2, "by": ["region"]},
    "shuffle": {"columns": ["wage"], "given": ["age"], "by": ["region"]},
    "record-swap": {"move": ["area"], "alike": ["size"], "households": "home", "risk": ["age"], "rate": 0.2},
}


def swapped(method: str, **more: Any) -> Made:
    made = make_step(PEOPLE, method=method, **SWAPS[method], **more)
    assert not made.measured().wrong
    return made


def sentences(made: Made, **other: Any) -> str:
    return "; ".join(made.measured(**other).wrong)


def exchanged(values: list[Any], one: int, other: int) -> list[Any]:
    """The values with two of them in each other's place."""
    values = list(values)
    values[one], values[other] = values[other], values[one]
    return values


def in_another_part(made: Made) -> list[Any]:
    """The wages with one of each part in the place of the other."""
    one, other = (PEOPLE["region"][1:].index(region) + 1 for region in ("n", "s"))
    return exchanged(made.after["wage"].to_list(), one, other)


@pytest.mark.parametrize("method", ["rank-swap", "random-swap", "shuffle"])
def test_another_value_or_one_of_another_part_is_found(method: str) -> None:
    made = swapped(method)
    values = made.after["wage"].to_list()
    values[5] = 1234.0 if made.after["wage"].dtype.is_numeric() else "1234"
    assert "not the same values as before" in sentences(made, wage=values)
    assert "not the same values as before" in sentences(made, wage=in_another_part(made))


@pytest.mark.parametrize("method", ["rank-swap", "random-swap", "shuffle"])
def test_a_missing_value_that_has_moved_is_found(method: str) -> None:
    made = swapped(method)
    values = exchanged(made.after["wage"].to_list(), 0, 3)
    assert "missing" in sentences(made, wage=values) or "lack a value have changed" in sentences(made, wage=values)


def test_a_value_from_too_far_away_is_found() -> None:
    made = swapped("rank-swap")
    rows = [row for row in range(1, ROWS) if PEOPLE["region"][row] == "n"]
    low, high = (choose(rows, key=lambda row: made.after["wage"][row]) for choose in (min, max))
    assert "2 values come from further away" in sentences(made, wage=exchanged(made.after["wage"].to_list(), low, high))


def test_equal_values_share_their_ranks() -> None:
    made = make_step({"wage": [1, 1, 1, 1, 2, 2, 2, 2]}, method="rank-swap", columns=["wage"], distance=0.25)
    assert not made.measured(wage=[2.0, 1, 1, 1, 1, 2, 2, 2]).wrong
    assert "2 values" in sentences(
        make_step({"wage": [1, 2, 3, 4, 5]}, method="rank-swap", columns=["wage"], distance=0.2), wage=[3.0, 2, 1, 4, 5]
    )


def test_more_rows_than_the_rate_says_are_found() -> None:
    made = swapped("random-swap")
    more = make_step(PEOPLE, method="random-swap", **{**SWAPS["random-swap"], "rate": 0.6})
    assert "more rows than `rate` says" in sentences(made, **more.after)


def test_a_household_in_two_places_or_a_place_of_others_is_found() -> None:
    made = swapped("record-swap")
    areas = made.after["area"].to_list()
    split = next(row for row in range(2, ROWS, 2) if areas[row] != areas[row - 2])
    assert "2 households are no longer in one place" in sentences(made, area=exchanged(areas, split, split - 2))
    other = next(row for row in range(2, ROWS, 2) if areas[row] != areas[0] and SIZE[row] != SIZE[0])
    moved = exchanged(exchanged(areas, 0, other), 1, other + 1)
    assert "not the same places as before" in sentences(made, area=moved)


def test_figures_say_who_has_moved() -> None:
    figures = swapped("record-swap").measured().figures
    assert figures["swapped"] >= 0.2
    assert figures["at_risk_in_area"]["swapped"] <= figures["at_risk_in_area"]["units"]
    assert swapped("shuffle").measured().figures["wage"]["rank_correlations"]["age"].keys() == {"before", "after"}


# --- shifted ----------------------------------------------------------------------------------------------------------

VISITS: dict[str, Any] = {
    "patient": [1, 1, 2, 2],
    "came": ["2020-02-01", "2020-02-03", "2020-05-05", None],
    "left": ["2020-02-02", "2020-02-05", "2020-05-06", "2020-06-01"],
}


@pytest.fixture(scope="module")
def shifted_made() -> Made:
    made = make_step(VISITS, method="date-shift", columns=["came", "left"], by=["patient"], days=20)
    assert not made.measured().wrong
    return made


def shifted_sentences(shifted_made: Made, **other: Any) -> str:
    return "; ".join(shifted_made.measured(**other).wrong)


def later(text: str | None, days: int) -> str | None:
    return None if text is None else str(date.fromisoformat(text) + timedelta(days=days))


def test_one_date_that_moved_otherwise_is_found(shifted_made: Made) -> None:
    came = shifted_made.after["came"].to_list()
    assert "the dates of 1 persons have not all moved alike" in shifted_sentences(
        shifted_made, came=[later(came[0], 1), *came[1:]]
    )


def test_dates_that_have_not_moved_are_found(shifted_made: Made) -> None:
    assert "4 dates have not moved" in shifted_sentences(shifted_made, left=VISITS["left"])


def test_dates_that_moved_too_far_are_found(shifted_made: Made) -> None:
    far = {name: [later(text, 21) for text in VISITS[name]] for name in ("came", "left")}
    assert "7 dates have moved by more than `days`" in shifted_sentences(shifted_made, **far)


def test_texts_that_are_no_dates_and_missing_ones_that_moved_are_found(shifted_made: Made) -> None:
    assert "1 cells are no dates" in shifted_sentences(
        shifted_made, left=["soon", *shifted_made.after["left"].to_list()[1:]]
    )
    assert "missing dates" in shifted_sentences(
        shifted_made, came=[*shifted_made.after["came"].to_list()[:3], "2020-05-05"]
    )


def test_a_time_of_day_that_changed_is_found() -> None:
    columns: dict[str, Any] = {"patient": [1], "came": ["2020-02-01 10:00"]}
    made = make_step(columns, method="date-shift", columns=["came"], by=["patient"], days=5, format="%Y-%m-%d %H:%M")
    assert "1 dates have not moved by whole days" in shifted_sentences(made, came=["2020-02-03 11:00"])
