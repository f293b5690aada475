"""What a recipient works out: against matrices, thousands of releases, and conditions that define a projection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.channels import estimate
from anonymize.channels.kronecker import replaced, seeded_bits
from tests.channels.matrices import Matrix, distortion, product

SHAPE, P, ROWS = (2, 3), (0.8, 0.7), 400
PI = np.array([[0.30, 0.05, 0.15], [0.10, 0.25, 0.15]])


def releases(count: int, *, of_one_table: bool) -> Matrix:
    """(count, cells) unbiased estimates from repeated distortions: of one table, or each of a fresh draw of rows."""
    random, bits = np.random.default_rng(3), seeded_bits(4)
    fixed = np.repeat(np.arange(6), np.round(PI.ravel() * ROWS).astype(int))
    found = []
    for _ in range(count):
        cells = fixed if of_one_table else random.choice(6, size=ROWS, p=PI.ravel())
        axes = np.unravel_index(cells, SHAPE)
        shown = [replaced(axis.astype(np.uint8), p, d, bits) for axis, p, d in zip(axes, P, SHAPE, strict=True)]
        observed = np.bincount(np.ravel_multi_index(shown, SHAPE), minlength=6).reshape(SHAPE) / ROWS
        found.append(estimate.unbiased(observed, P).ravel())
    return np.array(found)


def inverse_of(p: Sequence[float], shape: tuple[int, ...]) -> Matrix:
    """What takes a released distribution back to the original: the inverse of the whole channel matrix, formed."""
    return np.asarray(np.linalg.inv(product([distortion(*each) for each in zip(p, shape, strict=True)])))


@pytest.mark.parametrize(("about", "of_one_table"), [("table", True), ("population", False)])
def test_two_thousand_releases_spread_as_the_covariance_says(about: estimate.About, of_one_table: bool) -> None:
    found = releases(2000, of_one_table=of_one_table)
    seen = (product([distortion(*each) for each in zip(P, SHAPE, strict=True)]) @ PI.ravel()).reshape(SHAPE)
    matrix = inverse_of(P, SHAPE)
    spread = np.diag(PI.ravel()) if about == "table" else np.outer(PI, PI)
    expected = (matrix * seen.ravel() @ matrix.T - spread) / ROWS
    error = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(found.mean(axis=0), PI.ravel(), atol=5 * error.max() / np.sqrt(2000))
    np.testing.assert_allclose(np.cov(found.T), expected, atol=0.12 * np.outer(error, error).max())
    np.testing.assert_allclose(estimate.variances(seen, P, ROWS, about).ravel(), np.diag(expected), rtol=1e-9)


@given(st.integers(0, 1000))
def test_estimates_by_modes_are_those_by_the_inverse(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(1, 4, 3).tolist())
    p = [1 / d + (1 - 1 / d) * random.uniform(0.3, 1) for d in shape]
    observed = random.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape)
    inverse = inverse_of(p, shape)
    np.testing.assert_allclose(estimate.unbiased(observed, p).ravel(), inverse @ observed.ravel(), atol=1e-9)
    spread = np.diag(observed.ravel())
    pi = inverse @ observed.ravel()
    matrix = (inverse @ spread @ inverse.T - np.outer(pi, pi)) / 50
    chosen = [random.integers(0, 2, d).astype(np.float64) for d in shape]
    weights = np.einsum("a,b,c->abc", *chosen).ravel()
    found = estimate.count(observed, p, chosen, 50, "population")
    assert found.estimate == pytest.approx(50 * weights @ pi, abs=1e-8)
    assert found.standard_error == pytest.approx(50 * np.sqrt(max(weights @ matrix @ weights, 0)), abs=1e-5)


def test_a_table_that_was_not_distorted_is_known_exactly() -> None:
    found = estimate.count(PI, (1, 1), [np.array([1.0, 0]), np.ones(3)], 100, "table")
    assert found.estimate == pytest.approx(50) and found.standard_error == pytest.approx(0, abs=1e-6)
    assert not estimate.variances(PI, (1, 1), 100, "table").any()


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=8))
def test_a_projection_is_a_distribution_and_none_is_nearer(values: list[float]) -> None:
    point = np.array(values)
    found = estimate.simplex(point)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    gap = (point - found)[found > 1e-12]
    assert np.ptp(gap) == pytest.approx(0, abs=1e-9)  # what is kept was moved by one amount,
    assert (point[found <= 1e-12] <= gap.max() + 1e-9).all()  # and what was cut is below it


@pytest.mark.parametrize("method", ["simplex", "clip", "bayes"])
def test_methods_but_the_inverse_give_distributions(method: estimate.Method) -> None:
    observed = np.array([[0.5, 0.1, 0.0], [0.0, 0.3, 0.1]])
    assert estimate.unbiased(observed, P).min() < 0
    found = estimate.estimate(observed, P, method)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)


def test_iterative_bayes_is_the_inverse_where_that_is_a_distribution() -> None:
    seen = (product([distortion(*each) for each in zip(P, SHAPE, strict=True)]) @ PI.ravel()).reshape(SHAPE)
    np.testing.assert_allclose(estimate.bayes(seen, P), PI, atol=1e-5)
