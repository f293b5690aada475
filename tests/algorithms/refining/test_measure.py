"""Costs among some rows: they are those of the domains, whatever the shape and the way they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.clustering.ncp import codes_of
from anonymize.algorithms.refining import measure
from anonymize.algorithms.refining.measure import (
    TABLED_LEAVES,
    BoxMeasure,
    ManyLeavesAxis,
    TaxonomyAxis,
    axis_of,
)
from anonymize.algorithms.refining.missing import axes_of
from anonymize.domain.taxonomy import Taxonomy
from anonymize.table import Table
from tests.algorithms.clustering.slow import shown_of
from tests.algorithms.tables import numeric, seeds, table_of, tables, taxonomy
from tests.examples import some

Rng = np.random.Generator


def measure_of(table: Table) -> BoxMeasure:
    return BoxMeasure(axes_of(table.attributes, codes_of(table.attributes)))


def shown(table: Table, rows: np.ndarray) -> list[float]:
    """What one row of a class of each column of rows (class, count) loses."""
    return [shown_of(table, each.tolist(), np.inf) / len(each) for each in rows.T]


@settings(max_examples=some(60))
@given(tables(), seeds)
def test_boxes_cost_what_the_penalty_says(table: Table, rng: Rng) -> None:
    rows = rng.integers(0, table.rows, (2, 20))
    found = measure_of(table)
    ends = [np.sort(places[rows], axis=0) for places in found.places]
    cost = found.cost([end[0] for end in ends], [end[1] for end in ends])
    assert cost == pytest.approx(shown(table, rows), abs=1e-5)


@settings(max_examples=some(60))
@given(tables(), seeds, st.sampled_from([0, 3, 1 << 9]))
def test_a_box_joined_by_a_row_costs_what_the_penalty_says(table: Table, rng: Rng, few: int) -> None:
    rows, third = rng.integers(0, table.rows, (2, 20)), rng.integers(0, table.rows, 7)
    wanted = np.array([shown(table, np.concatenate((rows, np.full((1, 20), row)))) for row in third])
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


def test_numbers_beside_missing_ones_cost_what_they_span_and_a_leaf() -> None:
    """Before, they cost as much as up to the highest of all, and a class of low numbers was the dearest."""
    found = measure_of(table_of(numeric([0, 5, 10, None, None], "x", weight=3.0)))

    def cost(*rows: int) -> float:
        places = [each[list(rows)] for each in found.places]
        return float(
            found.cost([each.min(keepdims=True) for each in places], [each.max(keepdims=True) for each in places])[0]
        )

    assert cost(0, 1) == pytest.approx(1.5)
    assert cost(0, 3) == cost(2, 4) == pytest.approx(3 / 4)
    assert cost(0, 1, 3) == pytest.approx(1.5 + 3 / 4)
    assert cost(3, 4) == cost(1) == pytest.approx(0, abs=1e-6)


@settings(max_examples=some(40))
@given(tables(), seeds)
def test_leaves_that_are_too_many_for_a_table_cost_the_same(table: Table, rng: Rng) -> None:
    for attribute in table.attributes:
        if not isinstance(attribute.domain, Taxonomy):
            continue
        codes = attribute.codes.astype(np.int64)
        tabled, leaves = axis_of(attribute.domain, codes, 2.0), np.unique(codes)
        assert isinstance(tabled, TaxonomyAxis)
        many = ManyLeavesAxis(tabled.places, attribute.domain, 2.0, leaves, tabled.first, tabled.last)
        low, high, third = rng.integers(0, len(leaves), (3, 30))
        scale, room = rng.random(30, np.float32), np.empty((len(codes), 30), np.float32)
        every = tabled.places[:, None]
        assert many.cost(low, high) == pytest.approx(tabled.cost(low, high))
        low, high = np.minimum(low, high), np.maximum(low, high)
        assert many.joined(low, high, third) == pytest.approx(tabled.joined(low, high, third))
        assert many.line(low) == pytest.approx(tabled.line(low))
        spread = tabled.spread(low, high, every, scale, room.copy(), room.copy())
        assert many.spread(low, high, every, scale, room, room.copy()) == pytest.approx(spread)


def test_no_table_is_made_of_many_leaves() -> None:
    leaves = TABLED_LEAVES + 1
    domain = taxonomy(*(f"l{n} g{n // 64} *" for n in range(leaves)), name="c")
    axis = axis_of(domain, np.arange(leaves), 1.0)
    assert isinstance(axis, ManyLeavesAxis)
    left, right = axis.around(axis.places, axis.places * 0, axis.places * 0 + leaves - 1, np.random.default_rng(0))
    assert (left <= axis.places).all() and (axis.places <= right).all()
