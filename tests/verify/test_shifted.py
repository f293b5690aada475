"""The twin of date shifting finds dates that have not all moved alike."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from tests.common.treatments import Made, make_step

VISITS: dict[str, Any] = {
    "patient": [1, 1, 2, 2],
    "came": ["2020-02-01", "2020-02-03", "2020-05-05", None],
    "left": ["2020-02-02", "2020-02-05", "2020-05-06", "2020-06-01"],
}


@pytest.fixture(scope="module")
def made() -> Made:
    made = make_step(VISITS, method="date-shift", columns=["came", "left"], by=["patient"], days=20)
    assert not made.measured().wrong
    return made


def sentences(made: Made, **other: Any) -> str:
    return "; ".join(made.measured(**other).wrong)


def later(text: str | None, days: int) -> str | None:
    return None if text is None else str(date.fromisoformat(text) + timedelta(days=days))


def test_one_date_that_moved_otherwise_is_found(made: Made) -> None:
    came = made.after["came"].to_list()
    assert "the dates of 1 persons have not all moved alike" in sentences(made, came=[later(came[0], 1), *came[1:]])


def test_dates_that_have_not_moved_are_found(made: Made) -> None:
    assert "4 dates have not moved" in sentences(made, left=VISITS["left"])


def test_dates_that_moved_too_far_are_found(made: Made) -> None:
    far = {name: [later(text, 21) for text in VISITS[name]] for name in ("came", "left")}
    assert "7 dates have moved by more than `days`" in sentences(made, **far)


def test_texts_that_are_no_dates_and_missing_ones_that_moved_are_found(made: Made) -> None:
    assert "1 cells are no dates" in sentences(made, left=["soon", *made.after["left"].to_list()[1:]])
    assert "missing dates" in sentences(made, came=[*made.after["came"].to_list()[:3], "2020-05-05"])


def test_a_time_of_day_that_changed_is_found() -> None:
    columns: dict[str, Any] = {"patient": [1], "came": ["2020-02-01 10:00"]}
    made = make_step(columns, method="date-shift", columns=["came"], by=["patient"], days=5, format="%Y-%m-%d %H:%M")
    assert "1 dates have not moved by whole days" in sentences(made, came=["2020-02-03 11:00"])
