"""Bottom-up as a whole: the paper's examples, the plain method, and the best of all partitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import ALGORITHMS, bottom_up
from anonymize.algorithms.base import Context
from anonymize.algorithms.bottom_up import is_within_parts
from anonymize.algorithms.clustering import Penalty, codes_of, methods
from anonymize.algorithms.clustering.methods import split_large
from anonymize.classes import Partition
from anonymize.errors import InfeasibleError, UsageError
from anonymize.table import Table
from tests.algorithms.clustering.slow import classes, merge_round, ncp_of, optimum
from tests.algorithms.tables import k_anonymity, numeric, requirement, sensitive, table_of, tables
from tests.examples import some

FACTOR = 6
"""On tables of up to eight rows it loses at most so many times what the best partition loses."""


def run(table: Table, k: int, threads: int = 1) -> list[list[int]]:
    found = bottom_up.run(table, (k_anonymity(k),), bottom_up.Options(refine=False), Context(threads=threads))
    assert not len(found.suppressed)
    return classes(found.partition.order, found.partition.starts)


def six_points(weight: float = 1.0) -> Table:
    """Six points a ... f as in the paper's figure 2: three near each other, and three others."""
    return table_of(numeric([10, 20, 15, 50, 60, 55], "x", weight), numeric([60, 70, 55, 20, 10, 15], "y"))


def test_two_groups_of_three_lose_less_than_three_pairs() -> None:
    table = six_points()
    pairs = [[0, 1], [3, 4], [2, 5]]
    assert run(table, 2) == [[0, 1, 2], [3, 4, 5]]
    assert sum(ncp_of(table, group) for group in run(table, 2)) < sum(ncp_of(table, pair) for pair in pairs)


def test_local_recoding_parts_equal_rows() -> None:
    """The paper's figure 1: rows 3 and 4 are equal, and end in different groups."""
    table = table_of(
        numeric([24, 25, 30, 30, 32, 32], "age"), numeric([53712, 53711, 53711, 53711, 53712, 53713], "zip")
    )
    groups = run(table, 3)
    assert sorted(map(len, groups)) == [3, 3]
    assert sum(ncp_of(table, group) for group in groups) <= FACTOR * optimum(table, 3)


@settings(max_examples=some(40))
@given(tables(max_rows=40), st.integers(1, 7))
def test_it_is_the_plain_method(table: Table, k: int) -> None:
    if table.rows < k:
        return
    codes, penalty = codes_of(table.attributes), Penalty.of(table.attributes)
    records = list(zip(*codes.tolist(), strict=True))
    groups = [[row for row, each in enumerate(records) if each == record] for record in dict.fromkeys(records)]
    while True:
        labels = np.empty(table.rows, np.int64)
        for number, group in enumerate(groups):
            labels[group] = number
        split = split_large(penalty, codes, Partition.of_labels(labels), k)
        groups = classes(split.order, split.starts)
        if all(len(group) >= k for group in groups):
            break
        groups = merge_round(penalty, codes, groups, k)
    assert run(table, k) == run(table, k, threads=3) == groups


@settings(max_examples=some(60))
@given(tables(max_rows=8, max_attributes=3), st.integers(2, 4))
def test_it_loses_at_most_a_few_times_the_optimum(table: Table, k: int) -> None:
    if table.rows < k:
        return
    lost, best = sum(ncp_of(table, group) for group in run(table, k)), optimum(table, k)
    assert best - 1e-9 <= lost <= FACTOR * best + 1e-9


@settings(max_examples=some(30))
@given(tables())
def test_k_of_all_rows_is_one_class_and_more_is_infeasible(table: Table) -> None:
    assert run(table, table.rows) == [list(range(table.rows))]
    with pytest.raises(InfeasibleError):
        run(table, table.rows + 1)


@settings(max_examples=some(30))
@given(tables(), st.integers(1, 8))
def test_classes_have_k_to_less_than_two_k_rows(table: Table, k: int) -> None:
    if table.rows >= k:
        assert all(k <= len(group) < 2 * k for group in run(table, k))


def test_a_round_doubles_the_smallest_group() -> None:
    rng = np.random.default_rng(4)
    table = table_of(*(numeric(rng.integers(0, 1000, 300).tolist(), name) for name in "xyz"))
    codes, penalty = codes_of(table.attributes), Penalty.of(table.attributes)
    partition = Partition.of_labels(np.arange(300))
    for rounds in range(1, 5):
        partition = methods._merged(penalty, codes, partition, 16, 1)
        assert partition.sizes.min() >= min(2**rounds, 16)


def test_a_heavier_attribute_loses_less() -> None:
    rng = np.random.default_rng(7)
    columns = rng.integers(0, 90, (3, 400)).tolist()

    def lost(weight: float) -> float:
        table = table_of(numeric(columns[0], "x", weight), numeric(columns[1], "y"), numeric(columns[2], "z"))
        plain = table_of(numeric(columns[0], "x"))
        return sum(ncp_of(plain, group) for group in run(table, 5))

    assert lost(4.0) < lost(2.0) < lost(1.0)


def test_other_models_hold() -> None:
    table = table_of(numeric(list(range(12))), sensitive=[sensitive(list("aaaaaabbbbbb"))])
    wanted = (k_anonymity(2), requirement("distinct-l-diversity", "s", l=2))
    found = bottom_up.run(table, wanted, bottom_up.Options(refine=False), Context())
    for group in classes(found.partition.order, found.partition.starts):
        assert len(set(table.sensitive[0].codes[group].tolist())) == 2


def test_rows_are_given_up_where_they_must_be() -> None:
    table = table_of(numeric(list(range(10))), sensitive=[sensitive(["a"] * 7 + ["b"] * 3)])
    wanted = (requirement("frequency-l-diversity", "s", l=2.0),)
    found = bottom_up.run(table, wanted, bottom_up.Options(refine=False), Context(4))
    assert len(found.suppressed) == 4 and found.suppressed.max() < 7
    assert sorted([*found.partition.order.tolist(), *found.suppressed.tolist()]) == list(range(10))


def test_it_is_registered() -> None:
    assert ALGORITHMS["bottom-up"] is bottom_up
    assert bottom_up.NEEDS.family.name == "local" and "weights" in bottom_up.NEEDS.uses


def test_a_table_that_is_too_large_is_searched_in_parts_and_not_whole() -> None:
    table = table_of(numeric([1, 2, 3, 3], "x"), numeric([1, 2, 3, 3], "y"))
    assert [is_within_parts(table, start, most=6) for start in ("auto", "whole", "mondrian")] == [False, False, True]
    assert [is_within_parts(table, start, most=5) for start in ("auto", "mondrian")] == [True, True]
    with pytest.raises(UsageError, match=r"3 different rows of 2 quasi-identifiers.*--start auto"):
        is_within_parts(table, "whole", most=5)


@pytest.mark.parametrize(("start", "within"), [("auto", "whole"), ("mondrian", "mondrian")])
def test_the_report_says_what_rows_were_merged_within(start: str, within: str) -> None:
    table = table_of(numeric([1, 2, 3, 4], "x"))
    found = bottom_up.run(table, (k_anonymity(2),), bottom_up.Options(start=start), Context(0))
    assert found.summary()["merged_within"] == within
