"""Groups of 2k rows and more are cut into as many groups as they can make."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonymize.algorithms.clustering import GroupBoxes, Penalty, codes_of
from anonymize.algorithms.clustering import seeds as far_rows
from anonymize.algorithms.clustering.methods import split_large
from anonymize.classes import Partition
from anonymize.table import Table
from tests.algorithms.clustering.slow import classes, exact
from tests.algorithms.tables import numeric, seeds, table_of, tables


@given(tables(), st.integers(1, 6), st.integers(1, 5), seeds)
def test_every_group_makes_as_many_as_it_can(table: Table, k: int, groups: int, rng: np.random.Generator) -> None:
    before = Partition.of_labels(rng.integers(0, groups, table.rows))
    codes, penalty = codes_of(table.attributes), Penalty.of(table.attributes)
    after = split_large(penalty, codes, before, k)
    assert sorted(after.order.tolist()) == list(range(table.rows))
    parent = before.class_of(table.rows)
    parts = classes(after.order, after.starts)
    for group, size in enumerate(before.sizes.tolist()):
        mine = [part for part in parts if parent[part[0]] == group]
        assert all((parent[part] == group).all() for part in mine)
        assert len(mine) == max(size // k, 1)
        assert size < k or all(k <= len(part) < 2 * k for part in mine)
    total = [GroupBoxes.of(codes, each).ncp(penalty).sum() for each in (after, before)]
    assert total[0] <= total[1] * (1 + 1e-12)


def test_the_cut_is_where_the_sides_lose_least() -> None:
    table = table_of(numeric([9, 0, 1, 8, 2, 10, 11]))
    whole = Partition.of_labels(np.zeros(7, np.int64))
    found = split_large(Penalty.of(table.attributes), codes_of(table.attributes), whole, 3)
    assert classes(found.order, found.starts) == [[0, 3, 5, 6], [1, 2, 4]]


@given(tables(), st.integers(1, 4), seeds, st.integers(1, 5))
def test_seeds_are_the_last_pair_that_gained(table: Table, parts: int, rng: np.random.Generator, rounds: int) -> None:
    partition = Partition.of_labels(rng.integers(0, parts, table.rows))
    if partition.sizes.min() < 2:
        return
    codes, penalty = codes_of(table.attributes), Penalty.of(table.attributes)
    arranged = codes[:, partition.order]
    first, second = far_rows(penalty, arranged, partition.starts, rounds)
    for (start, stop), u, v in zip(pairwise(partition.starts.tolist()), first.tolist(), second.tolist(), strict=True):
        at, best = start, (-1.0, start, start)
        for _ in range(rounds):
            others = [row for row in range(start, stop) if row != at]
            far = -max((exact(penalty, arranged, [at, row]) / 2, -row) for row in others)[1]
            reached = exact(penalty, arranged, [at, far]) / 2
            if reached <= best[0]:
                break
            best, at = (reached, at, far), far
        assert (u, v) == best[1:]


def test_equal_rows_are_cut_evenly() -> None:
    table = table_of(numeric([1] * 100))
    whole = Partition.of_labels(np.zeros(100, np.int64))
    found = split_large(Penalty.of(table.attributes), codes_of(table.attributes), whole, 9)
    assert found.count == 11 and found.sizes.min() == 9
