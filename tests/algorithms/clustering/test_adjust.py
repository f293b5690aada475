"""Small groups take rows or merge, whichever leaves the lower total."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.clustering import GroupBoxes, Penalty, codes_of
from anonymize.algorithms.clustering.methods import Offers, adjust
from anonymize.classes import Partition
from anonymize.table import Table
from tests.algorithms.clustering.slow import classes, exact
from tests.algorithms.tables import numeric, seeds, table_of, tables
from tests.examples import some


def adjusted(values: list[float], labels: list[int], k: int) -> list[list[int]]:
    table = table_of(numeric(values))
    found = adjust(Penalty.of(table.attributes), codes_of(table.attributes), Partition.of_labels(np.array(labels)), k)
    return classes(found.order, found.starts)


def test_rows_are_taken_from_a_larger_group_where_that_loses_less() -> None:
    assert adjusted([0, 1, 2, 50, 98, 99, 100], [0, 0, 0, 0, 0, 1, 1], 3) == [[0, 1, 2, 3], [4, 5, 6]]


def test_groups_merge_where_that_loses_less() -> None:
    assert adjusted([0, 1, 2, 3, 90, 91, 98, 100], [0, 0, 0, 0, 1, 1, 2, 2], 3) == [[0, 1, 2, 3], [4, 5, 6, 7]]


@settings(max_examples=some(60))
@given(tables(), st.integers(1, 7), st.integers(1, 30), seeds)
def test_every_group_has_k_rows_and_none_two_k(table: Table, k: int, groups: int, rng: np.random.Generator) -> None:
    if table.rows < k:
        return
    start = Partition.of_labels(rng.integers(0, groups, table.rows))
    codes, penalty = codes_of(table.attributes), Penalty.of(table.attributes)
    found = [adjust(penalty, codes, start, k, threads) for threads in (1, 3)]
    assert sorted(found[0].order.tolist()) == list(range(table.rows))
    assert k <= found[0].sizes.min() and found[0].sizes.max() < 2 * k
    assert np.array_equal(found[0].order, found[1].order) and np.array_equal(found[0].starts, found[1].starts)


@settings(max_examples=some(60))
@given(tables(max_rows=40), st.integers(2, 6), st.integers(2, 9), seeds)
def test_the_best_offer_is_that_of_a_plain_search(table: Table, k: int, groups: int, rng: np.random.Generator) -> None:
    partition = Partition.of_labels(rng.integers(0, groups, table.rows))
    codes, penalty = codes_of(table.attributes), Penalty.of(table.attributes)
    rows = classes(partition.order, partition.starts)
    small = np.flatnonzero(partition.sizes < k)
    offers = Offers(penalty, codes, partition, GroupBoxes.of(codes, partition), k).to(small)
    for group in small.tolist():
        plain = []
        for giver in range(partition.count):
            if len(rows[giver]) < 2 * k - len(rows[group]):
                continue
            taken, left = list(rows[group]), list(rows[giver])
            while len(taken) < k:
                _, best = min((exact(penalty, codes, [*taken, row]), row) for row in left)
                taken.append(best)
                left.remove(best)
            given_rows = sorted(set(taken) - set(rows[group]))
            plain.append((exact(penalty, codes, taken), giver, given_rows, exact(penalty, codes, left)))
        assert bool(offers[group]) == bool(plain)
        if plain:
            best_ncp, giver, given_rows, rest = min(plain)
            first = offers[group][0]
            assert (first.ncp, first.giver) == (best_ncp, giver)
            assert sorted(first.rows.tolist()) == given_rows
            assert first.total == pytest.approx(best_ncp + rest)
