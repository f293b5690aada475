"""Population uniqueness: what the estimators have to give at their ends, and on samples of a known population."""

from __future__ import annotations

from math import comb, exp, lgamma, log

import numpy as np
import pytest

from anonymize.privacy.uniques import pitman, zayatz
from anonymize.risk import population_uniques


def sizes(counts: list[int]) -> tuple[np.ndarray, np.ndarray]:
    return np.unique(np.array(counts), return_counts=True)


def test_the_whole_population_is_its_own_estimate() -> None:
    found = population_uniques(np.array([1, 1, 2, 6]), 1.0)
    assert found.share == pytest.approx(0.2) and found.estimator == "zayatz"


def test_no_uniques_in_the_sample() -> None:
    found = population_uniques(np.array([2, 2, 9]), 0.01)
    assert (found.share, found.estimator) == (0.0, "none")
    assert population_uniques(np.zeros(0, np.int64), 0.5).share == 0.0


def test_zayatz_by_hand() -> None:
    counts, population, rows = [1, 1, 1, 2, 4], 18, 9
    once = {size: size * comb(population - size, rows - 1) / comb(population, rows) for size in (1, 2, 4)}
    all_once = (3 * once[1] + once[2] + once[4]) / 5
    still = 3 / 5 * once[1] / all_once
    assert zayatz(*sizes(counts), 0.5) == pytest.approx(3 * still / 0.5 / population)


def test_pitman_finds_the_parameters_of_a_sample_that_follows_it() -> None:
    theta, alpha, rows = 50.0, 0.4, 4000
    generator, classes = np.random.default_rng(1), [1]
    for at in range(1, rows):
        weights = np.array([size - alpha for size in classes] + [theta + alpha * len(classes)])
        chosen = generator.choice(len(weights), p=weights / (theta + at))
        if chosen == len(classes):
            classes.append(0)
        classes[chosen] += 1
    share = pitman(*sizes(classes), 1.0)
    assert share is not None and share == pytest.approx(classes.count(1) / rows, rel=0.1)


@pytest.mark.parametrize("fraction", [1e-4, 0.1])
def test_pitman_fits_a_sample_that_lost_its_unique_rows(fraction: float) -> None:
    """As a search suppresses them: the method of moments is no start then. The share goes down with them."""
    shares = []
    for ones in (900, 400, 200, 100, 30, 1):
        found = population_uniques(np.array([1] * ones + [2] * 150 + [3] * 80 + [4] * 50 + [90] * 9), fraction)
        assert found.estimator == "pitman"
        shares.append(found.share)
    assert shares == sorted(shares, reverse=True) and shares[0] > 3 * shares[-1]


def test_of_few_unique_rows_it_is_the_formula_of_ewens() -> None:
    """With alpha = 0 the sample has the sum of theta / (theta + i) classes, i from 0 to its rows less one."""
    counts = [1] * 3 + [4] * 60
    share = pitman(*sizes(counts), 0.01)
    assert share is not None
    theta = share * sum(counts) / 0.01
    assert sum(theta / (theta + at) for at in range(sum(counts))) == pytest.approx(len(counts))


@pytest.mark.parametrize("counts", [[1] * 400 + [2] * 150 + [90] * 9, [1] * 30 + [2] * 6 + [500], [1, 2], [1, 1, 7]])
def test_no_parameters_are_more_likely(counts: list[int]) -> None:
    rows, people = sum(counts), round(sum(counts) / 0.01)

    def likelihood(theta: float, alpha: float) -> float:
        """Of the sample, but for a factor that is the same for all: by Hoshino, equation 5."""
        classes = sum(log(theta + at * alpha) for at in range(1, len(counts)))
        return (
            classes
            - lgamma(theta + rows)
            + lgamma(theta + 1)
            + sum(lgamma(c - alpha) - lgamma(1 - alpha) for c in counts)
        )

    grid = [(10 ** (place / 20) - alpha, alpha) for place in range(-60, 80) for alpha in np.arange(0, 0.99, 0.02)]
    theta, alpha = max(grid, key=lambda each: likelihood(*each))
    share = exp(lgamma(theta + 1) - lgamma(theta + alpha) + (alpha - 1) * log(people))
    assert pitman(*sizes(counts), 0.01) == pytest.approx(share, rel=0.3)


def test_where_pitman_has_no_fit_zayatz_answers() -> None:
    assert pitman(*sizes([1] * 9), 0.1) is None
    assert population_uniques(np.array([1] * 9), 0.1).estimator == "zayatz"


@pytest.mark.parametrize("fraction", [0.0, -1.0, 1.5])
def test_a_fraction_that_is_none(fraction: float) -> None:
    with pytest.raises(ValueError, match="sampling fraction"):
        population_uniques(np.array([1]), fraction)


@pytest.mark.parametrize("fraction", [1e-6, 0.05, 0.1, 0.5, 0.999])
def test_a_share_is_a_share(fraction: float) -> None:
    found = population_uniques(np.array([1] * 40 + [2] * 20 + [3] * 9 + [70]), fraction)
    assert 0 <= found.share <= 1
