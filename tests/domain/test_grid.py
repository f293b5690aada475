"""Decimal grids: text of numbers, and rounding that agrees with the text."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.domain.grid import Grid, texts

finite = st.floats(-1e12, 1e12, allow_nan=False)
steps = st.builds(lambda digits, power: float(f"{digits}e{power}"), st.integers(1, 999), st.integers(-3, 6))


def test_numbers_read_shortest() -> None:
    values = np.array([5.0, -0.0, 0.1, 0.30000000000000004, 1e16, -2.50])
    assert texts(values) == ["5", "0", "0.1", "0.30000000000000004", "1e+16", "-2.5"]
    assert texts(np.array([2**62 + 1, -7])) == ["4611686018427387905", "-7"]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_read_back_the_same(values: list[float]) -> None:
    assert [float(text) for text in texts(np.array(values, dtype=np.float64))] == values


@given(st.lists(finite, min_size=1), steps)
def test_floor_and_ceil_are_the_nearest_points_on_their_side(values: list[float], step: float) -> None:
    grid, array = Grid.of(step), np.array(values)
    below, above = grid.floor(array), grid.ceil(array)
    assert np.all(grid.points(below) <= array) and np.all(array < grid.points(below + 1))
    assert np.all(array <= grid.points(above)) and np.all(grid.points(above - 1) < array)
    assert [float(text) for text in grid.texts(below, exact=False)] == grid.points(below).tolist()


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.sampled_from([1.0, 2.0, 5.0, 20.0, 1000.0]))
def test_whole_numbers_are_rounded_exactly(values: list[int], step: float) -> None:
    grid, array = Grid.of(step), np.array(values, dtype=np.int64)
    assert grid.floor(array).tolist() == [value // int(step) for value in values]
    assert grid.ceil(array).tolist() == [-(-value // int(step)) for value in values]
    lows = [int(text) for text in grid.texts(grid.floor(array), exact=True)]
    assert lows == [value // int(step) * int(step) for value in values]


def test_points_are_what_their_text_says() -> None:
    assert Grid.of(0.1).points(np.arange(11)).tolist() == [float(f"{i / 10:.1f}") for i in range(11)]


@pytest.mark.parametrize(
    ("step", "at_least", "nearest"),
    [(3.65, 0, 5), (3, 0, 2), (0.9, 0, 1), (0.9, 2, 2), (70, 0, 50), (80, 0, 100), (0.014, 0, 0.01), (0, 2, 2)],
)
def test_near_takes_the_nearest_round_step(step: float, at_least: float, nearest: float) -> None:
    assert Grid.near(step, at_least=at_least).step == nearest


@given(st.floats(1e-290, 1e290))
def test_near_is_within_half_a_decade_step(step: float) -> None:
    assert 0.6 < Fraction(Grid.near(step).step) / Fraction(step) < 1.6
