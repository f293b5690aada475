"""Histories: parted by a release, and put together again where it is taken back."""

from __future__ import annotations

import numpy as np
import polars as pl

from anonymize.series.histories import carried_on, without_last, without_people
from tests.series.test_state import TWO, state

ONE = state([[-1], [3]], [1, 1], [0, 0], [[0, 1]])
"""TWO before its last release: two people who were shown in class 3."""


def test_a_release_parts_histories() -> None:
    before, of = np.array([[-1], [3]], np.int32), np.array([1, 0, 1, 0])
    histories, after = carried_on(before, of, np.array([0, -1, -1, 0]))
    assert histories[after].tolist() == [[3, 0], [-1, -1], [3, -1], [-1, 0]]
    assert histories[0].tolist() == [-1, -1] and len(histories) == 4


def test_never_stays_the_first_history_where_nobody_has_it() -> None:
    histories, after = carried_on(np.array([[-1], [3]], np.int32), np.array([1, 1]), np.array([0, 0]))
    assert histories.tolist() == [[-1, -1], [3, 0]] and after.tolist() == [1, 1]


def test_the_last_release_is_taken_back() -> None:
    back = without_last(TWO)
    kept = TWO.people.filter(pl.Series([True, False, True, False]))["person"]
    assert back.people["person"].equals(kept)
    expected = ONE.people.with_columns(kept)
    assert back.people.equals(expected) and (back.histories == ONE.histories).all()
    assert back.releases == ONE.releases


def test_a_person_is_forgotten_with_a_history_that_nobody_else_has() -> None:
    less = without_people(TWO, np.array([True, False, False, False]))
    assert less.histories[less.history_of].tolist() == [[-1, -1], [3, -1], [-1, 0]]
    assert len(less.histories) == 3 and less.histories[0].tolist() == [-1, -1]
