"""Matrices a I + b 1 1' against the matrices themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize import channels
from tests.channels.matrices import distortion, formed, product

sizes = st.lists(st.integers(1, 5), min_size=1, max_size=4)
shares = st.floats(0.05, 1.0)


def parameter(share: float, d: int) -> float:
    """Somewhere above 1 / d."""
    return 1 / d + share * (1 - 1 / d)


@given(sizes, st.data())
def test_a_product_is_applied_as_if_it_had_been_formed(shape: list[int], data: st.DataObject) -> None:
    p = [parameter(data.draw(shares), d) for d in shape]
    table = np.random.default_rng(1).random(shape)
    factors = [channels.matrix(*each) for each in zip(p, shape, strict=True)]
    expected = product([distortion(*each) for each in zip(p, shape, strict=True)]) @ table.ravel()
    np.testing.assert_allclose(channels.apply(factors, table).ravel(), expected, rtol=1e-12)


@given(shares, st.integers(2, 9))
def test_lemma_4_the_inverse_and_its_norm_are_those_of_numpy(share: float, d: int) -> None:
    p = parameter(share, d)
    inverse = np.linalg.inv(distortion(p, d))
    np.testing.assert_allclose(formed(channels.inverse(p, d), d), inverse, rtol=1e-9, atol=1e-9)
    assert channels.norm_squared(p, d) == pytest.approx(np.linalg.norm(inverse, "fro") ** 2)


@given(shares, st.integers(2, 9))
def test_squares_are_element_by_element(share: float, d: int) -> None:
    p = parameter(share, d)
    np.testing.assert_allclose(formed(channels.squared(p, d), d), distortion(p, d) ** 2, atol=1e-12)
    inverse = formed(channels.inverse(p, d), d)
    np.testing.assert_allclose(formed(channels.inverse_squared(p, d), d), inverse**2, rtol=1e-9)


@given(st.floats(0.1, 0.9), st.integers(2, 9))
def test_slopes_are_what_differences_give(share: float, d: int) -> None:
    p, step = parameter(share, d), 1e-6
    for kind, slope in (
        (channels.matrix, channels.matrix_slope),
        (channels.squared, channels.squared_slope),
    ):
        difference = (formed(kind(p + step, d), d) - formed(kind(p - step, d), d)) / (2 * step)
        np.testing.assert_allclose(formed(slope(p, d), d), difference, atol=1e-7)


def test_an_attribute_that_is_left_alone_contributes_its_number_of_values() -> None:
    assert channels.norm_squared(1.0, 14) == pytest.approx(14)
    assert channels.norm_squared(1.0, 1) == 1


def test_a_factor_is_replaced_after_the_product() -> None:
    table = np.random.default_rng(4).random((3, 4))
    first, second, new = channels.squared(0.7, 3), channels.squared(0.6, 4), channels.squared_slope(0.6, 4)
    done = channels.apply([first, second], table)
    found = channels.apply_along(1, channels.instead(second, new, 4), done)
    np.testing.assert_allclose(found, channels.apply([first, new], table), rtol=1e-12)
