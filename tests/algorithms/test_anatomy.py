"""The schedule against the rule, round by round."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.algorithms.anatomy import schedule


def follows_the_rule(counts: list[int], l: int, picks: np.ndarray) -> None:  # noqa: E741
    """Every group takes one row from each of l largest buckets, and the end comes when l buckets are not left."""
    left = np.array(counts)
    for group in picks.tolist():
        assert len(set(group)) == l
        assert left[group].min() > 0
        others = np.delete(left, group)
        assert left[group].min() >= others.max(initial=0)
        left[group] -= 1
    assert np.count_nonzero(left) < l


counts = st.lists(st.integers(0, 40) | st.integers(0, 3), min_size=1, max_size=9)


@given(counts, st.integers(1, 6), st.integers(0, 5))
def test_every_round_takes_from_the_largest(sizes: list[int], l: int, seed: int) -> None:  # noqa: E741
    follows_the_rule(sizes, l, schedule(np.array(sizes), l, np.random.default_rng(seed)))


@given(counts, st.integers(1, 6), st.integers(0, 5))
def test_at_most_one_row_of_a_bucket_is_left_where_none_is_too_large(sizes: list[int], l: int, seed: int) -> None:  # noqa: E741
    picks = schedule(np.array(sizes), l, np.random.default_rng(seed))
    left = np.array(sizes) - np.bincount(picks.ravel(), minlength=len(sizes))
    if max(sizes) * l <= sum(sizes):
        assert left.max() <= 1
        assert left.sum() < l


@pytest.mark.parametrize(
    ("sizes", "l"),
    [([3_000_000, 2_999_999, 1_500_000, 700_001, 3], 2), ([1] * 100_000, 3), ([100_000] * 14, 7), ([0, 0], 1)],
    ids=["large", "all different", "all tied", "empty"],
)
def test_many_rows_take_few_steps(sizes: list[int], l: int) -> None:  # noqa: E741
    picks = schedule(np.array(sizes), l, np.random.default_rng(1))
    left = np.array(sizes) - np.bincount(picks.ravel(), minlength=len(sizes))
    assert np.count_nonzero(left) < l
    assert left.min() >= 0
    assert (np.diff(np.sort(picks, axis=1), axis=1) > 0).all()


def test_tied_buckets_do_not_always_meet_the_same_others() -> None:
    picks = schedule(np.full(6, 500), 2, np.random.default_rng(1))
    assert len(set(map(tuple, np.sort(picks, axis=1).tolist()))) == 15
