"""Who has left, and in what company: counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize.series.leavers import deferred_counts, told_by_values
from anonymize.series.people import CurrentPeople
from anonymize.series.state import SeriesState, value_column

LETTERS = "abcdefgh"


def state(histories: list[list[int]], of_person: list[int], last_seen: list[int | None], *values: str) -> SeriesState:
    """People a, b, ...: the history of each, and at which release each was last in the input (None: is not in the last
    release). `values`: one letter a person for each release."""
    columns = {value_column(number, 0): list(own) for number, own in enumerate(values)}
    people = pl.DataFrame({"person": list(LETTERS[: len(of_person)]), "history": of_person, **columns})
    there = [(letter, seen) for letter, seen in zip(LETTERS, last_seen, strict=False) if seen is not None]
    rows = pl.DataFrame(there, schema={"person": pl.String, "release": pl.Int64}, orient="row")
    releases: Any = (None,) * len(histories[0])
    known: Any = {"ill": ("x", "y")} if values else {}
    return SeriesState("", (), "deferred", {}, {}, known, releases, people, np.array(histories, np.int32), rows)


def current(state: SeriesState, people: str) -> CurrentPeople:
    return CurrentPeople.of(pl.Series(list(people)), state)


def absent(people: str, count: int) -> np.ndarray:
    return np.isin(list(LETTERS[:count]), list(people))


@pytest.mark.parametrize(("k", "small"), [(2, 0), (3, 2)])
def test_company_of_exactly_k_is_enough(k: int, small: int) -> None:
    """Of a history of four two are gone together: fewer than three, and not fewer than two."""
    base = state([[0]], [0, 0, 0, 0], [0, 0, 0, 0])
    counts = deferred_counts(base, current(base, "ab"), np.array([0, 0]), absent("cd", 4), k)
    assert counts == {"departed": 2, "in_small_company": small, "kept": 0}


def test_who_is_kept_is_in_no_company_of_those_who_are_gone() -> None:
    """c has left, and is shown all the same; d is gone alone."""
    base = state([[0]], [0, 0, 0, 0], [0, 0, 0, 0])
    counts = deferred_counts(base, current(base, "abc"), np.array([0, 0, 0]), absent("cd", 4), 2)
    assert counts == {"departed": 2, "in_small_company": 1, "kept": 1}


def test_who_is_in_the_input_and_not_released_is_company() -> None:
    """b is held back current: to whoever looks at the release he is gone like a."""
    base = state([[0]], [0, 0, 0, 0], [0, 0, 0, 0])
    counts = deferred_counts(base, current(base, "bcd"), np.array([-1, 0, 0]), absent("a", 4), 2)
    assert counts == {"departed": 1, "in_small_company": 0, "kept": 0}


def test_who_left_before_the_last_night_has_not_departed_since() -> None:
    base = state([[0, 0]], [0, 0, 0], [1, 0, 1])
    counts = deferred_counts(base, current(base, "a"), np.array([0]), absent("bc", 3), 1)
    assert counts["departed"] == 1


def test_company_is_that_of_the_own_history() -> None:
    base = state([[0], [1]], [0, 0, 1, 1], [0, 0, 0, 0])
    counts = deferred_counts(base, current(base, "ac"), np.array([0, 0]), absent("bd", 4), 2)
    assert counts["in_small_company"] == 2


def test_people_of_a_history_that_ended_before_are_no_company() -> None:
    base = state([[0, 0], [0, -1]], [0, 0, 1, 1], [1, 1, None, None])
    counts = deferred_counts(base, current(base, "a"), np.array([0]), absent("b", 4), 2)
    assert counts["in_small_company"] == 1


@pytest.mark.parametrize(("k", "told"), [(2, 0), (3, 1)])
def test_values_that_have_changed_since_tell_who_has_left(k: int, told: int) -> None:
    """a has left after the first release. Of his history b's value is the same since, and c's has changed."""
    assert told_by_values(state([[0, 0]], [0, 0, 0], [0, 1, 1], "xxx", "xxy"), k) == told


def test_values_before_somebody_left_do_not_matter() -> None:
    """Neither does who is not in the last release, nor who has not left."""
    base = state([[0, 0, 0]], [0, 0, 0, 0], [1, 2, 2, None], "xyxx", "xxxx", "xxxx")
    assert told_by_values(base, 3) == 0 and told_by_values(base, 4) == 1
    assert told_by_values(state([[0, 0]], [0, 0], [1, 1], "xx", "xy"), 9) == 0
