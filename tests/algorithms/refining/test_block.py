"""Partners: those whose union loses least, whether all unions are weighed or those of near classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.refining import BoxMeasure, axis_of
from anonymize.algorithms.refining import block as module
from anonymize.algorithms.refining.block import CARE, HASTE, PART_CLASSES, Block, Effort, cut_best, partners
from anonymize.classes import Partition
from anonymize.table import Table
from tests.algorithms.tables import numeric, seeds, table_of, tables
from tests.examples import some

Rng = np.random.Generator


def found(table: Table, labels: np.ndarray, free: bool = True, effort: Effort = CARE) -> tuple[np.ndarray, np.ndarray]:
    """The partners of each class, and what each union (classes, classes) raises the NCP by, beyond a constant of the
    class that looks for partners."""
    block = Block(BoxMeasure([axis_of(each.domain, each.codes, each.weight) for each in table.attributes]), 1)
    classes = block.classes(labels)
    rise = np.empty((classes.count, classes.count))
    for one, other in np.ndindex(rise.shape):
        joined = np.where(labels == classes.names[other], classes.names[one], labels)
        rise[one, other] = block.classes(joined).ncp.sum()
    return partners(block.measure, classes.low, classes.high, classes.sizes, free, effort), rise


@settings(max_examples=some(80))
@given(tables(max_rows=40), st.integers(1, 4), st.booleans(), seeds)
def test_they_come_in_the_order_of_what_unions_lose(table: Table, k: int, exact: bool, rng: Rng) -> None:
    """Of few classes all are partners. Where middles coincide, a class may come among its own nearest, at the end."""
    labels = np.unique(rng.permutation(np.arange(table.rows) // k), return_inverse=True)[1]
    count = int(labels.max()) + 1
    if not 2 < count <= CARE.near:
        return
    near, rise = found(table, labels, free=exact)
    assert near.shape == (count, count - 1)
    for own, others in enumerate(near):
        if exact:
            assert sorted([own, *others]) == list(range(count))
        others = others[:-1] if others[-1] == own else others
        assert own not in others
        assert (np.diff(rise[own, others]) > -1e-3 * (1 + table.rows)).all()


def test_of_all_classes_the_best_are_partners_wherever_their_middles_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unions are weighed a few at a time here; a class within another is its best partner, far as the middle may be."""
    rng = np.random.default_rng(3)
    table = table_of(*(numeric(rng.integers(0, 60, 200).tolist(), name) for name in "xy"))
    labels = rng.permutation(200) // 5
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", 100)
    near, rise = found(table, labels)
    np.fill_diagonal(rise, np.inf)
    kept = np.sort(rise, axis=1)[:, : CARE.near]
    assert np.allclose(np.take_along_axis(rise, near, 1), kept, atol=1e-3)


def test_less_work_weighs_fewer_and_gives_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the best unions are those of the nearest middles, the same come first."""
    places = np.sort(np.random.default_rng(5).permutation(1000)[:150]).tolist()
    table, labels = table_of(numeric(places, "x")), np.arange(150) // 3
    monkeypatch.setattr(module, "ALL_UNIONS", 10)
    care, haste = (found(table, labels, effort=effort)[0] for effort in (CARE, HASTE))
    assert (care.shape[1], haste.shape[1]) == (CARE.near, HASTE.near)
    assert (care[:, :8] == haste[:, :8]).all()


@pytest.mark.parametrize(("classes", "free", "fresh"), [(1024, True, 10), (1025, True, 25), (4096, True, 25)])
def test_where_to_find_partners_takes_long_they_are_kept_longer(classes: int, free: bool, fresh: int) -> None:
    assert CARE.fresh_after(classes, free) == fresh
    assert CARE.fresh_after(classes, not free) == CARE.fresh_after(classes + 4096, free) == 10
    assert HASTE.fresh_after(classes, free) == HASTE.fresh_after(classes, not free) == 25


# --- sequences --------------------------------------------------------------------------------------------------------


def measure_of(table: Table) -> BoxMeasure:
    return BoxMeasure([axis_of(each.domain, each.codes, each.weight) for each in table.attributes])


def ncp(measure: BoxMeasure, partition: Partition) -> float:
    return float(Block(measure, 1).classes(partition.class_of(measure.size).astype(np.int64)).ncp.sum())


@settings(max_examples=some(120))
@given(tables(max_rows=90), st.integers(1, 5), seeds)
def test_classes_lie_within_their_parts_and_lose_no_more(table: Table, k: int, rng: Rng) -> None:
    labels = rng.permutation(np.arange(table.rows) * max(table.rows // (4 * k), 1) // table.rows)
    parts, measure = Partition.of_labels(labels), measure_of(table)
    after = cut_best(measure, parts, k, 1)
    assert np.array_equal(np.sort(after.order), np.arange(table.rows))
    assert after.sizes.min() >= min(k, parts.sizes.min())
    own = labels[after.order]
    assert np.array_equal(own, own[after.starts[:-1]][after.labels])
    wanted = np.where(parts.sizes // k > PART_CLASSES, 1, np.maximum(parts.sizes // k, 1))
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
