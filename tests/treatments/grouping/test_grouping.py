"""MDAV: of a whole table, and in blocks of near rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.refining.exchanges import ClassRows, matched
from anonymize.classes import Floats, Partition
from anonymize.treatments.grouping import Redivision, divisions, mdav, mdav_in_blocks, near_blocks
from anonymize.treatments.grouping.search import _Squares
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


def lost(values: Floats, labels: list[int]) -> float:
    groups = (values[np.array(labels) == each] for each in set(labels))
    return float(sum(np.square(own - own.mean(axis=0)).sum() for own in groups))


@pytest.mark.parametrize(
    ("rows", "groups", "k", "count"), [(6, 2, 3, 10), (7, 2, 3, 35), (9, 3, 3, 280), (10, 2, 5, 126), (4, 2, 2, 3)]
)
def test_every_division_is_there_once(rows: int, groups: int, k: int, count: int) -> None:
    ways = divisions(rows, groups, k)
    assert ways is not None and len(ways.order) == count
    assert (ways.sizes.sum(axis=1) == rows).all() and ways.sizes.min() >= k
    made = set()
    for order, sizes in zip(ways.order.tolist(), ways.sizes.tolist(), strict=True):
        ends = np.cumsum([0, *sizes]).tolist()
        made.add(frozenset(frozenset(order[a:b]) for a, b in pairwise(ends)))
    assert len(made) == count


def test_what_is_too_much_is_not_divided() -> None:
    assert divisions(40, 2, 20) is None and divisions(15, 3, 5) is None and divisions(10, 2, 3) is None
    assert [Redivision.most(k) for k in (1, 2, 3, 4, 5, 6, 7, 50)] == [3, 3, 3, 2, 2, 2, 0, 0]


@settings(max_examples=12, deadline=None)
@given(st.sampled_from([(2, 3, 0), (2, 3, 1), (3, 3, 0), (2, 5, 0), (2, 4, 1)]), st.integers(0, 1 << 32))
def test_the_best_division_is_made_at_no_temperature(shape: tuple[int, int, int], seed: int) -> None:
    """Of `groups` groups of k rows, the first with some more, by the sums of squares of all divisions of the rows."""
    groups, k, more = shape
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(groups), [k + more, *[k] * (groups - 1)])
    values = rng.normal(size=(len(labels), 2))
    members = ClassRows.of(_Squares(values.T, k), Partition.of_labels(labels), np.arange(groups), 2 * k)  # type: ignore[arg-type]
    done = Redivision(values, k, rng).divide(members, np.arange(groups)[None], np.zeros(1, np.float32))
    assert done.all() and sorted(members.rows[members.there].tolist()) == list(range(len(labels)))
    ways = divisions(len(labels), groups, k)
    assert ways is not None
    best = np.inf
    for order, sizes in zip(ways.order, ways.sizes, strict=True):
        best = min(best, lost(values[order], np.repeat(np.arange(groups), sizes).tolist()))
    own = lost(values[members.rows[members.there]], np.repeat(np.arange(groups), members.sizes).tolist())
    assert own == pytest.approx(best, rel=1e-6)


def test_groups_are_matched_in_threes_none_twice() -> None:
    rng = np.random.default_rng(1)
    near = np.array([[each for each in rng.permutation(30) if each != group][:8] for group in range(30)])
    triples = matched(near, rng, 2)
    assert len(triples) > 3 and triples.shape[1] == 3 and len(np.unique(triples)) == triples.size
