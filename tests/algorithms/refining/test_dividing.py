"""Dividing: enough rows on both sides, the best cut of every order, and nothing that does not save."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.refining import dividing
from anonymize.algorithms.refining.block import Block
from anonymize.algorithms.refining.dividing import divided
from anonymize.algorithms.refining.measure import BoxMeasure
from anonymize.algorithms.refining.missing import axes_of
from anonymize.table import Table
from tests.algorithms.tables import categorical, numeric, seeds, table_of, tables, taxonomy
from tests.examples import some

Rng = np.random.Generator


def block_of(table: Table, k: int) -> Block:
    return Block(BoxMeasure(axes_of(table.attributes, [each.codes for each in table.attributes])), k)


@settings(max_examples=some(60))
@given(tables(max_rows=60), st.integers(1, 4), st.integers(1, 5), seeds, st.sampled_from([16, 200, 1 << 16]))
def test_both_sides_have_k_rows_and_lose_less(table: Table, k: int, count: int, rng: Rng, cells: int) -> None:
    labels = np.sort(rng.integers(0, count, table.rows))
    sizes = np.bincount(labels)
    large = sizes[labels] >= 2 * k
    rows, labels = rng.permutation(table.rows)[large], labels[large]
    if not len(rows):
        return
    block = block_of(table, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dividing, "CELLS", cells)
        leaves = divided(block, rows, sizes[sizes >= 2 * k], rng)
    for name in np.unique(labels):
        own = labels == name
        gone, stays = rows[own & leaves], rows[own & ~leaves]
        if len(gone):
            assert min(len(gone), len(stays)) >= k
            both = np.zeros(table.rows, np.int64)
            both[gone], both[stays] = 1, 2
            assert block.classes(both, np.sort(rows[own])).ncp.sum() < lost_by(block, rows[own])


def lost_by(block: Block, rows: np.ndarray) -> float:
    return float(block.classes(np.zeros(block.measure.size, np.int64), np.sort(rows)).ncp.sum())


def test_two_crowds_part_where_they_lie_apart() -> None:
    block = block_of(table_of(numeric([0, 90, 1, 91, 2, 92, 93], "x")), 3)
    rows = np.array([4, 1, 0, 3, 2, 5, 6])
    leaves = divided(block, rows, np.array([7]), np.random.default_rng(0))
    parted = {frozenset(rows[leaves].tolist()), frozenset(rows[~leaves].tolist())}
    assert parted == {frozenset({0, 2, 4}), frozenset({1, 3, 5, 6})}


def test_rows_that_are_alike_stay_together() -> None:
    table = table_of(categorical(["a"] * 8, taxonomy("a *", "b *")), numeric([3] * 8, "x"))
    assert not divided(block_of(table, 2), np.arange(8), np.array([8]), np.random.default_rng(0)).any()
