"""Rounded ends: on the grid of their width, around what they span, and a function of nothing else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.domain.coding import Coding
from anonymize.domain.edges import RoundedEnds
from anonymize.domain.grid import Numbers
from tests.common.oracle import widest_step

EVERYWHERE = np.array([-np.inf]), np.array([np.inf])
wholes = st.integers(-(2**63), 2**63 - 1)
decimals = st.decimals(-(10**9), 10**9, places=3, allow_nan=False).map(float)
pairs = st.one_of(
    st.tuples(wholes, wholes).map(lambda two: np.array(sorted(two), np.int64)),
    st.tuples(decimals, decimals).map(lambda two: np.array(sorted(two), np.float64)),
)


def rounded(pair: Numbers, coding: Coding = Coding(), *, whole: bool) -> RoundedEnds:  # noqa: B008 (frozen)
    return RoundedEnds.of(pair[:1], pair[1:], coding, EVERYWHERE, whole=whole)


@given(pairs)
def test_ends_are_multiples_of_the_widest_step_of_a_quarter(pair: Numbers) -> None:
    whole = pair.dtype.kind == "i"
    ends = rounded(pair, whole=whole)
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
    ends = rounded(pair, Coding(step=step), whole=True)
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


def test_codes_and_fences_are_not_crossed() -> None:
    pair = np.array([25, 56])
    low, high = np.array([25]), np.array([58.0])
    coded = RoundedEnds.of(pair[:1], pair[1:], Coding(24, 57), (low, high), whole=True)
    assert (coded.low_texts(), coded.high_texts()) == (["25"], ["56"])
    coded = RoundedEnds.of(pair[:1], pair[1:], Coding(24, 99), (low, high), whole=True)
    assert coded.high_texts() == ["57"]


@pytest.mark.parametrize(("width", "step"), [(7, 2), (8, 2), (19, 2), (20, 5), (39, 5), (40, 10), (80, 20), (200, 50)])
def test_step_of_whole_numbers(width: int, step: int) -> None:
    starts = [int(rounded(np.array([start, start + width]), whole=True).low_texts()[0]) for start in range(100)]
    assert sorted(set(starts)) == list(range(0, 100, step))


def test_a_column_of_nothing() -> None:
    none = np.empty(0, np.int64)
    assert not RoundedEnds.of(none, none, Coding(), (none, none), whole=True).low_texts()
