"""Totals of noisy figures that agree: least squares, and whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

from anonymize.tabulating.cells import TableGrid
from anonymize.tabulating.consistency import consistent, whole_counts, whole_sums
from tests.tabulating.systems import flat, paired


def test_whole_counts_come_to_the_total_and_none_is_negative() -> None:
    random = np.random.default_rng(5)
    for _ in range(200):
        values = random.normal(3, 8, int(random.integers(1, 40)))
        total = int(random.integers(0, 90))
        counts = whole_counts(values, total)
        assert counts.sum() == total and counts.min() >= 0


def test_whole_sums_come_to_the_total_and_each_is_next_to_its_value() -> None:
    random = np.random.default_rng(6)
    for _ in range(200):
        values = random.normal(0, 8, int(random.integers(1, 40)))
        total = round(values.sum())
        sums = whole_sums(values, total)
        assert sums.sum() == total and np.abs(sums - values).max() < 1
    assert whole_sums(np.array([-1.5, 0.5, 2.5]), 2).tolist() == [-1, 1, 2]


def test_what_is_whole_already_stays() -> None:
    assert whole_counts(np.array([3.0, 0.0, 5.0]), 8).tolist() == [3, 0, 5]


def test_what_lies_below_nothing_is_taken_from_all_others_alike() -> None:
    assert whole_counts(np.array([10.0, 6.0, -4.0]), 12).tolist() == [8, 4, 0]
    assert whole_counts(np.array([-5.0, -7.0]), 3).tolist() == [3, 0]


def test_the_values_are_those_of_least_squares() -> None:
    """The same minimum with the finest groups as variables, by another solver."""
    random = np.random.default_rng(2)
    grid = TableGrid((flat("a", np.arange(3)), paired("b", np.arange(4) % 3)))
    groups = [("a", "b")]
    cells = np.sort(grid.cells(("a", "b")).ravel())
    drawn, weight = random.normal(20, 5, len(cells)), random.uniform(0.2, 1, len(cells))
    estimate = consistent(grid, groups, drawn, weight, cells)
    members = np.zeros((len(cells), 9))
    table = grid.cells(("a", "b"))
    for place in np.ndindex(table.shape):
        inside = np.outer(
            [place[0] in path for path in grid.columns[0].levels.T],
            [place[1] in path for path in grid.columns[1].levels.T],
        )
        members[np.searchsorted(cells, table[place])] = inside.ravel()
    scaled = np.sqrt(weight)[:, None] * members
    finest = np.linalg.lstsq(scaled, np.sqrt(weight) * drawn, rcond=None)[0]
    assert estimate.value == pytest.approx(members @ finest, abs=1e-6)
