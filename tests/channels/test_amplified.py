"""What a row of a randomized attribute tells, against the matrix written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.channels.optimum import optimum
from anonymize.channels.problem import ChannelProblem, epsilon, largest_p
from tests.channels.matrices import distortion
from tests.channels.tables import DISEASES, cells_of


@given(st.floats(0.01, 0.99), st.integers(2, 6))
def test_epsilon_is_the_largest_log_ratio_of_a_column(part: float, d: int) -> None:
    p = 1 / d + part * (1 - 1 / d)
    matrix = distortion(p, d)
    largest = max(math.log(row[one] / row[other]) for row in matrix for one in range(d) for other in range(d))
    assert epsilon(p, d) == pytest.approx(largest)


def test_what_shows_itself_has_none() -> None:
    assert epsilon(1.0, 3) is None
    assert epsilon(1.0, 1) == 0


@given(st.floats(1.01, 1e6), st.integers(2, 50))
def test_the_largest_p_has_the_ratio(gamma: float, d: int) -> None:
    p = largest_p(gamma, d)
    assert p / ((1 - p) / (d - 1)) == pytest.approx(gamma)


def capped(l: float, cap: float, *, free: bool = True) -> ChannelProblem:  # noqa: E741
    pi = DISEASES.sum(axis=-1)
    return ChannelProblem(pi, (cells_of(DISEASES, l),), (True, free), (cap,))


def test_without_another_bound_the_cap_is_all() -> None:
    p = optimum(capped(1, 0.6))[0]
    assert p is not None
    np.testing.assert_allclose(p, [1, 0.6], atol=1e-8)
    assert p[1] <= 0.6


def test_beside_a_bound_both_are_kept() -> None:
    problem = capped(2.6, 0.6)
    p = optimum(problem)[0]
    assert p is not None and p[1] <= 0.6
    assert problem.risk(p)[0] <= 1 + 1e-9
    alone = optimum(capped(2.6, 1.0))[0]
    assert alone is not None and alone[1] > 0.6


def test_a_cap_that_cannot_be_kept() -> None:
    assert capped(1, 0.6, free=False).beyond_caps == (0,)
    assert optimum(capped(1, 0.6, free=False))[0] is None
    assert optimum(capped(1, 1 / 3))[0] is None
