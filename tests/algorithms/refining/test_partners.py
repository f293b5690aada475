"""Partners: those whose union loses least, whether all unions are weighed or those of near classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.refining import partners as module
from anonymize.algorithms.refining.block import Block
from anonymize.algorithms.refining.measure import BoxMeasure, axis_of
from anonymize.algorithms.refining.partners import partners
from anonymize.table import Table
from tests.algorithms.tables import numeric, seeds, table_of, tables

Rng = np.random.Generator


def found(table: Table, labels: np.ndarray, free: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """The partners of each class, and what each union (classes, classes) raises the NCP by, beyond a constant of the
    class that looks for partners."""
    block = Block(BoxMeasure([axis_of(each.domain, each.codes, each.weight) for each in table.attributes]), 1)
    classes = block.classes(labels)
    rise = np.empty((classes.count, classes.count))
    for one, other in np.ndindex(rise.shape):
        joined = np.where(labels == classes.names[other], classes.names[one], labels)
        rise[one, other] = block.classes(joined).ncp.sum()
    return partners(block.measure, classes.low, classes.high, classes.sizes, free), rise


@settings(max_examples=40)
@given(tables(max_rows=40), st.integers(1, 4), st.booleans(), seeds)
def test_they_come_in_the_order_of_what_unions_lose(table: Table, k: int, exact: bool, rng: Rng) -> None:
    """Of few classes all are partners. Where middles coincide, a class may come among its own nearest, at the end."""
    labels = np.unique(rng.permutation(np.arange(table.rows) // k), return_inverse=True)[1]
    count = int(labels.max()) + 1
    if not 2 < count <= module.NEAR:
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
    kept = np.sort(rise, axis=1)[:, : module.NEAR]
    assert np.allclose(np.take_along_axis(rise, near, 1), kept, atol=1e-3)
