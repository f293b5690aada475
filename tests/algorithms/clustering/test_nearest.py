"""The nearest groups, pruned, are those that a scan of all groups finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.clustering import GroupBoxes, Penalty, codes_of
from anonymize.algorithms.clustering import merging as module
from anonymize.algorithms.clustering.merging import nearest
from anonymize.classes import Partition
from anonymize.table import Table
from tests.algorithms.clustering.slow import classes, exact
from tests.algorithms.tables import seeds, tables
from tests.examples import some


@settings(max_examples=some(60))
@given(tables(max_rows=80), st.integers(1, 40), st.integers(1, 6), st.sampled_from([(2, 3, 4), (24, 48, 160)]), seeds)
def test_the_nearest_are_those_of_a_scan(
    table: Table, groups: int, m: int, tuning: tuple[int, int, int], rng: np.random.Generator
) -> None:
    partition = Partition.of_labels(rng.integers(0, groups, table.rows))
    codes, penalty = codes_of(table.attributes), Penalty.of(table.attributes)
    boxes = GroupBoxes.of(codes, partition)
    queries = np.flatnonzero(rng.random(boxes.count) < 0.7)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in zip(("BLOCK", "QUERIES", "FIRST_LOOK"), tuning, strict=True):
            patch.setattr(module, name, value)
        found = [nearest(penalty, boxes, queries, m, threads) for threads in (1, 3)]
    assert np.array_equal(found[0].groups, found[1].groups) and np.array_equal(found[0].ncp, found[1].ncp)
    rows = classes(partition.order, partition.starts)
    for query, near, ncp in zip(queries.tolist(), found[0].groups.tolist(), found[0].ncp.tolist(), strict=True):
        others = sorted(
            (exact(penalty, codes, rows[query] + rows[other]), len(rows[other]), other)
            for other in range(boxes.count)
            if other != query
        )[:m]
        assert [group for group in near if group >= 0] == [other for _, _, other in others]
        assert [cost for cost in ncp if cost < np.inf] == [cost for cost, _, _ in others]
