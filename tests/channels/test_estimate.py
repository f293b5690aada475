"""What a recipient works out: against matrices, thousands of releases, and conditions that define a projection."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from anonymize.channels import estimate, replaced, seeded_bits
from anonymize.channels.estimate import interval
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


# --- interval ---------------------------------------------------------------------------------------------------------

DOCS = Path(__file__).resolve().parents[2] / "docs"
INTERVAL_ROWS = 200
FIRST = np.array([1.0, 0, 0, 0, 0])


def one(shown: int, p: float, about: estimate.About = "table", confidence: float = 0.95) -> tuple[float, float]:
    """The interval for one value of five, which so many of the rows show."""
    observed = np.array([shown, INTERVAL_ROWS - shown, 0, 0, 0]) / INTERVAL_ROWS
    return interval(observed, [p], [FIRST], INTERVAL_ROWS, about, confidence)


def chances(count: int, p: float, about: estimate.About) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(ROWS + 1,) how likely each number of rows that show the value is, where so many have it."""
    q, every = (1 - p) / 4, np.arange(INTERVAL_ROWS + 1)
    if about == "population":
        return np.asarray(binom.pmf(every, INTERVAL_ROWS, (count * p + (INTERVAL_ROWS - count) * q) / INTERVAL_ROWS))
    kept, arrived = binom.pmf(every, count, p), binom.pmf(every, INTERVAL_ROWS - count, q)
    return np.convolve(kept, arrived)[: INTERVAL_ROWS + 1]


@pytest.mark.parametrize(("p", "about"), [(0.8, "table"), (0.98, "table"), (0.8, "population"), (1.0, "population")])
def test_the_exact_coverage_of_one_attribute(p: float, about: estimate.About) -> None:
    counts = (0, 1, 2, 5, 10, 50, 199)
    likely = {count: chances(count, p, about) for count in counts}
    shown = [number for number in range(INTERVAL_ROWS + 1) if max(each[number] for each in likely.values()) > 1e-5]
    ends = {number: one(number, p, about) for number in shown}
    for count, chance in likely.items():
        holds = sum(chance[number] for number, (low, high) in ends.items() if low <= count <= high)
        assert holds >= 0.945, count
        below = sum(chance[number] for number, (_, high) in ends.items() if high < count)
        above = sum(chance[number] for number, (low, _) in ends.items() if low > count)
        assert max(below, above) <= 0.03, count


def test_an_interval_of_draws_from_a_population_is_that_of_clopper_and_pearson() -> None:
    from scipy.stats import beta

    for shown in (0, 1, 3, 20, 100, 197, 200):
        low, high = one(shown, 1.0, "population")
        exact = (
            0 if shown == 0 else INTERVAL_ROWS * beta.ppf(0.025, shown, INTERVAL_ROWS - shown + 1),
            INTERVAL_ROWS
            if shown == INTERVAL_ROWS
            else INTERVAL_ROWS * beta.ppf(0.975, shown + 1, INTERVAL_ROWS - shown),
        )
        assert (low, high) == pytest.approx(exact, abs=0.25)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(DOCS)
    import randomization_intervals

    return randomization_intervals


TABLES = 80


@pytest.mark.parametrize("count", [1, 10])
def test_the_coverage_of_three_attributes_by_tables_that_are_drawn(measured: Any, count: int) -> None:
    figures = measured.coverage(measured.CASES[1], count, tables=TABLES, seed=2)
    assert figures["interval"]["holds"] >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / TABLES)
    assert figures["interval"]["points"] == 0
    assert figures["interval"]["width"] < figures["normal"]["width"] + 4


def test_an_estimate_far_below_zero_leaves_more_than_a_point() -> None:
    normal = estimate.count(np.array([2, 198, 0, 0, 0]) / INTERVAL_ROWS, [0.8], [FIRST], INTERVAL_ROWS, "table")
    assert normal.estimate + 1.96 * normal.standard_error < 0
    low, high = one(2, 0.8)
    assert low == 0
    assert 1 < high < 12


def test_a_large_count_has_the_interval_of_the_normal_distribution() -> None:
    observed = np.array([0.5, 0.5, 0, 0, 0])
    rows = 1_000_000
    normal = estimate.count(observed, [0.8], [FIRST], rows, "table")
    low, high = interval(observed, [0.8], [FIRST], rows, "table", 0.95)
    assert (low, high) == pytest.approx(
        (normal.estimate - 1.96 * normal.standard_error, normal.estimate + 1.96 * normal.standard_error), abs=2
    )


def test_what_is_certain_is_a_point() -> None:
    observed = np.array([[0.3, 0.2], [0.4, 0.1]])
    first, none, every = np.array([1.0, 0]), np.zeros(2), np.ones(2)
    assert interval(observed, [1, 1], [first, first], 10, "table", 0.95) == pytest.approx((3, 3))
    assert interval(observed, [0.8, 0.9], [first, none], 10, "table", 0.95) == (0, 0)
    assert interval(observed, [0.8, 0.9], [every, every], 10, "population", 0.95) == (10, 10)


def test_an_attribute_of_which_every_value_is_chosen_is_no_condition() -> None:
    observed = np.array([[0.3, 0.2], [0.4, 0.1]])
    first, every = np.array([1.0, 0]), np.ones(2)
    both = interval(observed, [0.8, 0.9], [first, every], 100, "table", 0.95)
    assert both == pytest.approx(interval(observed.sum(axis=1), [0.8], [first], 100, "table", 0.95))


def test_the_order_of_the_attributes_does_not_matter() -> None:
    observed = np.random.default_rng(1).multinomial(400, np.full(24, 1 / 24)).reshape(2, 3, 4) / 400
    chosen = [np.eye(size)[0] for size in (2, 3, 4)]
    ends = interval(observed, [0.9, 0.7, 0.8], chosen, 400, "population", 0.95)
    turned = interval(
        observed.transpose(2, 0, 1), [0.8, 0.9, 0.7], [chosen[2], chosen[0], chosen[1]], 400, "population", 0.95
    )
    assert turned == pytest.approx(ends, abs=1e-3)


def test_more_confidence_is_wider() -> None:
    ends = [one(45, 0.8, confidence=confidence) for confidence in (0.5, 0.9, 0.99)]
    assert ends[2][0] < ends[1][0] < ends[0][0] < ends[0][1] < ends[1][1] < ends[2][1]
