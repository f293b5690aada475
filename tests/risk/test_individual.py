"""Individual risk: against published figures, closed forms, and the sum that defines it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.risk import TextFrequencySet
from anonymize.risk.sample import HALF, SERIES_ROWS, estimate, individual_risk


def sample(counts: Any, weights: Any) -> TextFrequencySet:
    sizes = np.array(counts, np.int64)
    return TextFrequencySet(
        np.arange(len(sizes))[None].astype(np.uint32), (len(sizes),), sizes, np.array(weights, float)
    )


def risk(count: int, weight: float) -> float:
    return float(individual_risk(np.array([count]), np.array([weight]))[0])


def by_definition(count: int, weight: float) -> float:
    """The mean of 1 / F, F negative binomial, summed until nothing is left."""
    p = count / weight
    log, total, left, size = count * math.log(p), 0.0, 1.0, count
    while left > 1e-15:
        share = math.exp(log)
        total, left = total + share / size, left - share
        log += math.log(size) - math.log(size - count + 1) + math.log1p(-p)
        size += 1
        if size > 200_000:
            break
    return total


@pytest.mark.parametrize(
    ("count", "weight", "expected"),
    [
        (1, 17.0, 0.17707583),
        (1, 541.0, 0.01165448),
        (1, 8.0, 0.29706308),
        (1, 5.0, 0.40235948),
        (1, 123.5, 0.03931625),
        (2, 110.0, 0.01714426),
        (2, 84.5, 0.02204233),
        (2, 100.0, 0.01877883),
        (3, 108.0, 0.01355297),
    ],
    ids=str,
)
def test_figures_of_another_tool(count: int, weight: float, expected: float) -> None:
    assert risk(count, weight) == pytest.approx(expected, abs=5e-9)


@given(st.floats(1.001, 1e6))
def test_closed_forms(per_row: float) -> None:
    p = 1 / per_row
    q = (per_row - 1) / per_row
    assert risk(1, per_row) == pytest.approx(p / q * math.log(per_row), rel=1e-9)
    if q > 0.01:  # elsewhere this form cancels
        assert risk(2, 2 * per_row) == pytest.approx(p / q**2 * (p * math.log(p) + q), rel=1e-7)


@given(st.integers(1, 60), st.floats(1.05, 30))
def test_the_sum_that_defines_it(count: int, per_row: float) -> None:
    assert risk(count, count * per_row) == pytest.approx(by_definition(count, count * per_row), rel=1e-9)


@given(st.integers(1, 10**7), st.floats(1.0, 1e6))
def test_it_is_a_mean_of_one_over_the_size(count: int, per_row: float) -> None:
    found = risk(count, count * per_row)
    assert 1 / (count * per_row) * (1 - 1e-9) <= found <= 1 / count * (1 + 1e-9)


@pytest.mark.parametrize("count", [1, 2, 7, SERIES_ROWS - 1, SERIES_ROWS, 1000])
def test_nothing_jumps_between_the_series_and_the_recurrence(count: int) -> None:
    below, above = (risk(count, count / (1 - HALF) * (1 + tilt)) for tilt in (-1e-9, 1e-9))
    assert below == pytest.approx(above, rel=1e-8)
    neighbours = [
        risk(SERIES_ROWS - 1, 20.0 * SERIES_ROWS),
        risk(SERIES_ROWS, 20.0 * SERIES_ROWS),
        risk(SERIES_ROWS + 1, 20.0 * SERIES_ROWS),
    ]
    assert neighbours[1] == pytest.approx((neighbours[0] + neighbours[2]) / 2, rel=1e-3)


def test_a_class_that_is_wholly_in_the_sample() -> None:
    assert [risk(count, count) for count in (1, 2, 40)] == [1.0, 0.5, 1 / 40]
    assert risk(4, 3.0) == 0.25  # weights below one


def test_the_risks_of_a_table() -> None:
    found = estimate(sample([1, 2, 1], [17.0, 110.0, 0.5]), 0.2)
    risks = [0.17707583, 0.01714426, 0.01714426, 1.0]
    assert found["population"] == 127.5 and found["journalist_max"] == 1.0
    assert found["individual_max"] == 1.0 and found["records_at_risk"] == 0.25
    assert found["expected"] == pytest.approx(sum(risks), abs=1e-7)
    assert found["individual_mean"] == pytest.approx(sum(risks) / 4, abs=1e-7)


def test_the_order_of_the_classes_does_not_matter() -> None:
    generator = np.random.default_rng(0)
    counts = generator.integers(1, 9, 500)
    weights = counts * generator.uniform(1, 90, 500)
    order = generator.permutation(500)
    assert estimate(sample(counts, weights), 0.1) == estimate(sample(counts[order], weights[order]), 0.1)


def test_no_rows() -> None:
    assert estimate(sample([], []), 0.2) == dict.fromkeys(estimate(sample([1], [1.0]), 0.2), 0.0)


def test_missing_as_a_wildcard_in_figures_of_another_tool() -> None:
    rows = ["2 3 1 18", "3 3 3 45.5", "2 3 * 39", "2 3 2 17", "3 3 1 92", "3 3 1 8", "1 4 * 123.5", "* 3 1 51"]
    frame = pl.DataFrame([row.split() for row in rows], schema=["a", "b", "c", "w"], orient="row")
    found = TextFrequencySet.of(frame, [["a"], ["b"], ["c"]], wild=["*"], weight=pl.col("w"))
    risks = [0.01355297, 0.08579129, 0.01050489, 0.03246611, 0.00975689, 0.00975689, 0.03931625, 0.00596255]
    table = estimate(found, 0.03, wildcard=True)
    assert table["expected"] == pytest.approx(sum(risks), abs=5e-8)
    assert table["individual_max"] == pytest.approx(max(risks), abs=5e-9)
    assert (table["records_at_risk"], table["population"]) == (3 / 8, 394.0)
    assert table["journalist_max"] == 1 / 45.5
    apart = estimate(TextFrequencySet.of(frame, [["a"], ["b"], ["c"]], weight=pl.col("w")), 0.03)
    assert apart["individual_max"] == pytest.approx(0.17707583, abs=5e-9)
