"""Groups of rows that follow each other, against all there are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.clustering.run import _Windows, grouped_by_squares, grouped_by_width, ordered_groups
from tests.examples import some


def compositions(count: int, k: int) -> Iterator[list[int]]:
    """All ways to cut rows into groups of at least k."""
    if count == 0:
        yield []
    for first in range(k, count + 1):
        for rest in compositions(count - first, k):
            yield [first, *rest]


def spread(values: np.ndarray) -> float:
    return float(np.ptp(values) * len(values))


@given(st.lists(st.integers(0, 30), min_size=4, max_size=11), st.integers(1, 4))
def test_no_other_groups_that_follow_each_other_cost_less(numbers: list[int], k: int) -> None:
    values = np.array(numbers, float)
    groups = grouped_by_width(values, k)
    assert groups.sizes.min() >= k and (np.sort(groups.order) == np.arange(len(values))).all()
    cost = sum(spread(values[rows]) for rows in np.split(groups.order, groups.starts[1:-1]))
    arranged = np.sort(values)
    ways = (np.split(arranged, np.cumsum(sizes)[:-1]) for sizes in compositions(len(values), k))
    assert cost == pytest.approx(min(sum(map(spread, parts)) for parts in ways))


def test_the_cost_may_be_any_such_as_a_sum_of_squares() -> None:
    values = np.array([0.0, 0, 1, 8, 9, 9, 10])
    starts = ordered_groups(
        7, 2, lambda begins, end: np.array([values[each:end].var() * (end - each) for each in begins])
    )
    assert starts.tolist() == [0, 3, 5, 7]


@pytest.mark.parametrize("count", [1, 3, 5])
def test_fewer_than_twice_as_many_rows_are_one_group(count: int) -> None:
    assert ordered_groups(count, 3, lambda begins, end: (end - begins).astype(float)).tolist() == [0, count]


@settings(max_examples=some(80))
@given(st.lists(st.integers(0, 30), min_size=4, max_size=11), st.integers(1, 4), st.sampled_from([0.0, 1e9]))
def test_no_other_groups_have_a_lesser_sum_of_squares(numbers: list[int], k: int, far: float) -> None:
    values = np.array(numbers, float) + far
    groups = grouped_by_squares(values, k)
    cost = sum(values[rows].var() * len(rows) for rows in np.split(groups.order, groups.starts[1:-1]))
    arranged = np.sort(values)
    ways = (np.split(arranged, np.cumsum(sizes)[:-1]) for sizes in compositions(len(values), k))
    assert cost == pytest.approx(min(sum(part.var() * len(part) for part in parts) for parts in ways))


def test_a_table_of_many_ends_is_worked_out_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=(50, 2))
    whole = grouped_by_squares(values[:, 0], 3, values)
    monkeypatch.setattr(_Windows, "WINDOW_CELLS", 20)
    pieces = grouped_by_squares(values[:, 0], 3, values)
    assert (whole.order == pieces.order).all() and (whole.starts == pieces.starts).all()
