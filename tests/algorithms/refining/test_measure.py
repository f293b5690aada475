"""Costs among some rows: they are those of the domains, whatever the shape and the way they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.clustering.ncp import Penalty, codes_of
from anonymize.algorithms.refining import measure
from anonymize.algorithms.refining.measure import BoxMeasure, axis_of
from anonymize.table import Table
from tests.algorithms.tables import numeric, seeds, table_of, tables
from tests.examples import some

Rng = np.random.Generator


def measure_of(table: Table) -> BoxMeasure:
    return BoxMeasure([axis_of(a.domain, a.codes, a.weight) for a in table.attributes])


def boxes(table: Table, rng: Rng, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of rows whose box is meant: codes low and high, and the rows."""
    codes = codes_of(table.attributes)
    rows = rng.integers(0, table.rows, (2, count))
    return codes[:, rows].min(axis=1), codes[:, rows].max(axis=1), rows


@settings(max_examples=some(60))
@given(tables(), seeds)
def test_boxes_cost_what_the_penalty_says(table: Table, rng: Rng) -> None:
    low, high, rows = boxes(table, rng, 20)
    found = measure_of(table)
    ends = [np.sort(places[rows], axis=0) for places in found.places]
    cost = found.cost([end[0] for end in ends], [end[1] for end in ends])
    assert cost == pytest.approx(Penalty.of(table.attributes)(low, high), abs=1e-5)


@settings(max_examples=some(60))
@given(tables(), seeds, st.sampled_from([0, 3, 1 << 9]))
def test_a_box_joined_by_a_row_costs_what_the_penalty_says(table: Table, rng: Rng, few: int) -> None:
    low, high, rows = boxes(table, rng, 20)
    third = rng.integers(0, table.rows, 7)
    codes = codes_of(table.attributes)[:, third]
    wanted = Penalty.of(table.attributes)(
        np.minimum(low[:, None, :], codes[:, :, None]), np.maximum(high[:, None, :], codes[:, :, None])
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "FEW", few)
        found = measure_of(table)
        ends = [np.sort(places[rows], axis=0) for places in found.places]
        left, right = [end[0] for end in ends], [end[1] for end in ends]
        joined = found.joined(left, right, [places[third][:, None] for places in found.places])
        scale, offset = rng.random(20, np.float32), rng.random(20, np.float32)
        crossed = found.crossing(left, right, scale, offset)(third)
    assert joined == pytest.approx(wanted, abs=1e-5)
    assert crossed == pytest.approx(wanted * scale - offset, abs=1e-4)


def test_what_is_crossed_twice_is_right_both_times() -> None:
    table = table_of(numeric(list(range(50)), "x"))
    found = measure_of(table)
    one = np.ones(50, np.float32)
    crossed = found.crossing(found.places, found.places, one, 0 * one)
    first = crossed(np.arange(5)).copy()
    crossed(np.arange(20, 50))
    assert np.array_equal(crossed(np.arange(5)), first)
    assert first[2, 4] == pytest.approx(2 / 49)


def test_a_missing_number_costs_a_leaf_more_than_the_way_to_the_highest() -> None:
    found = measure_of(table_of(numeric([0, 5, 10, None, None], "x", weight=3.0)))
    (places,) = found.places
    cost = found.cost([places[[0, 0, 2, 3]]], [places[[1, 3, 3, 4]]])
    assert cost.tolist() == pytest.approx([1.5, 3, 3 / 4, 0])
