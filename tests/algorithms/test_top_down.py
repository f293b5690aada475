"""Top-down as a whole: the paper's example, its options, and the best of all partitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import ALGORITHMS, top_down
from anonymize.algorithms.base import Context
from anonymize.algorithms.clustering import Penalty, codes_of, methods
from anonymize.classes import Partition
from anonymize.errors import InfeasibleError
from anonymize.table import Table
from tests.algorithms.clustering.slow import classes, ncp_of, optimum
from tests.algorithms.tables import k_anonymity, numeric, requirement, sensitive, table_of, tables
from tests.examples import some

FACTOR = 6
"""On tables of up to eight rows it loses at most so many times what the best partition loses."""


def run(
    table: Table, k: int, seed: int | None = 3, threads: int = 1, options: top_down.Options | None = None
) -> list[list[int]]:
    context = Context(seed=seed, threads=threads)
    found = top_down.run(table, (k_anonymity(k),), options or top_down.Options(refine=False), context)
    assert not len(found.suppressed)
    return classes(found.partition.order, found.partition.starts)


def mixed(rows: int = 400, weight: float = 1.0) -> Table:
    columns = np.random.default_rng(7).integers(0, 90, (3, rows)).tolist()
    return table_of(numeric(columns[0], "x", weight), numeric(columns[1], "y"), numeric(columns[2], "z"))


@pytest.mark.parametrize("seed", range(5))
def test_two_groups_of_three_are_found(seed: int) -> None:
    table = table_of(numeric([10, 20, 15, 50, 60, 55], "x"), numeric([60, 70, 55, 20, 10, 15], "y"))
    assert run(table, 3, seed) == [[0, 1, 2], [3, 4, 5]]


@settings(max_examples=some(60))
@given(tables(max_rows=8, max_attributes=3), st.integers(2, 4))
def test_it_loses_at_most_a_few_times_the_optimum(table: Table, k: int) -> None:
    if table.rows < k:
        return
    lost, best = sum(ncp_of(table, group) for group in run(table, k)), optimum(table, k)
    assert best - 1e-9 <= lost <= FACTOR * best + 1e-9


@settings(max_examples=some(40))
@given(tables(), st.integers(1, 8), st.integers(0, 9), st.integers(1, 6), st.sampled_from(["rise", "row", "sum"]))
def test_classes_have_k_to_less_than_two_k_rows(table: Table, k: int, seed: int, rounds: int, join: str) -> None:
    if table.rows < k:
        return
    options = top_down.Options(rounds, join, refine=False)
    groups = run(table, k, seed, options=options)
    assert sorted(row for group in groups for row in group) == list(range(table.rows))
    assert all(k <= len(group) < 2 * k for group in groups)
    assert run(table, k, seed, threads=3, options=options) == groups


@settings(max_examples=some(30))
@given(tables())
def test_k_of_all_rows_is_one_class_and_more_is_infeasible(table: Table) -> None:
    assert run(table, table.rows) == [list(range(table.rows))]
    with pytest.raises(InfeasibleError):
        run(table, table.rows + 1)


def test_the_seed_is_all_that_is_random() -> None:
    table = mixed()
    assert run(table, 5, 1) == run(table, 5, 1) != run(table, 5, 2)
    assert run(table, 5, None) == run(table, 5, 0)


def test_joining_where_the_loss_rises_least_loses_less_than_keeping_sums_even() -> None:
    table = mixed()
    rise, row, total = (
        sum(ncp_of(table, group) for group in run(table, 5, options=top_down.Options(3, join, refine=False)))
        for join in ("rise", "row", "sum")
    )
    assert rise < row < total


def test_a_heavier_attribute_loses_less() -> None:
    def lost(weight: float) -> float:
        return sum(ncp_of(table_of(mixed().attributes[0]), group) for group in run(mixed(weight=weight), 5))

    assert lost(4.0) < lost(2.0) < lost(1.0)


def test_parts_to_start_from_are_cut_apart() -> None:
    table = mixed(200)
    start = Partition.of_labels(np.arange(200) // 100)
    found = methods.top_down(Penalty.of(table.attributes), codes_of(table.attributes), 5, 0, start=start)
    assert sorted(found.order.tolist()) == list(range(200))
    crossing = [group for group in classes(found.order, found.starts) if group[0] < 100 <= group[-1]]
    assert len(crossing) < found.count / 2


def test_other_models_hold() -> None:
    table = table_of(numeric(list(range(12))), sensitive=[sensitive(list("aaaaaabbbbbb"))])
    wanted = (k_anonymity(2), requirement("distinct-l-diversity", "s", l=2))
    found = top_down.run(table, wanted, top_down.Options(refine=False), Context())
    for group in classes(found.partition.order, found.partition.starts):
        assert len(set(table.sensitive[0].codes[group].tolist())) == 2


def test_equal_rows_are_one_part_that_is_cut_evenly() -> None:
    assert sorted(len(group) for group in run(table_of(numeric([4] * 35)), 10)) == [10, 10, 15]


def test_it_is_registered() -> None:
    assert ALGORITHMS["top-down"] is top_down
    assert top_down.NEEDS.family.name == "local" and "weights" in top_down.NEEDS.uses
