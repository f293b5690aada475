"""Sequences of cuts: classes of k rows within their parts, the best of two cuts, the same with any threads."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.refining.block import Block
from anonymize.algorithms.refining.measure import BoxMeasure, axis_of
from anonymize.algorithms.refining.sequences import MOST, cut_best
from anonymize.classes import Partition
from anonymize.table import Table
from tests.algorithms.tables import numeric, seeds, table_of, tables

Rng = np.random.Generator


def measure_of(table: Table) -> BoxMeasure:
    return BoxMeasure([axis_of(each.domain, each.codes, each.weight) for each in table.attributes])


def ncp(measure: BoxMeasure, partition: Partition) -> float:
    return float(Block(measure, 1).classes(partition.class_of(measure.size).astype(np.int64)).ncp.sum())


@settings(max_examples=60)
@given(tables(max_rows=90), st.integers(1, 5), seeds)
def test_classes_lie_within_their_parts_and_lose_no_more(table: Table, k: int, rng: Rng) -> None:
    labels = rng.permutation(np.arange(table.rows) * max(table.rows // (4 * k), 1) // table.rows)
    parts, measure = Partition.of_labels(labels), measure_of(table)
    after = cut_best(measure, parts, k, 1)
    assert np.array_equal(np.sort(after.order), np.arange(table.rows))
    assert after.sizes.min() >= min(k, parts.sizes.min())
    own = labels[after.order]
    assert np.array_equal(own, own[after.starts[:-1]][after.labels])
    wanted = np.where(parts.sizes // k > MOST, 1, np.maximum(parts.sizes // k, 1))
    assert after.count == wanted.sum()
    assert ncp(measure, after) <= ncp(measure, parts) + 1e-3
    other = cut_best(measure, parts, k, 3)
    assert np.array_equal(after.order, other.order) and np.array_equal(after.starts, other.starts)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=6, max_size=6))
def test_of_two_classes_the_better_attribute_is_cut(rows: list[tuple[int, int]]) -> None:
    table = table_of(*(numeric([*(row[axis] for row in rows), 0, 9], f"q{axis}") for axis in (0, 1)))
    measure = measure_of(table)
    after = cut_best(measure, Partition.of_labels(np.zeros(8, np.int64)), 4, 1)
    orders = [np.argsort(each.codes, kind="stable") for each in table.attributes]
    losses = []
    for order in orders:
        labels = np.empty(8, np.int64)
        labels[order] = np.arange(8) // 4
        losses.append(ncp(measure, Partition.of_labels(labels)))
    assert abs(ncp(measure, after) - min(losses)) < 1e-4


def test_four_classes_of_a_square_are_its_quarters() -> None:
    """One cut after the other would do, too; along the first attribute alone, nothing would."""
    places = [(x, y) for x in (0, 1, 8, 9) for y in (0, 1, 8, 9)]
    shuffled = np.random.default_rng(4).permutation(len(places)).tolist()
    table = table_of(*(numeric([places[row][axis] for row in shuffled], f"q{axis}") for axis in (0, 1)))
    after = cut_best(measure_of(table), Partition.of_labels(np.zeros(16, np.int64)), 4, 1)
    quarters = [
        {(places[shuffled[row]][0] > 4, places[shuffled[row]][1] > 4) for row in rows}
        for rows in np.split(after.order, after.starts[1:-1])
    ]
    assert all(len(quarter) == 1 for quarter in quarters) and after.count == 4
