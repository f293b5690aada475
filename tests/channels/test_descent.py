"""The solver of a few variables: against scipy's, by the conditions of its optima, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls

from anonymize.channels.optimum import Task, _by_scipy, descend, least_distance, nonnegative, optimum
from anonymize.channels.problem import ChannelProblem
from tests.channels.tables import problem_of


def circle(radius: float, centre: tuple[float, float] = (1.0, 2.0)) -> Task:
    """The point nearest to a centre, with x^2 + y^2 <= radius^2, in the box from 0 to 3."""
    middle = np.array(centre)
    return Task(
        value=lambda x: float(((x - middle) ** 2).sum()),
        slope=lambda x: 2 * (x - middle),
        curvature=lambda x: np.full(2, 2.0),
        bounds=lambda x: np.array([float(x @ x) - radius**2]),
        bound_slopes=lambda x: 2 * x[None],
        low=np.zeros(2),
        high=np.full(2, 3.0),
    )


def test_the_nearest_point_of_a_circle() -> None:
    found = descend(circle(1.0), np.array([0.5, 0.1]))
    assert found is not None
    np.testing.assert_allclose(found, np.array([1, 2]) / np.sqrt(5), atol=1e-8)


def test_a_bound_that_does_not_bind_and_a_box_that_does() -> None:
    free, boxed = (descend(task, np.array([0.5, 0.1])) for task in (circle(9.0), circle(9.0, (-1.0, 5.0))))
    assert free is not None and boxed is not None
    np.testing.assert_allclose(free, np.array([1, 2]), atol=1e-8)
    np.testing.assert_allclose(boxed, np.array([0, 3]), atol=1e-8)


def test_no_point_is_found_where_there_is_none() -> None:
    task = circle(1.0)
    apart = Task(
        task.value,
        task.slope,
        task.curvature,
        lambda x: np.array([x[0] - 1.0, 2.0 - x[0]]),
        lambda x: np.array([[1.0, 0.0], [-1.0, 0.0]]),
        task.low,
        task.high,
    )
    assert descend(apart, np.array([0.5, 0.5])) is None


@given(st.integers(0, 500))
def test_least_squares_without_negative_parts(seed: int) -> None:
    random = np.random.default_rng(seed)
    matrix, target = random.normal(size=(4, 7)), random.normal(size=4)
    guess = random.random(7) < 0.3
    found = nonnegative(matrix, target, guess)
    assert (found >= 0).all()
    assert np.linalg.norm(matrix @ found - target) == pytest.approx(nnls(matrix, target)[1], abs=1e-9)


@given(st.integers(0, 500))
def test_the_shortest_point_of_a_polyhedron(seed: int) -> None:
    random = np.random.default_rng(seed)
    columns, inner = random.normal(size=(3, 6)), random.normal(size=3)
    limits = columns.T @ inner + random.random(6)
    weights = least_distance(columns, limits, np.zeros(6, np.bool_))
    assert weights is not None
    point = -columns @ weights
    slack = limits - columns.T @ point
    assert (slack >= -1e-8).all()
    np.testing.assert_allclose(weights * slack, 0, atol=1e-8)
    keeps = {"type": "ineq", "fun": lambda z: limits - columns.T @ z}
    other = minimize(lambda z: z @ z, inner, constraints=[keeps], method="SLSQP", options={"ftol": 1e-14})
    assert point @ point <= other.fun + 1e-7


def by_scipy(problem: ChannelProblem, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """A local optimum of the whole problem by scipy alone: no solver, no gradient and no selection of ours."""
    low, high = problem.lowest(), problem.highest()
    slack = {"type": "ineq", "fun": lambda chosen: 1 - problem.excess(problem.full(chosen))}
    result = minimize(
        lambda chosen: problem.loss(problem.full(chosen)),
        start,
        bounds=list(zip(low, high, strict=True)),
        constraints=[slack],
        method="SLSQP",
        options={"maxiter": 200, "ftol": 1e-12},
    )
    return np.asarray(np.clip(result.x, low, high))


@pytest.mark.parametrize("on", ["qi", "both"])
@settings(max_examples=settings().max_examples // 5)
@given(seed=st.integers(0, 300))
def test_scipy_finds_no_better_parameters(seed: int, on: str) -> None:
    random = np.random.default_rng(seed)
    shape = random.integers(2, 5, random.integers(2, 5))
    joint = random.dirichlet(np.ones(int(shape.prod()))).reshape(shape)
    posed = problem_of(joint, float(random.choice([1.3, 1.7, 2.2])), on)
    best, low = optimum(posed)[0], posed.lowest()
    assert (best is None) == bool((posed.excess(posed.full(low)) > 1 + 1e-9).any())
    if best is None:
        return
    for share in (0.01, 0.5):
        point = by_scipy(posed, low + share * (posed.highest() - low))
        if (posed.excess(posed.full(point)) <= 1 + 1e-9).all():
            assert posed.loss(best) <= posed.loss(posed.full(point)) + 1e-6


def test_where_the_first_solver_reaches_nothing_scipy_does() -> None:
    np.testing.assert_allclose(_by_scipy(circle(1.0), np.array([0.5, 0.1])), np.array([1, 2]) / np.sqrt(5), atol=1e-5)


def test_what_comes_near_a_known_point_ends_there() -> None:
    known = np.array([1, 2]) / np.sqrt(5) + 1e-5
    found = descend(circle(1.0), np.array([0.5, 0.1]), [np.zeros(2), known])
    assert found is known
