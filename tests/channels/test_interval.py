"""Intervals hold the true count as often as they say: exactly, where all that can be observed is gone through, and by
tables that are drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from anonymize.channels import estimate
from anonymize.channels.interval import interval

DOCS = Path(__file__).resolve().parents[2] / "docs"
ROWS = 200
FIRST = np.array([1.0, 0, 0, 0, 0])


def one(shown: int, p: float, about: estimate.About = "table", confidence: float = 0.95) -> tuple[float, float]:
    """The interval for one value of five, which so many of the rows show."""
    observed = np.array([shown, ROWS - shown, 0, 0, 0]) / ROWS
    return interval(observed, [p], [FIRST], ROWS, about, confidence)


def chances(count: int, p: float, about: estimate.About) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(ROWS + 1,) how likely each number of rows that show the value is, where so many have it."""
    q, every = (1 - p) / 4, np.arange(ROWS + 1)
    if about == "population":
        return np.asarray(binom.pmf(every, ROWS, (count * p + (ROWS - count) * q) / ROWS))
    kept, arrived = binom.pmf(every, count, p), binom.pmf(every, ROWS - count, q)
    return np.convolve(kept, arrived)[: ROWS + 1]


@pytest.mark.parametrize(("p", "about"), [(0.8, "table"), (0.98, "table"), (0.8, "population"), (1.0, "population")])
def test_the_exact_coverage_of_one_attribute(p: float, about: estimate.About) -> None:
    counts = (0, 1, 2, 5, 10, 50, 199)
    likely = {count: chances(count, p, about) for count in counts}
    shown = [number for number in range(ROWS + 1) if max(each[number] for each in likely.values()) > 1e-5]
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
            0 if shown == 0 else ROWS * beta.ppf(0.025, shown, ROWS - shown + 1),
            ROWS if shown == ROWS else ROWS * beta.ppf(0.975, shown + 1, ROWS - shown),
        )
        assert (low, high) == pytest.approx(exact, abs=0.25)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(DOCS)
    import randomization_intervals

    return randomization_intervals


@pytest.mark.parametrize("count", [1, 10])
def test_the_coverage_of_three_attributes_by_tables_that_are_drawn(measured: Any, count: int) -> None:
    figures = measured.coverage(measured.CASES[1], count, tables=150, seed=2)
    assert figures["interval"]["holds"] >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 150)
    assert figures["interval"]["points"] == 0
    assert figures["interval"]["width"] < figures["normal"]["width"] + 4


def test_an_estimate_far_below_zero_leaves_more_than_a_point() -> None:
    normal = estimate.count(np.array([2, 198, 0, 0, 0]) / ROWS, [0.8], [FIRST], ROWS, "table")
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
