"""Exchanges: rows and sizes are kept, models hold, the weighing is exact, and a bad start becomes a good one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.clustering.run import met_by
from anonymize.algorithms.deadline import Deadline, Resources
from anonymize.algorithms.refining import BoxMeasure, axis_of, exchanges
from anonymize.algorithms.refining.block import Block
from anonymize.algorithms.refining.exchanges import exchange
from anonymize.table import Table
from tests.algorithms.tables import k_anonymity, numeric, requirement, seeds, sensitive, table_of, tables
from tests.examples import some

Rng = np.random.Generator
COLD = (1e-9, 1e-9)
HOT = (0.5, 0.05)


def block_of(table: Table, k: int, met: bool = False) -> Block:
    axes = [axis_of(each.domain, each.codes, each.weight) for each in table.attributes]
    wanted = (k_anonymity(k), requirement("distinct-l-diversity", "s", l=2))
    check = met_by(table, wanted, np.arange(table.rows, dtype=np.uint32)) if met else None
    return Block(BoxMeasure(axes), k, check)


def classes_of(rows: int, k: int, rng: Rng) -> np.ndarray:
    """Random classes of at least k rows."""
    return rng.permutation(np.arange(rows) * max(rows // (k + 1), 1) // rows)


def ncp(block: Block, labels: np.ndarray) -> float:
    return float(block.classes(labels).ncp.sum())


@settings(max_examples=some(120))
@given(tables(max_rows=80), st.integers(1, 6), st.sampled_from([COLD, HOT]), seeds)
def test_rows_and_sizes_are_kept(table: Table, k: int, heat: tuple[float, float], rng: Rng) -> None:
    if table.rows < k:
        return
    block, labels = block_of(table, k), classes_of(table.rows, k, rng)
    after = exchange(block, labels, 6, heat, Resources(rng))
    assert np.bincount(after)[np.unique(after)].min() >= k
    if heat == COLD:
        assert ncp(block, after) <= ncp(block, labels) + 1e-3


@settings(max_examples=some(120))
@given(tables(max_rows=60), st.integers(1, 4), seeds)
def test_what_is_weighed_is_what_happens(table: Table, k: int, rng: Rng) -> None:
    """Every change of a pair is made, and the NCP changes by what was weighed."""
    if table.rows < 2 * (k + 1):
        return
    block, labels = block_of(table, k), classes_of(table.rows, k, rng)
    classes = block.classes(labels)
    boxes, width = exchanges._Boxes.of(block), int(classes.sizes.max()) + 1
    members = exchanges.ClassRows.of(boxes, classes, np.arange(classes.count), width)
    pair = np.array([[0, 1]])
    weighed, one, other = boxes.weighed(members, pair, rng)
    change = weighed[..., 0]
    for out, back in np.argwhere(np.isfinite(change))[:40].tolist():
        trial = exchanges.ClassRows(boxes, members.rows.copy(), members.sizes.copy())
        trial._make(pair[:, 0], pair[:, 1], one[out], other[back])
        after = labels.copy()
        after[trial.rows[trial.there]] = np.repeat(classes.names, trial.sizes)
        assert trial.sizes.min() >= k
        assert abs(ncp(block, after) - ncp(block, labels) - change[out, back]) < 1e-3 * (1 + table.rows)


@settings(max_examples=some(80))
@given(tables(max_rows=60), st.integers(2, 4), seeds)
def test_models_still_hold(table: Table, k: int, rng: Rng) -> None:
    table = replace(table, sensitive=(sensitive(rng.choice(list("abc"), table.rows).tolist(), "s"),))
    if table.rows < k:
        return
    block, labels = block_of(table, k, met=True), classes_of(table.rows, k, rng)
    assert block.met is not None

    def held(of: np.ndarray) -> np.ndarray:
        return block.met(np.arange(table.rows), of, int(of.max()) + 1)  # type: ignore[misc]

    if held(labels).all():
        assert held(exchange(block, labels, 6, HOT, Resources(rng))).all()


def test_a_random_start_becomes_a_good_one() -> None:
    places = np.random.default_rng(5).permutation(400).tolist()
    block = block_of(table_of(numeric(places, "x")), 5)
    labels = np.random.default_rng(6).permutation(np.arange(400) // 5)
    after = exchange(block, labels, 120, (0.25, 0.005), Resources(np.random.default_rng(7)))
    assert ncp(block, after) < 0.1 * ncp(block, labels)


def test_the_same_for_any_map() -> None:
    places = np.random.default_rng(5).integers(0, 300, 400).tolist()
    block = block_of(table_of(numeric(places, "x")), 5)
    labels = np.arange(400) // 5

    def backwards(work: Any, each: Any) -> list[Any]:
        return [work(index) for index in list(each)[::-1]][::-1]

    one, other = (
        exchange(block, labels, 10, HOT, Resources(np.random.default_rng(1), run=run)) for run in (map, backwards)
    )
    assert np.array_equal(one, other)


def test_no_sweep_begins_after_the_deadline() -> None:
    block = block_of(table_of(numeric(list(range(40)), "x")), 5)
    labels = np.arange(40) % 8
    assert np.array_equal(exchange(block, labels, 10, HOT, Resources(np.random.default_rng(1), Deadline(1e-9))), labels)
