"""MDAV: of a whole table, and in blocks of near rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.treatments.grouping import mdav, mdav_in_blocks, near_blocks
from tests.examples import some


def plain(values: np.ndarray, k: int) -> np.ndarray:
    """The same from the definition, row by row."""
    group, left, number = np.empty(len(values), int), list(range(len(values))), 0

    def take(point: np.ndarray) -> None:
        nonlocal left, number
        near = sorted(left, key=lambda row: float(np.square(values[row] - point).sum()))[:k]
        group[near] = number
        left = [row for row in left if row not in near]
        number += 1

    while len(left) >= 2 * k:
        middle = values[left].mean(axis=0)
        far = max(left, key=lambda row: float(np.square(values[row] - middle).sum()))
        other = max(left, key=lambda row: float(np.square(values[row] - values[far]).sum()))
        pair = len(left) >= 3 * k
        take(values[far])
        if pair:
            take(values[other])
    group[left] = number
    return group


@settings(max_examples=some(80))
@given(st.integers(1, 60), st.integers(1, 5), st.integers(1, 3), st.integers(0, 1 << 32))
def test_it_is_its_definition(rows: int, k: int, columns: int, seed: int) -> None:
    """Of whole numbers, whose sums are exact: what is a tie here is one there."""
    values = np.random.default_rng(seed).integers(0, 30, (rows, columns)).astype(float)
    assert mdav(values, k).tolist() == plain(values, k).tolist()


def test_equally_far_rows_are_taken_in_the_order_of_the_table() -> None:
    assert mdav(np.array([[0.0], [0], [0], [0], [0]]), 2).tolist() == [0, 0, 1, 1, 1]
    assert mdav(np.array([[-1.0], [1], [0], [0], [0], [0]]), 2).tolist() == [0, 1, 0, 1, 2, 2]


@given(st.integers(0, 300), st.integers(1, 6), st.integers(0, 1 << 32))
def test_blocks_are_parts_of_whole_groups(rows: int, k: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 9, (rows, 2)).astype(float)
    blocks = near_blocks(values, k, 20)
    assert sorted(np.concatenate(blocks).tolist()) == list(range(rows))
    assert max(map(len, blocks)) <= max(20, 4 * k) and sum(len(block) % k > 0 for block in blocks) <= 1
    if rows >= k:
        sizes = np.bincount(mdav_in_blocks(values, k, 20))
        assert sizes.min() >= k and sizes.max() < 2 * k
