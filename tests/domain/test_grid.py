"""Decimal grids: text of numbers, and rounding that agrees with the text."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.domain.grid import Coding, Grid, Numbers, RoundedEnds, rounded, texts
from tests.common.oracle import widest_step

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


# --- coding -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "step", "expected"),
    [
        ([37, 38, 42, 43, -2, -3], 5, [35, 40, 40, 45, 0, -5]),
        ([12, 13, -2, -3], 5.0, [10, 15, 0, -5]),
        ([5, 15, -5, -15], 10, [10, 20, 0, -10]),
        ([0.14, 0.15, 0.26, -0.04], 0.1, [0.1, 0.2, 0.3, 0.0]),
        ([1e300, 7.0], 0.5, [1e300, 7.0]),
        ([2**63 - 1, -(2**63)], 10, [2**63 - 8, -(2**63)]),
    ],
)
def test_rounded(values: list[float], step: float, expected: list[float]) -> None:
    got = rounded(np.array(values), step)
    if values[0] == 2**63 - 1:
        assert int(got[0]) % 10 == 0 and abs(int(got[0]) - values[0]) <= 10
    else:
        assert got.tolist() == expected


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=20), st.sampled_from([1, 2, 5, 7, 10, 250]))
def test_coding_whole_numbers_are_rounded_exactly(values: list[int], step: int) -> None:
    expected = [int((Fraction(value, step) + Fraction(1, 2)).__floor__() * step) for value in values]
    got = rounded(np.array(values, np.int64), float(step))
    assert got.dtype == np.int64 and got.tolist() == expected


def test_numbers_are_rounded_before_they_are_cut_off() -> None:
    coding = Coding(top=90, step=5)
    assert coding.clipped(np.array([87, 88, 99])).tolist() == [85, 90, 90]


# --- edges ------------------------------------------------------------------------------------------------------------

EVERYWHERE = np.array([-np.inf]), np.array([np.inf])
wholes = st.integers(-(2**63), 2**63 - 1)
decimals = st.decimals(-(10**9), 10**9, places=3, allow_nan=False).map(float)
pairs = st.one_of(
    st.tuples(wholes, wholes).map(lambda two: np.array(sorted(two), np.int64)),
    st.tuples(decimals, decimals).map(lambda two: np.array(sorted(two), np.float64)),
)


def rounded_ends(pair: Numbers, coding: Coding = Coding(), *, whole: bool) -> RoundedEnds:  # noqa: B008 (frozen)
    return RoundedEnds.of(pair[:1], pair[1:], coding, EVERYWHERE, whole=whole)


@given(pairs)
def test_ends_are_multiples_of_the_widest_step_of_a_quarter(pair: Numbers) -> None:
    whole = pair.dtype.kind == "i"
    ends = rounded_ends(pair, whole=whole)
    low, high = Fraction(ends.low_texts()[0]), Fraction(ends.high_texts()[0])
    first, last = (Fraction(str(value)) for value in pair.tolist())
    if first == last:
        assert (low, high) == (first, last)
        return
    step = widest_step((last - first) / 4)
    step = max(step, Fraction(2)) if whole else step
    assert (low, high) == (first // step * step, (last // step + 1) * step - whole)


@given(pairs, st.sampled_from([0.5, 2, 5, 7, 25]))
def test_and_of_what_numbers_are_rounded_to(pair: Numbers, step: float) -> None:
    pair = (pair // 1e6).astype(np.int64)
    ends = rounded_ends(pair, Coding(step=step), whole=True)
    if pair[0] < pair[1]:
        assert int(ends.low_texts()[0]) % step == 0 and (int(ends.high_texts()[0]) + 1) % step == 0


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=9, unique=True).map(sorted))
def test_every_float_lies_within_its_ends(values: list[float]) -> None:
    low, high = np.triu_indices(len(values))
    numbers = np.array(values)
    whole = bool((numbers == np.floor(numbers)).all())
    fences = np.full(len(low), -np.inf), np.full(len(low), np.inf)
    ends = RoundedEnds.of(numbers[low], numbers[high], Coding(), fences, whole=whole)
    assert (ends.low <= numbers[low]).all()
    assert (numbers[high] <= ends.high).all()
    least, most = ends.closed()
    assert (least <= numbers[low]).all() and ((numbers[high] <= most) | (np.abs(most) > 1e308)).all()
    assert [float(text) for text in ends.low_texts()] == (ends.low + 0.0).tolist()


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=6, unique=True).map(sorted), st.booleans())
def test_a_piece_reads_as_its_intervals_among_all(values: list[int], whole: bool) -> None:
    low, high = np.triu_indices(len(values))
    numbers = np.array(values) if whole else np.array(values) / 7
    fences = np.full(len(low), -np.inf), np.full(len(low), np.inf)
    ends = RoundedEnds.of(numbers[low], numbers[high], Coding(), fences, whole=whole)
    pieces = [ends.piece(first, 2) for first in range(0, len(low), 2)]
    assert [text for each in pieces for text in each.low_texts()] == ends.low_texts()
    assert [text for each in pieces for text in each.high_texts()] == ends.high_texts()


def test_codes_and_fences_are_not_crossed() -> None:
    pair = np.array([25, 56])
    low, high = np.array([25]), np.array([58.0])
    coded = RoundedEnds.of(pair[:1], pair[1:], Coding(24, 57), (low, high), whole=True)
    assert (coded.low_texts(), coded.high_texts()) == (["25"], ["56"])
    coded = RoundedEnds.of(pair[:1], pair[1:], Coding(24, 99), (low, high), whole=True)
    assert coded.high_texts() == ["57"]


@pytest.mark.parametrize(("width", "step"), [(7, 2), (8, 2), (19, 2), (20, 5), (39, 5), (40, 10), (80, 20), (200, 50)])
def test_step_of_whole_numbers(width: int, step: int) -> None:
    starts = [int(rounded_ends(np.array([start, start + width]), whole=True).low_texts()[0]) for start in range(100)]
    assert sorted(set(starts)) == list(range(0, 100, step))


def test_a_column_of_nothing() -> None:
    none = np.empty(0, np.int64)
    assert not RoundedEnds.of(none, none, Coding(), (none, none), whole=True).low_texts()
