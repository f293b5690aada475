"""Numbers that were changed, against counting by hand and what sdcMicro computes."""

from __future__ import annotations

import numpy as np
import pytest

from anonymize.risk.distance import comparable, intervals, nearest, one_to_one
from anonymize.risk.frequency import Floats


def drawn(rows: int = 60, columns: int = 3) -> Floats:
    return np.random.default_rng(1).normal(size=(rows, columns)) * [1.0, 100.0, 0.01][:columns]


def test_everybody_is_found_in_his_own_numbers_and_in_shuffled_ones() -> None:
    original = drawn()
    assert nearest(original, original).rate == 1.0
    order = np.random.default_rng(2).permutation(len(original))
    row_of = np.argsort(order)
    assert nearest(original, original[order], row_of=row_of).rate == 1.0
    assert nearest(original, original[order]).rate < 0.1
    assert one_to_one(original, original).rate == 1.0


def test_the_nearest_of_each_against_all_distances() -> None:
    original = drawn()
    released = original + np.random.default_rng(3).normal(size=original.shape) * original.std(axis=0)
    known, shown = comparable(original, released)
    distances = np.linalg.norm(known[:, None] - shown[None], axis=2)
    linked = nearest(original, released)
    assert linked.distances == pytest.approx(distances.min(axis=1))
    assert linked.chances.tolist() == (distances.argmin(axis=1) == np.arange(len(original))).astype(float).tolist()


def test_rows_that_read_the_same_are_equally_likely() -> None:
    original = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    released = np.repeat([[1.0], [11.0]], 3, axis=0)
    assert nearest(original, released).chances.tolist() == pytest.approx([1 / 3] * 6)
    assert one_to_one(original, released).chances.tolist() == pytest.approx([1 / 3] * 6)
    assert one_to_one(original, released).distances.sum() == 4.0


def test_weights_decide_between_columns() -> None:
    original = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    released = np.array([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]])  # right by the first column, wrong by the second
    assert nearest(original, released, weights=[100, 1]).rate == 1.0
    assert nearest(original, released, weights=[1, 100]).rate == pytest.approx(1 / 3)


def test_ranks_are_what_is_left_of_a_monotone_change() -> None:
    original = np.exp(drawn(40, 2) / [1, 100])
    assert nearest(original, original**3, scale="ranks").rate == 1.0
    assert intervals(original, original**3, 0.0, scale="ranks") == 1.0
    assert intervals(original, original**3, 0.01) < 0.5


def test_some_people_and_columns_without_spread() -> None:
    original = np.column_stack([drawn(20, 1), np.full(20, 7.0)])
    linked = nearest(original, original + np.array([0, 5]), people=np.array([3, 4]))
    assert linked.chances.tolist() == [1, 1]
    assert nearest(original[:, 1:], original[:, 1:]).chances.tolist() == [1 / 20] * 20
    assert nearest(original[:0], original[:0]).rate == 0.0 == intervals(original[:0], original[:0])


def test_intervals_hold_every_value_of_a_row() -> None:
    released = np.array([[0.0, 0.0], [10.0, 10.0], [20.0, 20.0]])  # standard deviation 10
    original = released + np.array([[0.4, 0.6], [0.5, 0.5], [0.0, -0.4]])
    assert intervals(original, released) == pytest.approx(2 / 3)
    assert intervals(original, released, 0.01) == 0.0 and intervals(original, released, 0.1) == 1.0


def test_what_is_refused() -> None:
    good = drawn(4, 2)
    bad = good.copy()
    bad[1:3, 1] = [np.nan, np.inf]
    with pytest.raises(ValueError, match="the original: 2 cells of column 2 are no finite numbers"):
        nearest(bad, good)
    with pytest.raises(ValueError, match="the release: 2 cells of column 2"):
        intervals(good, bad)
    with pytest.raises(ValueError, match="2 columns, and the release 1"):
        nearest(good, good[:, :1])
    with pytest.raises(ValueError, match="one positive number for each of 2 columns"):
        nearest(good, good, weights=[1, 0])
    with pytest.raises(ValueError, match="same rows and columns"):
        one_to_one(good, good[:3])
