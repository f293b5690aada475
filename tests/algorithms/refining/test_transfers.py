"""Rows that leave their class, one at a time or together, on tables small enough to see why."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.clustering import codes_of
from anonymize.algorithms.refining import BoxMeasure, Places
from anonymize.algorithms.refining.block import Block
from anonymize.algorithms.refining.rows import axes_of
from anonymize.algorithms.refining.transfers import RINGS, targets, transfer
from anonymize.classes import Bools, Integers, Ints
from anonymize.table import Table
from tests.algorithms.clustering.slow import shown_of
from tests.algorithms.refining.test_refining import measure_of
from tests.algorithms.tables import categorical, numeric, seeds, table_of, tables, taxonomy
from tests.examples import some

Rng = np.random.Generator


def line(*values: float) -> Table:
    return table_of(numeric(list(values), "x"))


def transferred(table: Table, labels: list[int], k: int, block: Block | None = None, seed: int = 0) -> list[int]:
    block = block or Block(measure_of(table), k)
    classes = block.classes(np.array(labels))
    rng = np.random.default_rng(seed)
    return list(transfer(block, classes, np.array(labels), [np.arange(classes.count)], rng).tolist())


def lost(table: Table, labels: list[int] | Ints) -> float:
    labels = np.asarray(labels)
    return sum(shown_of(table, np.flatnonzero(labels == label).tolist(), np.inf) for label in np.unique(labels))


def test_a_row_goes_where_it_costs_less() -> None:
    assert transferred(line(0, 1, 9, 10, 11, 12), [0, 0, 0, 1, 1, 1], 2) == [0, 0, 1, 1, 1, 1]


def test_a_class_of_k_keeps_its_rows() -> None:
    assert transferred(line(0, 1, 9, 10, 11, 12), [0, 0, 0, 1, 1, 1], 3) == [0, 0, 0, 1, 1, 1]


def test_rows_that_are_far_from_the_others_leave_together() -> None:
    """No single one of the two that are far does better elsewhere by itself: the class stays as wide."""
    table = line(0, 0, 0, 0, 0, 9, 9, 10, 10)
    labels = [0, 0, 0, 0, 0, 0, 0, 1, 1]
    assert min(transferred(table, labels, 2, seed=seed) for seed in range(8)) == [0, 0, 0, 0, 0, 1, 1, 1, 1]


def test_rows_beyond_a_child_leave_together() -> None:
    domain = taxonomy("a A *", "b A *", "c B *", "d B *", name="c")
    table = table_of(categorical(list("aabbccdcd"), domain))
    labels = [0, 0, 0, 0, 0, 0, 1, 1, 1]
    assert min(transferred(table, labels, 3, seed=seed) for seed in range(8)) == [0, 0, 0, 0, 1, 1, 1, 1, 1]


def test_a_class_is_dissolved_where_its_rows_lie_within_others() -> None:
    assert transferred(line(0, 1, 2, 10, 11, 12, 1, 11), [0, 0, 0, 1, 1, 1, 2, 2], 2) == [0, 0, 0, 1, 1, 1, 0, 1]


def test_what_would_break_a_requirement_is_left() -> None:
    table = line(0, 1, 9, 10, 11, 12)

    def met(rows: Ints, groups: Ints, count: int) -> Bools:
        return np.asarray(np.bincount(groups, rows == 2, count) == 0)

    block = Block(measure_of(table), 2, met)
    assert transferred(table, [0, 0, 0, 1, 1, 1], 2, block) == [0, 0, 0, 1, 1, 1]


def test_a_wide_table_takes_no_more_looks_at_its_classes_than_one_of_fewer_columns() -> None:
    """Rows of all columns are gathered for each axis that is looked along: as many for 24 columns as for 60."""
    gathered = Counter[int]()

    class Counting(BoxMeasure):
        def places_of(self, rows: Integers) -> list[Places]:
            gathered[len(self.axes)] += 1
            return super().places_of(rows)

    rng = np.random.default_rng(1)
    for columns in (RINGS, 60):
        table = table_of(*(numeric(rng.integers(0, 9, 12).astype(float).tolist(), f"c{n}") for n in range(columns)))
        labels = np.repeat(np.arange(3), 4).tolist()
        transferred(table, labels, 4, Block(Counting(axes_of(table.attributes, codes_of(table.attributes))), 4))
    assert gathered[60] == gathered[RINGS] >= RINGS


@settings(max_examples=some(60))
@given(tables(max_rows=40), seeds, st.integers(1, 4))
def test_the_total_never_rises(table: Table, rng: Rng, k: int) -> None:
    labels = rng.permutation(np.arange(table.rows) // k)
    sizes = np.bincount(labels)
    labels[np.isin(labels, np.flatnonzero(sizes < k))] = 0
    after = transferred(table, labels.tolist(), k)
    assert lost(table, after) <= lost(table, labels) + 1e-4
    assert np.bincount(after)[np.unique(after)].min() >= min(k, table.rows)


@settings(max_examples=some(40))
@given(tables(max_rows=30), seeds)
def test_targets_are_the_best_of_all(table: Table, rng: Rng) -> None:
    labels = rng.integers(0, 5, table.rows)
    block = Block(measure_of(table), 1)
    classes = block.classes(labels)
    found = targets(block, classes, [np.arange(classes.count)])
    for row in range(table.rows):
        others = [np.flatnonzero(labels == label) for label in classes.names if label != labels[row]]
        rises = [shown_of(table, [*other, row], np.inf) - shown_of(table, other.tolist(), np.inf) for other in others]
        if rises:
            assert found.rise[row] == pytest.approx(min(rises), abs=1e-3)
