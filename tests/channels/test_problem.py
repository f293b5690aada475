"""The risk of disclosure: the paper's example and property, an attacker who is simulated, slopes by differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.channels.problem import ChannelProblem, Identification
from tests.channels.matrices import Matrix, distortion, product
from tests.channels.tables import DISEASES, cells_of, problem_of

FEMALE_CANCER = 3
"""Of the six cells of DISEASES."""


def risks(problem: ChannelProblem, *p: float) -> Matrix:
    """The risk of every cell, RR-Both."""
    (cells,) = problem.sensitive
    known = Identification(problem.pi, p[:-1]).probability
    return known[cells.groups] * cells.exposed * cells.reconstructed(p[-1])


def slow_reconstruction(p: Matrix, pi: Matrix) -> Matrix:
    """Formula (5), by matrices."""
    return np.asarray((p**2).T @ (1 / (p @ pi)) * pi)


@pytest.mark.parametrize(
    ("p", "least"),
    [
        ((1.0, 1 / 3), (0.12 / 0.52) ** 2),
        ((1 / 2, 1.0), 0.12),
        ((1 / 2, 1 / 3), 0.12**2 / 0.52),
    ],
    ids=["sensitive alone", "quasi-identifiers alone", "both"],
)
def test_property_1_the_least_risk_of_a_woman_with_cancer(p: tuple[float, float], least: float) -> None:
    problem = problem_of(DISEASES, 2, "both")
    assert risks(problem, *p)[FEMALE_CANCER] == pytest.approx(least)
    moved = [np.clip(p[0] + a, 0.5, 1) for a in (0.0, 0.1)], [np.clip(p[1] + b, 1 / 3, 1) for b in (0.0, 0.1)]
    assert min(risks(problem, a, b)[FEMALE_CANCER] for a in moved[0] for b in moved[1]) == pytest.approx(least)


def test_without_distortion_the_risk_is_the_share_within_the_group() -> None:
    assert risks(problem_of(DISEASES, 2, "both"), 1, 1)[FEMALE_CANCER] == pytest.approx(0.12 / 0.52)


@given(st.integers(0, 1000))
def test_reconstruction_of_quasi_identifiers_is_formula_9_with_the_product_formed(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = random.integers(1, 4, 3)
    pi = random.random(shape) * (random.random(shape) > 0.3) + 1e-3
    pi /= pi.sum()
    p = [1 / d + (1 - 1 / d) * random.uniform(0.1, 1) for d in shape]
    formed = product([distortion(each, d) for each, d in zip(p, shape, strict=True)])
    expected = slow_reconstruction(formed, pi.ravel())
    np.testing.assert_allclose(Identification(pi, p).probability, expected, rtol=1e-9)


@given(st.integers(0, 1000))
def test_reconstruction_of_the_sensitive_value_goes_through_cells_that_occur_only(seed: int) -> None:
    random = np.random.default_rng(seed)
    joint = random.random((3, 4)) * (random.random((3, 4)) > 0.4)
    joint[:, 0] += 0.1
    p = random.uniform(0.3, 0.99)
    cells = cells_of(joint / joint.sum())
    shares = joint / joint.sum(axis=1, keepdims=True)
    full = np.stack([slow_reconstruction(distortion(p, 4), row) for row in shares])
    np.testing.assert_allclose(cells.reconstructed(p), full[shares > 0], rtol=1e-9)
    worst = cells.worst()
    assert worst.groups.tolist() == [0, 1, 2]
    np.testing.assert_allclose(worst.shares, shares.max(axis=1))


def attacker_is_right(p: list[Matrix], pi: Matrix, cell: int, tries: int, random: np.random.Generator) -> float:
    """How often an attacker who follows equation (3) names a person's cell: the person's values are distorted, and the
    attacker draws one of all cells with the probability that it has given what is seen."""
    formed = product(p)
    seen = random.choice(pi.size, size=tries, p=formed[:, cell])
    posterior = formed[seen] * pi.ravel()
    posterior /= posterior.sum(axis=1, keepdims=True)
    guessed = (posterior.cumsum(axis=1) > random.random((tries, 1))).argmax(axis=1)
    return float((guessed == cell).mean())


def test_an_attacker_who_guesses_by_the_posterior_is_right_as_often_as_the_risk_says() -> None:
    random, tries = np.random.default_rng(7), 200_000
    joint = np.einsum("a,b,c->abc", [0.6, 0.4], [0.5, 0.3, 0.2], [0.25, 0.45, 0.3])
    joint[0, 0] = joint[0, 0][::-1] * 1.1
    joint /= joint.sum()
    p, pi = (0.8, 0.7, 0.6), joint.sum(axis=-1)
    expected = risks(problem_of(joint, 2, "both"), *p).reshape(joint.shape)
    for a, b, u in ((0, 0, 0), (1, 2, 1), (0, 1, 2)):
        known = attacker_is_right([distortion(p[0], 2), distortion(p[1], 3)], pi, a * 3 + b, tries, random)
        within = joint[a, b] / pi[a, b]
        guessed = attacker_is_right([distortion(p[2], 3)], within, u, tries, random)
        assert known * within[u] * guessed == pytest.approx(expected[a, b, u], rel=0.02)


@given(st.integers(0, 1000))
def test_slopes_of_bounds_and_loss_are_what_differences_give(seed: int) -> None:
    random = np.random.default_rng(seed)
    joint = random.random((2, 3, 4)) * (random.random((2, 3, 4)) > 0.2)
    joint[..., 0] += 0.05
    problem = problem_of(joint / joint.sum(), 3, "both")
    p = np.array([random.uniform(1 / d + 0.1, 0.95) for d in problem.sizes])
    at, step = np.arange(len(problem.excess(p))), 1e-6
    slopes, loss = problem.excess_slope(p, at), problem.loss_slope(p)
    for axis, direction in enumerate(np.eye(3) * step):
        difference = (problem.excess(p + direction) - problem.excess(p - direction)) / (2 * step)
        np.testing.assert_allclose(slopes[:, axis], difference, rtol=1e-4, atol=1e-6)
        assert loss[axis] == pytest.approx(
            (problem.loss(p + direction) - problem.loss(p - direction)) / (2 * step), 1e-4
        )


def test_what_is_never_seen_adds_nothing() -> None:
    pi = np.array([[0.5, 0.0], [0.0, 0.5]])
    np.testing.assert_array_equal(Identification(pi, (1.0, 1.0)).probability, [1, 0, 0, 1])
