"""Dividing: enough rows on both sides, the best cut of every order, and nothing that does not save."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.deadline import Resources
from anonymize.algorithms.refining import BoxMeasure, regrouping
from anonymize.algorithms.refining.block import Block
from anonymize.algorithms.refining.regrouping import GreedyGroups, PoolNeighbours, divided, neighbours, pools, regroup
from anonymize.algorithms.refining.rows import axes_of
from anonymize.classes import Bools, Ints
from anonymize.table import Table
from tests.algorithms.clustering.slow import shown_of
from tests.algorithms.refining.test_refining import measure_of
from tests.algorithms.refining.test_transfers import line, lost
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
        patch.setattr(regrouping, "ORDER_CELLS", cells)
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


# --- pools ------------------------------------------------------------------------------------------------------------


def around(block: Block, labels: Ints, rng: Rng) -> PoolNeighbours:
    """One row and its neighbours."""
    classes = block.classes(labels)
    return neighbours(block, classes, [np.arange(classes.count)], 1, rng)


def test_rows_of_two_classes_are_swapped() -> None:
    block = Block(measure_of(line(0, 1, 11, 10, 12, 2)), 3)
    labels = np.array([0, 0, 0, 1, 1, 1])
    for seed in range(4):
        rng = np.random.default_rng(seed)
        labels = regroup(block, labels, around(block, labels, rng), 2, False, Resources(rng))
    assert [labels[0], labels[3]] == [labels[1], labels[4]] == [labels[5], labels[2]]


def test_a_large_class_is_split() -> None:
    block = Block(measure_of(line(0, 1, 2, 10, 11, 12)), 3)
    labels = np.zeros(6, np.int64)
    rng = np.random.default_rng(1)
    for _ in range(4):
        labels = regroup(block, labels, around(block, labels, rng), 1, False, Resources(rng))
    assert len(set(labels[:3])) == len(set(labels[3:])) == 1 != len(set(labels))


def test_a_pool_may_keep_its_number_of_classes() -> None:
    block = Block(measure_of(line(0, 1, 2, 10, 11, 12)), 1)
    labels = np.array([0, 1, 0, 1, 0, 1])
    rng = np.random.default_rng(1)
    for _ in range(20):
        labels = regroup(block, labels, around(block, labels, rng), 2, True, Resources(rng))
    assert len(set(labels)) == 2


def test_a_pool_that_would_break_a_requirement_is_left() -> None:
    def met(rows: Ints, groups: Ints, count: int) -> Bools:
        return np.zeros(count, np.bool_)

    block = Block(measure_of(line(0, 1, 11, 10, 12, 2)), 3, met)
    labels, rng = np.array([0, 0, 0, 1, 1, 1]), np.random.default_rng(0)
    assert regroup(block, labels, around(block, labels, rng), 2, False, Resources(rng)).tolist() == labels.tolist()


def test_a_class_belongs_to_the_first_pool_that_asks() -> None:
    block = Block(measure_of(line(0, 1, 2, 3)), 1)
    classes = block.classes(np.arange(4))
    asked = PoolNeighbours(np.array([1, 2, 1]), np.array([[1, 2, 0], [2, 0, 3], [1, 3, 0]]))
    assert pools(classes, np.arange(4), asked, 2).tolist() == [1, 0, 1, -1]
    assert pools(classes, np.arange(4), asked, 1).tolist() == [-1, 0, 1, -1]


@settings(max_examples=some(40))
@given(tables(max_rows=40), seeds, st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_the_total_never_rises_and_classes_have_k_rows(table: Table, rng: Rng, k: int, size: int, keep: bool) -> None:
    if table.rows < k:
        return
    labels = rng.permutation(np.arange(table.rows) * max(table.rows // k, 1) // table.rows)
    block = Block(measure_of(table), k)
    after = regroup(block, labels, around(block, labels, rng), size, keep, Resources(rng))
    assert lost(table, after) <= lost(table, labels) + 1e-4
    assert np.unique(after, return_counts=True)[1].min() >= k


@settings(max_examples=some(40))
@given(tables(max_rows=30), seeds, st.integers(1, 4))
def test_a_grouping_counts_what_its_groups_lose(table: Table, rng: Rng, k: int) -> None:
    if table.rows < 2 * k:
        return
    rows = rng.permutation(table.rows)
    held = np.array([table.rows - k, k])
    padded = np.zeros((2, held.max()), np.int64)
    padded[0, : held[0]], padded[1, :k] = rows[: held[0]], rows[held[0] :]
    grouping = GreedyGroups(measure_of(table), padded, held, held // k, k)
    ncp = grouping.grow()
    for pool in range(2):
        group = grouping.group[pool, : held[pool]]
        wanted = sum(
            shown_of(table, padded[pool, : held[pool]][group == name].tolist(), np.inf) for name in np.unique(group)
        )
        assert abs(ncp[pool] - wanted) < 1e-3
        assert np.bincount(group, minlength=held[pool] // k).min() >= k
    assert (grouping.group[1, k:] == -1).all()


@settings(max_examples=some(20))
@given(tables(max_rows=30), seeds)
def test_the_nearest_classes_come_first_without_chance(table: Table, rng: Rng) -> None:
    block = Block(measure_of(table), 1)
    labels = rng.integers(0, 6, table.rows)
    classes = block.classes(labels)
    found = neighbours(block, classes, [np.arange(classes.count)], 5, rng, spread=0.0)
    for row, near in zip(found.rows, found.near, strict=True):
        members = [np.flatnonzero(labels == labels[each]).tolist() for each in near[: classes.count]]
        one = [shown_of(table, [*rows, row], np.inf) / (len(rows) + 1) for rows in members]
        assert all(left <= right + 1e-5 for left, right in pairwise(one))
