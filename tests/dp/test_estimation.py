"""The nearest distribution is known by its duality gap: no distribution is nearer by more than that."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import pytest

from anonymize.domain import Floats
from anonymize.dp.estimation import MeasuredCounts, MirrorDescent
from anonymize.dp.sampler import Columns

SIZES = {"a": 2, "b": 3, "c": 2, "d": 3}
TOTAL = 1000.0
CHAIN = [("a", "b"), ("b", "c"), ("c", "d")]
APART = [("a", "b"), ("c",), ("d",)]
WIDE = [("a", "b", "c"), ("b", "c", "d")]


def targets(columns: Sequence[Columns], sigma: float = 20.0) -> list[MeasuredCounts]:
    """Noisy counts of a table in which columns depend on each other."""
    rng = np.random.default_rng(3)
    joint = rng.dirichlet(np.ones(prod(SIZES.values())) / 2).reshape(tuple(SIZES.values())) * TOTAL
    made = []
    for number, own in enumerate(columns):
        scale = sigma * (1 + number % 2)
        true = summed(joint, own).ravel()
        made.append(MeasuredCounts(own, true + rng.normal(0, scale, true.size), 1 / scale**2))
    return made


def summed(joint: Floats, own: Columns) -> Floats:
    return np.asarray(joint.sum(axis=tuple(axis for axis, name in enumerate(SIZES) if name not in own)))


def joint_of(descent: MirrorDescent) -> Floats:
    """The product of its factors over all cells of all columns."""
    logs = np.zeros(tuple(SIZES.values()))
    for columns, table in descent.factors.items():
        logs += table.reshape([SIZES[name] if name in columns else 1 for name in SIZES])
    shares = np.exp(logs - logs.max())
    return np.asarray(TOTAL * shares / shares.sum())


def gap(joint: Floats, goals: Sequence[MeasuredCounts]) -> float:
    """By how much another distribution could be nearer, at most (Frank and Wolfe 1956)."""
    slant = np.zeros(joint.shape)
    for each in goals:
        apart = each.precision * (summed(joint, each.columns).ravel() - each.counts)
        slant += apart.reshape([SIZES[name] if name in each.columns else 1 for name in SIZES])
    return float((slant * joint).sum() - TOTAL * slant.min())


@pytest.mark.parametrize(
    ("parts", "columns"),
    [
        (CHAIN, [*CHAIN, ("a",), ("d",)]),
        (APART, [("a", "b"), ("b",), ("c",), ("d",)]),
        (WIDE, [("a", "b"), ("a", "c"), ("b", "c", "d"), ("c", "d"), ("d",)]),
    ],
    ids=["chain", "apart", "wide"],
)
def test_no_distribution_is_nearer_and_its_factors_have_its_marginals(
    parts: list[Columns], columns: list[Columns]
) -> None:
    goals = targets(columns)
    descent = MirrorDescent(SIZES, parts, goals, TOTAL, {})
    before = descent.loss
    descent.run(3000, 0.0, 0.0)
    joint = joint_of(descent)
    for part, counts in zip(parts, descent.counts, strict=True):
        assert np.abs(counts - summed(joint, part)).max() < 1e-6 * TOTAL
        assert counts.sum() == pytest.approx(TOTAL)
    least = 0.5 * sum(
        each.precision * np.square(summed(joint, each.columns).ravel() - each.counts).sum() for each in goals
    )
    assert descent.loss == pytest.approx(least, rel=1e-6) and least < before / 10
    assert gap(joint, goals) < 1e-2 * least


def test_it_ends_at_the_loss_that_is_enough() -> None:
    descent = MirrorDescent(SIZES, CHAIN, targets(CHAIN), TOTAL, {})
    least = MirrorDescent(SIZES, CHAIN, targets(CHAIN), TOTAL, {})
    least.run(3000, 0.0, 0.0)
    descent.run(3000, 0.0, 3 * least.loss)
    assert 1.5 * least.loss < descent.loss <= 3 * least.loss


def test_it_begins_where_another_ended_whose_parts_were_smaller() -> None:
    small = MirrorDescent(SIZES, CHAIN, targets([*CHAIN, ("d",)]), TOTAL, {})
    small.run(500, 0.0, 0.0)
    large = MirrorDescent(SIZES, WIDE, targets([("a", "b", "c"), ("b", "c", "d")]), TOTAL, small.factors)
    joint = joint_of(small)
    for part, counts in zip(WIDE, large.counts, strict=True):
        assert np.abs(counts - summed(joint, part)).max() < 1e-6 * TOTAL


def test_counts_far_below_zero_leave_no_cell_that_is_not_a_number() -> None:
    goals = [
        MeasuredCounts(("a", "b"), np.array([1e6, -1e6, 0, 0, 0, -1e6]), 1.0),
        MeasuredCounts(("c",), np.array([0.0, 1000]), 1e3),
    ]
    descent = MirrorDescent(SIZES, APART, [*goals, *targets([("d",)])], TOTAL, {})
    descent.run(2000, 0.0, 0.0)
    assert all(np.isfinite(each).all() and each.min() >= 0 for each in descent.counts)
    assert descent.counts[0].ravel()[0] == pytest.approx(TOTAL, rel=1e-3)
