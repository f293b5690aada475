"""Distances, query errors and correlations: by hand, by their definitions, and on the paper's second data set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.algorithms.anatomy import _grouped
from anonymize.channels import estimate, replaced, seeded_bits
from anonymize.channels.optimum import optimum
from anonymize.metrics import distributions
from anonymize.table import SensitiveColumn
from tests.channels.tables import ADULT, ESGRO, adult, problem_of

needs_adult = pytest.mark.skipif(not ADULT.is_file(), reason="adult.csv is not there: set ANONYMIZE_SHARED")
ROWS = 30_162


def test_distances_by_hand() -> None:
    found = distributions.distances(np.array([4.0, 4, 0]), np.array([2.0, 4, 2]), 8)
    assert found["total_variation"] == pytest.approx(0.25)
    assert found["euclidean"] == pytest.approx(np.sqrt(2) / 4)
    assert found["chi_squared"] == pytest.approx(0.25**2 / 0.75 + 0.25)
    assert found["hellinger"] == pytest.approx(np.sqrt(((np.sqrt(0.5) - 0.5) ** 2 + 0.25) / 2))
    assert found["kl"] == pytest.approx(0.5 * np.log(2))


@given(st.integers(0, 500))
def test_a_table_is_no_distance_from_itself_and_all_are_finite(seed: int) -> None:
    random = np.random.default_rng(seed)
    p, q = random.integers(0, 4, (2, 3, 4)).astype(float)
    p[0, 0] = q[0, 0] = 1
    assert all(abs(value) < 1e-12 for value in distributions.distances(p, p, int(p.sum())).values())
    found = distributions.distances(p, q - 0.3, int(p.sum()))
    assert np.isfinite(list(found.values())).all()
    assert 0 <= found["total_variation"] <= 1
    assert 0 <= found["hellinger"] <= 1
    assert 0 <= found["chi_squared"] <= 2


def test_kl_takes_what_is_ruled_out_for_half_a_row() -> None:
    """3/4 and 1/4 of 4 rows, estimated at 1 and 0: the floor is 1/8, and the sum after it 9/8."""
    expected = 0.75 * np.log(0.75 / (8 / 9)) + 0.25 * np.log(0.25 / (1 / 9))
    assert distributions.kl(np.array([0.75, 0.25]), np.array([1.0, 0.0]), 4) == pytest.approx(expected)


@given(rows=st.integers(1, 50), seed=st.integers(0, 500))
def test_kl_is_at_most_that_of_everything_ruled_out(rows: int, seed: int) -> None:
    counts = np.bincount(np.random.default_rng(seed).integers(0, 60, rows), minlength=61)
    p = distributions.distribution(counts.astype(np.float64))
    assert distributions.kl(p, np.eye(61)[60], rows) <= np.log(3 * rows) + 1e-9
    assert distributions.kl(np.array([1.0, 0.0]), np.array([0.0, 1.0]), rows) == pytest.approx(np.log(2 * rows + 1))


def test_setting_negative_cells_to_nothing_biases_what_attributes_tell_of_each_other() -> None:
    """Both distorted: what is independent seems related, and what is the same seems less so; see `uncertainty`."""
    random, p = np.random.default_rng(1), np.full((4, 4), 0.15) + 0.4 * np.eye(4)
    for true, above in ((np.full((4, 4), 1 / 16), True), (np.eye(4) / 4, False)):
        observed = random.multinomial(2000, (p @ true @ p).ravel(), 100).reshape(-1, 4, 4) / 2000
        tables = np.linalg.solve(p, observed) @ np.linalg.inv(p)
        mean = np.mean([distributions.uncertainties(distributions.distribution(table))[0] for table in tables])
        assert (mean > 0.01) if above else (mean < 0.9)


def test_negative_cells_are_set_to_nothing_and_the_rest_is_rescaled() -> None:
    np.testing.assert_allclose(distributions.distribution(np.array([[-1.0, 3], [1, 0]])), [[0, 0.75], [0.25, 0]])


def test_query_errors_by_hand() -> None:
    original, estimated = np.array([[2.0, 0], [4, 2]]), np.array([[1.0, 5], [4, 4]])
    assert distributions.base_error(original, estimated) == pytest.approx((0.5 + 0 + 1) / 3)
    rows, columns, total = (4 / 2, 2 / 6), (1 / 6, 7 / 2), 6 / 8
    assert distributions.cube_error(original, estimated) == pytest.approx(
        (1.5 + sum(rows) + sum(columns) + total) / (3 + 2 + 2 + 1)
    )


def test_uncertainty_of_what_is_known_and_what_is_independent() -> None:
    assert distributions.uncertainties(np.diag([0.5, 0.3, 0.2])) == pytest.approx((1, 1))
    lopsided = np.array([[0.5, 0.25], [0.0, 0.25]])
    assert distributions.uncertainties(lopsided) == pytest.approx(distributions.uncertainties(lopsided.T)[::-1])
    assert distributions.uncertainties(np.outer([0.4, 0.6], [0.1, 0.9])) == pytest.approx((0, 0), abs=1e-12)
    assert distributions.uncertainties(np.array([[0.4], [0.6]]))[0] == 0


@given(st.integers(0, 200))
def test_regions_are_spread_evenly(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape, classes = (3, 4), 5
    ends = np.sort(random.integers(0, [[3], [4]], (classes, 2, 2)), axis=2)
    counts = random.integers(0, 4, (classes, 2)).astype(float)
    expected = np.zeros((*shape, 2))
    for (rows, columns), count in zip(ends, counts, strict=True):
        region = expected[rows[0] : rows[1] + 1, columns[0] : columns[1] + 1]
        region += count / (region.shape[0] * region.shape[1])
    owner, values = np.nonzero(counts)
    low, high = ends[owner, :, 0], ends[owner, :, 1]
    found = distributions.spread_of_boxes(low, high, values, counts[owner, values], (*shape, 2))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_groups_are_spread_evenly() -> None:
    listed = (np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([1.0, 2, 2]))
    cells, groups = np.array([0, 0, 1, 2, 2]), np.array([0, 0, 0, 1, 1])
    found = distributions.spread_of_groups(cells, groups, listed, 3, 2)
    np.testing.assert_allclose(found, [[2 / 3, 4 / 3], [1 / 3, 2 / 3], [0.0, 2.0]])


# --- the paper's second data set: education, sex, race, salary; occupation -------------------------------------------


def people(joint: np.ndarray) -> tuple[np.ndarray, ...]:
    """The codes of every row."""
    counts = np.round(joint * ROWS).astype(int).ravel()
    return np.unravel_index(np.repeat(np.arange(counts.size), counts), joint.shape)


def of_salary(joint: np.ndarray) -> float:
    """How much the salary, the last but one attribute, tells of the occupation, the last."""
    return distributions.uncertainties(distributions.distribution(joint).sum(axis=(0, 1, 2)))[0]


@needs_adult
def test_what_salary_tells_of_occupation_in_the_original() -> None:
    assert of_salary(adult(ESGRO)) == pytest.approx(0.02744, abs=5e-6)


@needs_adult
@pytest.mark.parametrize(("l", "expected"), [(3, 0.0241), (4, 0.0226), (5, 0.0214)])
def test_what_is_left_of_it_after_randomized_response(l: int, expected: float) -> None:  # noqa: E741
    joint = adult(ESGRO)
    p = optimum(problem_of(joint, l, "qi"))[0]
    assert p is not None
    bits = seeded_bits(l)
    shown = [
        replaced(codes.astype(np.uint8), each, size, bits)
        for codes, each, size in zip(people(joint), p, joint.shape, strict=True)
    ]
    counts = np.zeros(joint.shape)
    np.add.at(counts, tuple(shown), 1)
    found = estimate.estimate(counts / ROWS, p.tolist(), "clip")
    assert of_salary(found) == pytest.approx(expected, abs=3 * 0.0008)


@needs_adult
@pytest.mark.parametrize(("l", "expected"), [(3, 0.0022), (4, 0.0011), (5, 0.0006)])
def test_what_is_left_of_it_after_anatomy(l: int, expected: float) -> None:  # noqa: E741
    joint = adult(ESGRO)
    *quasi, sensitive = people(joint)
    column = SensitiveColumn("occupation", sensitive.astype(np.uint8), joint.shape[-1], None, None)
    group, count = _grouped(column, np.arange(ROWS), l, np.random.default_rng(2))
    groups = group.astype(np.int64)
    keys, entries = np.unique(groups * joint.shape[-1] + sensitive, return_counts=True)
    listed = (keys // joint.shape[-1], keys % joint.shape[-1], entries.astype(float))
    cells = np.ravel_multi_index(tuple(quasi), joint.shape[:-1])
    size = int(np.prod(joint.shape[:-1]))
    found = distributions.spread_of_groups(cells, groups, listed, size, joint.shape[-1]).reshape(joint.shape)
    assert count == ROWS // l
    np.testing.assert_allclose(found.sum(axis=-1), joint.sum(axis=-1) * ROWS)
    assert of_salary(found) == pytest.approx(expected, abs=0.0004)
