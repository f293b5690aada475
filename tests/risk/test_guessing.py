"""The success of an ordinary attacker, against one that goes through people one by one."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.risk.guessing import Seen, Subjects, of_buckets, of_channels

people = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=30)


@given(people, st.none() | st.just(3))
def test_the_original_is_attacked_person_by_person(pairs: list[tuple[int, int]], missing: int | None) -> None:
    groups, values = np.array([g for g, _ in pairs]), np.array([v for _, v in pairs], np.uint8)
    held: dict[int, Counter[int]] = defaultdict(Counter)
    for group, value in pairs:
        held[group][value] += value != missing
    present = [pair for pair in pairs if pair[1] != missing]
    hits = sum(max(held[group].values()) for group in {group for group, _ in present})
    right = Subjects(groups, values, 3, 4, missing)
    guesses = right.most_frequent(groups, values.astype(np.int64), np.ones(len(values)))
    assert right.right(guesses) == (pytest.approx(hits / len(present)) if present else None)


@given(people)
def test_an_undistorted_table_is_as_open_as_the_original(pairs: list[tuple[int, int]]) -> None:
    groups, values = (np.array(column, np.uint8) for column in zip(*pairs, strict=True))
    guesses = of_channels([Seen(groups, groups, 3, 1.0)], Seen(values, values, 4, 1.0), None)
    assert guesses is not None and guesses["success"] == guesses["original"]


def test_a_distortion_is_undone_before_the_guess() -> None:
    """Of 100 rows 60 have b; with p = 0.1 of two values 0.1 * 60 + 0.9 * 40 = 42 show it."""
    original = np.array([1] * 60 + [0] * 40, np.uint8)
    shown = np.array([1] * 42 + [0] * 58, np.uint8)
    nothing = np.zeros(100, np.uint8)
    guesses = of_channels([Seen(nothing, nothing, 1, 1.0)], Seen(original, shown, 2, 0.1), None)
    assert guesses == {"success": 0.6, "baseline": 0.6, "original": 0.6}


def test_too_large_a_joint_table_is_left_out() -> None:
    codes = np.zeros(10, np.uint16)
    quasi = [Seen(codes, codes, 5000, 0.9), Seen(codes, codes, 5000, 0.9)]
    assert of_channels(quasi, Seen(codes, codes, 2, 1.0), None) is None


def test_groups_are_spread_over_their_rows() -> None:
    """Both combinations have a row in each group: by the groups 1 of value 2, and 1/2 each of 0 and 1."""
    groups, values = np.array([0, 1, 0, 1]), np.array([2, 0, 2, 1], np.uint8)
    buckets = np.array([0, 0, 1, 1], np.int32)
    guesses = of_buckets(Subjects(groups, values, 2, 3, None), buckets)
    assert guesses == {"success": 0.5, "baseline": 0.5, "original": 0.75}
