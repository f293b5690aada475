"""Costs among some rows: they are those of the domains, whatever the shape and the way they are asked for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import refining
from anonymize.algorithms.clustering import codes_of
from anonymize.algorithms.refining import (
    TABLED_LEAVES,
    TABLED_NUMBERS,
    BoxMeasure,
    ManyLeavesAxis,
    NumericAxis,
    RoundedAxis,
    TaxonomyAxis,
    axis_of,
)
from anonymize.algorithms.refining.rows import axes_of
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.table import Table
from tests.algorithms.clustering.slow import shown_of
from tests.algorithms.tables import numeric, seeds, table_of, tables, taxonomy
from tests.common.oracle import widest_step
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
        patch.setattr(refining, "PLACES_TABLED", few)
        found = measure_of(table)
        ends = [np.sort(places[rows], axis=0) for places in found.places]
        left, right = [end[0] for end in ends], [end[1] for end in ends]
        joined = found.joined(left, right, [places[third][:, None] for places in found.places])
        scale, offset = rng.random(20, np.float32), rng.random(20, np.float32)
        crossed = found.crossing(left, right, scale, offset)(third)
    assert joined == pytest.approx(wanted, abs=1e-5)
    assert crossed == pytest.approx(wanted * scale - offset, abs=1e-4)


@settings(max_examples=some(60))
@given(tables(), seeds)
def test_rows_lie_as_far_apart_as_their_box_costs_more_than_the_one_alone(table: Table, rng: Rng) -> None:
    one, other = rng.integers(0, table.rows, (2, 20))
    found = measure_of(table)
    for axis in found.axes:
        apart = axis.between(axis.places[one], axis.places[other])
        alone = axis.between(axis.places[one], axis.places[one])
        box = axis.joined(axis.places[one], axis.places[one], axis.places[other])
        assert apart - alone == pytest.approx(box - axis.cost(axis.places[one], axis.places[one]), abs=1e-5)


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


@settings(max_examples=some(40))
@given(st.lists(st.integers(-50, 90), min_size=1, max_size=80, unique=True), st.booleans(), seeds)
def test_rounded_intervals_cost_what_they_do_on_average(values: list[int], whole: bool, rng: Rng) -> None:
    """Wherever an interval of this width lies on its grid: nothing is gained by a lowest value that is on it."""
    numbers = np.array(sorted(values)) if whole else np.array(sorted(values)) / 4 + 0.25
    domain, codes = Numeric("x", numbers, rounds=True), rng.permutation(len(values))
    axis = axis_of(domain, codes, 2.0)
    assert isinstance(axis, RoundedAxis)
    low, high = np.sort(rng.integers(0, len(values), (2, 30)), axis=0)
    third = rng.integers(0, len(values), 30)
    span = float(numbers[-1] - numbers[0]) or 1.0
    wanted = []
    for width in (numbers[high] - numbers[low]).tolist():
        step = max(widest_step(Fraction(width) / 4), 2 if domain.whole else 0) if width else 0
        wanted.append(2 * min((width + max(step - domain.whole, 0)) / span, 1.0))
    assert axis.cost(low, high) == pytest.approx(wanted, abs=1e-6)
    assert axis.joined(low, high, third) == pytest.approx(axis.cost(np.minimum(low, third), np.maximum(high, third)))
    assert axis.line(low) == pytest.approx(2 * domain.cost(low * 0, low), abs=1e-6)
    left, right = axis.around(low, low * 0, low * 0 + len(values) - 1, rng)
    assert (left <= low).all() and (low <= right).all()


def test_missing_values_alone_have_no_ends() -> None:
    """Of a column whose ends stay within nodes, which missing values have none of."""
    ages = np.array([1, 2])
    domain = Numeric("x", ages, "?", fences=(ages, ages + 1), rounds=True)
    axis = axis_of(domain, np.array([2, 2]), 1.0)
    assert axis.cost(axis.places, axis.places).tolist() == [0, 0]


def test_no_table_is_made_of_many_numbers() -> None:
    domain = Numeric("x", np.arange(TABLED_NUMBERS + 1), rounds=True)
    assert isinstance(axis_of(domain, np.arange(domain.size), 1.0), NumericAxis)
    assert isinstance(axis_of(domain, np.arange(domain.size - 1), 1.0), RoundedAxis)


def test_no_table_is_made_of_many_leaves() -> None:
    leaves = TABLED_LEAVES + 1
    domain = taxonomy(*(f"l{n} g{n // 64} *" for n in range(leaves)), name="c")
    axis = axis_of(domain, np.arange(leaves), 1.0)
    assert isinstance(axis, ManyLeavesAxis)
    left, right = axis.around(axis.places, axis.places * 0, axis.places * 0 + leaves - 1, np.random.default_rng(0))
    assert (left <= axis.places).all() and (axis.places <= right).all()
