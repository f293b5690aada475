"""Parts are cut in two as a plain loop over the rows would, whether they go together or by themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.clustering import Penalty, codes_of
from anonymize.algorithms.clustering import bisect as module
from anonymize.algorithms.clustering.bisect import JOINS, bisect
from anonymize.algorithms.clustering.bisect import seeds as far_rows
from anonymize.classes import Partition, starts_of
from anonymize.table import Table
from tests.algorithms.clustering.slow import assign, classes
from tests.algorithms.tables import seeds, tables
from tests.examples import some


@settings(max_examples=some(80))
@given(tables(max_rows=80), st.integers(1, 4), st.sampled_from([0, 10**9]), st.sampled_from(sorted(JOINS)), seeds)
def test_rows_join_one_after_the_other(
    table: Table, parts: int, alone: int, join: str, rng: np.random.Generator
) -> None:
    labels = np.sort(rng.integers(0, parts, table.rows))
    sizes = np.bincount(labels)
    sizes = sizes[sizes > 1]
    if not len(sizes):
        return
    rows = rng.permutation(table.rows)[: sizes.sum()]
    penalty, codes = Penalty.of(table.attributes), codes_of(table.attributes)[:, rows]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ALONE", alone)
        patch.setattr(module, "AHEAD", (3, 8))
        side = module._sides(penalty, codes, sizes, 3, JOINS[join])
    starts = starts_of(sizes)
    for part, (u, v) in enumerate(zip(*(found.tolist() for found in far_rows(penalty, codes, starts, 3)), strict=True)):
        mine = range(starts[part], starts[part + 1])
        first, second = assign(penalty, codes, (u, v), [row for row in mine if row not in (u, v)], join)
        assert np.flatnonzero(~side[mine.start : mine.stop]).tolist() == sorted(np.array(first) - mine.start)
        assert np.flatnonzero(side[mine.start : mine.stop]).tolist() == sorted(np.array(second) - mine.start)


@settings(max_examples=some(40))
@given(tables(), st.integers(1, 9), st.integers(1, 3), seeds)
def test_no_group_has_more_than_k_rows_but_equal_ones(
    table: Table, k: int, parts: int, rng: np.random.Generator
) -> None:
    start = Partition.of_labels(rng.integers(0, parts, table.rows))
    codes = codes_of(table.attributes)
    told: list[int] = []
    found = bisect(Penalty.of(table.attributes), codes, start, k, 3, "rise", np.random.default_rng(1), told.append)
    part = start.class_of(table.rows)
    assert sorted(found.order.tolist()) == list(range(table.rows))
    for group in classes(found.order, found.starts):
        assert len(set(part[group].tolist())) == 1
        assert len(group) <= k or (codes[:, group] == codes[:, group[:1]]).all()
    assert sum(told) == table.rows
