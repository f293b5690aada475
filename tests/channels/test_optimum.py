"""Parameters that lose least: the paper's data sets, a fine grid, bounds that are met and lie on the constraint."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize import channels
from anonymize.channels import representable
from anonymize.channels.optimum import optimum
from anonymize.channels.problem import ChannelProblem
from tests.channels.matrices import Matrix
from tests.channels.tables import ADULT, DISEASES, EMGRW, ESGRO, adult, problem_of
from tests.examples import some

needs_adult = pytest.mark.skipif(not ADULT.is_file(), reason="adult.csv is not there: set ANONYMIZE_SHARED")


def norms(problem: ChannelProblem, p: Matrix) -> float:
    """The product over the quasi-identifiers."""
    return float(np.prod([channels.norm_squared(p[at], problem.sizes[at]) for at in range(problem.pi.ndim)]))


@needs_adult
@pytest.mark.parametrize("on", ["qi", "both"])
@pytest.mark.parametrize(
    ("l", "expected", "product"),
    [
        (3, [0.6744, 0.9819, 0.9774, 0.9434], 894.4),
        (4, [0.5993, 0.9819, 0.9746, 0.9204], 1234.5),
        (5, [0.5437, 0.9876, 0.9679, 0.9057], 1599.6),
    ],
)
def test_the_second_data_set_of_the_paper(l: int, expected: list[float], product: float, on: str) -> None:  # noqa: E741
    problem = problem_of(adult(ESGRO), l, on)
    p = optimum(problem)[0]
    assert p is not None
    np.testing.assert_allclose(p[:4], expected, atol=5e-4)
    assert p[4] == 1
    assert norms(problem, p) == pytest.approx(product, abs=0.1)
    assert problem.risk(p)[0] == pytest.approx(1, abs=1e-6)


@needs_adult
@pytest.mark.parametrize(("columns", "alone"), [(ESGRO, 47), (EMGRW, 283)], ids=["second", "first"])
def test_groups_of_a_single_value_make_the_sensitive_attribute_alone_infeasible(
    columns: tuple[tuple[str, ...], str], alone: int
) -> None:
    problem = problem_of(adult(columns), 2, "sensitive")
    assert optimum(problem)[0] is None
    assert np.count_nonzero(problem.sensitive[0].shares == 1) == alone


@needs_adult
@pytest.mark.parametrize("l", [3, 4, 5])
def test_on_the_first_data_set_both_lose_less_than_quasi_identifiers_alone(l: int) -> None:  # noqa: E741
    joint = adult(EMGRW)
    alone, both = problem_of(joint, l, "qi"), problem_of(joint, l, "both")
    p, q = optimum(alone)[0], optimum(both)[0]
    assert p is not None and q is not None
    assert both.loss(q) < both.loss(p)
    assert q[4] < 1


def test_a_table_that_meets_the_bound_is_left_alone() -> None:
    p = optimum(problem_of(DISEASES, 2, "both"))[0]
    np.testing.assert_array_equal(p, [1, 1])


def test_a_bound_below_the_least_risk_is_infeasible() -> None:
    assert optimum(problem_of(DISEASES, 1 / 0.21, "qi"))[0] is None
    assert optimum(problem_of(DISEASES, 1 / 0.23, "qi"))[0] is not None


@given(st.integers(0, 500), st.sampled_from(["qi", "sensitive", "both"]))
@settings(max_examples=some(15))
def test_no_point_of_a_grid_loses_less(seed: int, on: str) -> None:
    random = np.random.default_rng(seed)
    joint = random.dirichlet(np.ones(12)).reshape(2, 2, 3)
    problem = problem_of(joint, random.uniform(1.5, 4), on)
    p = optimum(problem)[0]
    steps = [np.linspace(1 / d + 1e-3, 1, 10) for d in problem.sizes]
    axes = [values if free else [1.0] for values, free in zip(steps, problem.free, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    fine = [point for point in points if problem.risk(point)[1] == 0]
    if p is None:
        assert not fine
        return
    risk, broken = problem.risk(p)
    assert not broken
    assert p.tolist() == [1, 1, 1] or risk == pytest.approx(1, abs=1e-6)
    assert all(problem.loss(p) <= problem.loss(point) + 1e-6 for point in fine)


def test_parameters_can_be_drawn_exactly() -> None:
    p = optimum(problem_of(DISEASES, 4, "both"))[0]
    assert p is not None and p.min() < 1
    assert [representable(each, d) for each, d in zip(p, (2, 3), strict=True)] == p.tolist()


def test_an_attribute_of_one_value_stays_as_it_is() -> None:
    p = optimum(problem_of(DISEASES[:, None, :], 4, "both"))[0]
    assert p is not None and p[1] == 1


def test_with_less_work_a_search_ends_earlier_and_keeps_the_bounds() -> None:
    joint = np.random.default_rng(4).dirichlet(np.ones(60)).reshape(4, 5, 3)
    whole = problem_of(joint, 2.2, "both")
    best, ended = optimum(whole)
    assert best is not None and ended
    for work in (1, whole.work // 8, whole.work // 2):
        (p, ended), (again, _) = (optimum(problem_of(joint, 2.2, "both"), work) for _ in range(2))
        assert p is not None and again is not None and not ended and p.tolist() == again.tolist()
        posed = problem_of(joint, 2.2, "both")
        assert not posed.risk(p)[1] and whole.loss(best) <= whole.loss(p)
