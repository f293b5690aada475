"""Leaves of cells, beside lists of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.domain import Gapped, LeafSets, chosen

SIZE = 7
CELLS = st.lists(st.sets(st.integers(0, SIZE - 1), min_size=1), min_size=1, max_size=9)


def leaf_sets(cells: list[set[int]]) -> LeafSets:
    named = [sorted(cell) if len(cell) <= max(cell) - min(cell) else None for cell in cells]
    return LeafSets(np.array([min(c) for c in cells]), np.array([max(c) for c in cells]), Gapped.of(named, SIZE))


@given(CELLS, st.lists(st.integers(0, 9), min_size=SIZE, max_size=SIZE), st.sets(st.integers(0, SIZE - 1)))
def test_cells_are_their_leaves(cells: list[set[int]], figures: list[int], asked: set[int]) -> None:
    sets, of_leaf = leaf_sets(cells), np.array(figures)
    assert sets.sums(of_leaf).tolist() == [sum(figures[leaf] for leaf in cell) for cell in cells]
    assert sets.sums(np.stack([of_leaf, 2 * of_leaf], axis=1)).shape == (len(cells), 2)
    assert sets.counts.tolist() == [len(cell) for cell in cells]
    mask = np.isin(np.arange(SIZE), list(asked))
    assert sets.meeting(mask).tolist() == [bool(cell & asked) for cell in cells]
    held = sets.holding(np.arange(SIZE)[None, :])
    assert [set(np.flatnonzero(row)) for row in held] == cells
    assert sets.holding(np.array([max(asked, default=0)] * len(cells))).tolist() == [
        max(asked, default=0) in cell for cell in cells
    ]
    backwards = np.arange(len(cells))[::-1]
    assert sets.of_cells(backwards).counts.tolist() == sets.counts[::-1].tolist()


@given(CELLS, st.data())
def test_rows_are_spread_over_leaves(cells: list[set[int]], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, 5), min_size=len(cells), max_size=len(cells)))
    values = data.draw(st.lists(st.integers(0, 2), min_size=len(cells), max_size=len(cells)))
    expected = np.zeros((SIZE, 3))
    for cell, count, value in zip(cells, rows, values, strict=True):
        expected[sorted(cell), value] += count / len(cell)
    found = leaf_sets(cells).spread(np.array(rows), SIZE, np.array(values), 3)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(leaf_sets(cells).spread(np.array(rows), SIZE)[:, 0], expected.sum(axis=1), atol=1e-12)


@given(CELLS)
def test_runs_part_cells_into_intervals(cells: list[set[int]]) -> None:
    parts: list[list[int]] = [[] for _ in cells]
    runs = list(zip(*(each.tolist() for each in leaf_sets(cells).runs()), strict=True))
    for owner, first, last in runs:
        parts[owner] += range(first, last + 1)
    assert parts == [sorted(cell) for cell in cells]
    assert [run[0] for run in runs] == sorted(run[0] for run in runs)
    assert all(a[0] != b[0] or a[2] + 1 < b[1] for a, b in pairwise(runs))


def test_cells_without_gaps_have_no_table() -> None:
    assert Gapped.of([None, None], SIZE) is None
    gapped = Gapped.of([None, [0, 2]], SIZE)
    assert gapped is not None
    assert chosen({3: gapped}, np.array([1, 1]))[3].of_places.sum() == pytest.approx(4)
