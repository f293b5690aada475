"""Rounding of numbers: the nearest multiple, of two the larger."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.domain.coding import Coding, rounded


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
def test_whole_numbers_are_rounded_exactly(values: list[int], step: int) -> None:
    expected = [int((Fraction(value, step) + Fraction(1, 2)).__floor__() * step) for value in values]
    got = rounded(np.array(values, np.int64), float(step))
    assert got.dtype == np.int64 and got.tolist() == expected


def test_numbers_are_rounded_before_they_are_cut_off() -> None:
    coding = Coding(top=90, step=5)
    assert coding.clipped(np.array([87, 88, 99])).tolist() == [85, 90, 90]
