"""Partners: those whose union loses least, whether all unions are weighed or those of near classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.refining import partners as module
from anonymize.algorithms.refining.block import Block
from anonymize.algorithms.refining.measure import BoxMeasure, axis_of
from anonymize.algorithms.refining.partners import CARE, HASTE, Effort, partners
from anonymize.table import Table
from tests.algorithms.tables import numeric, seeds, table_of, tables

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


@settings(max_examples=40)
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
    monkeypatch.setattr(module, "CELLS", 100)
    near, rise = found(table, labels)
    np.fill_diagonal(rise, np.inf)
    kept = np.sort(rise, axis=1)[:, : CARE.near]
    assert np.allclose(np.take_along_axis(rise, near, 1), kept, atol=1e-3)


def test_less_work_weighs_fewer_and_gives_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the best unions are those of the nearest middles, the same come first."""
    places = np.sort(np.random.default_rng(5).permutation(1000)[:150]).tolist()
    table, labels = table_of(numeric(places, "x")), np.arange(150) // 3
    monkeypatch.setattr(module, "ALL", 10)
    care, haste = (found(table, labels, effort=effort)[0] for effort in (CARE, HASTE))
    assert (care.shape[1], haste.shape[1]) == (CARE.near, HASTE.near)
    assert (care[:, :8] == haste[:, :8]).all()


@pytest.mark.parametrize(("classes", "free", "fresh"), [(1024, True, 10), (1025, True, 25), (4096, True, 25)])
def test_where_to_find_partners_takes_long_they_are_kept_longer(classes: int, free: bool, fresh: int) -> None:
    assert CARE.fresh_after(classes, free) == fresh
    assert CARE.fresh_after(classes, not free) == CARE.fresh_after(classes + 4096, free) == 10
    assert HASTE.fresh_after(classes, free) == HASTE.fresh_after(classes, not free) == 25
