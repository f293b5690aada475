"""What is drawn, against the distribution that the privacy maps are of. The entropy is the system's: a sound draw fails
once in 10^10 runs, and one that is not passes as seldom."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import chisquare

from anonymize.dp.mechanisms import Spending

DRAWS = 10_000
FALSE_ALARM = 1e-11


def p_value(seen: list[int], shares: list[float]) -> float:
    """That of Pearson's test, of which every cell expects enough draws for it to be exact."""
    expected = [share * sum(seen) for share in shares]
    assert min(expected) > 20
    return float(chisquare(seen, expected).pvalue)


def gaussian_shares(sigma: float, most: int) -> list[float]:
    """The discrete Gaussian's probabilities of -most to most, and of everything else."""
    weights = {x: math.exp(-(x**2) / (2 * sigma**2)) for x in range(-50, 51)}
    whole = sum(weights.values())
    inner = [weights[x] / whole for x in range(-most, most + 1)]
    return [*inner, 1 - sum(inner)]


def test_noise_on_counts_is_a_discrete_gaussian_of_the_declared_scale() -> None:
    noise = Spending(1e6).gaussian(np.zeros(DRAWS, np.int64), 2.5, 1, ("age",)).tolist()
    inner = [noise.count(x) for x in range(-6, 7)]
    seen = [*inner, DRAWS - sum(inner)]
    assert p_value(seen, gaussian_shares(2.5, 6)) > FALSE_ALARM
    assert p_value(seen, gaussian_shares(3.0, 6)) < FALSE_ALARM  # the test can fail


def softmax(scores: list[float], scale: float) -> list[float]:
    """What the exponential mechanism chooses with which probability."""
    weights = [math.exp(score / scale) for score in scores]
    return [weight / sum(weights) for weight in weights]


def test_the_noisy_maximum_is_the_exponential_mechanism_of_its_scale() -> None:
    scores, budgets = [0.0, 1.0, 2.0, 3.5], [Spending(1) for _ in range(1500)]
    chosen = [each.noisy_max(np.array(scores), 1, 0.125) for each in budgets]
    seen, scale = [chosen.count(place) for place in range(4)], budgets[0].entries[0].scale
    assert p_value(seen, softmax(scores, scale)) > FALSE_ALARM
    assert p_value(seen, softmax(scores, scale * 4)) < FALSE_ALARM
