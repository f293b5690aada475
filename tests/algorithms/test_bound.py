"""The bound: never above what the best of all partitions loses, and above the floor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import bound as bounds
from anonymize.algorithms.bound import loss_bound
from anonymize.classes import Partition
from anonymize.table import Table
from tests.algorithms.clustering.slow import partitions, shown_of
from tests.algorithms.tables import (
    categorical,
    k_anonymity,
    numeric,
    requirement,
    sensitive,
    table_of,
    tables,
    taxonomy,
)
from tests.examples import some


def least(table: Table, k: int, *, suppressing: bool = False) -> float:
    """gcp of the best of all partitions into classes of at least k rows, of all rows or, `suppressing`, of any."""
    cells = table.rows * len(table.attributes)
    every = list(range(table.rows))
    kept = [every]
    if suppressing:
        kept = [[row for row in every if (chosen >> row) & 1] for chosen in range(2**table.rows)]
    lost: list[float] = []
    for rows in kept:
        hidden = (table.rows - len(rows)) * len(table.attributes)
        if not rows:
            lost.append(float(hidden))
        elif len(rows) >= k:
            lost += [hidden + sum(shown_of(table, group) for group in groups) for groups in partitions(rows, k)]
    return min(lost) / cells


def unweighted(table: Table) -> Table:
    return replace(table, attributes=tuple(replace(each, weight=1.0) for each in table.attributes))


@settings(max_examples=some(150), deadline=None)
@given(tables(max_rows=8), st.integers(1, 4))
def test_it_is_never_above_the_best_of_all_partitions(table: Table, k: int) -> None:
    if table.rows < k:
        return
    bound = loss_bound(table, (k_anonymity(k),))
    assert bound.floor is not None and bound.bound is not None
    assert bound.floor <= bound.bound <= least(unweighted(table), k) + 1e-12


@settings(max_examples=some(60), deadline=None)
@given(tables(max_rows=6), st.integers(2, 3))
def test_rows_that_are_suppressed_do_not_get_below_it(table: Table, k: int) -> None:
    bound = loss_bound(table, (k_anonymity(k),), suppressing=True)
    assert bound.bound is not None
    assert bound.bound <= least(unweighted(table), k, suppressing=True) + 1e-12


def test_whoever_is_far_from_all_takes_others_along() -> None:
    """The far row costs 1, and so does whoever is in its class: the floor lets the others pay for themselves alone."""
    table = table_of(numeric([0, 0, 0, 0, 100], "x"))
    bound = loss_bound(table, (k_anonymity(2),))
    assert bound.floor == pytest.approx(1 / 5)
    assert bound.bound == pytest.approx(2 / 5)
    assert loss_bound(table, (k_anonymity(2),), suppressing=True).bound == pytest.approx(1 / 5)


def test_it_is_near_where_classes_lie_apart() -> None:
    table = table_of(numeric([0, 1, 10, 11, 20, 21], "x"))
    assert loss_bound(table, (k_anonymity(2),)).bound == pytest.approx(1 / 21)


def test_a_class_has_one_label_in_each_category() -> None:
    """Each other row differs from the first in one attribute; whoever takes two of them pays for two."""
    domains = [taxonomy("a *", "b *", name=name) for name in "xyz"]
    rows = ["aaa", "baa", "aba", "aab"]
    columns = [categorical([row[place] for row in rows], domain) for place, domain in enumerate(domains)]
    bound = loss_bound(table_of(*columns), (k_anonymity(3),))
    assert bound.floor == pytest.approx(2 / 3)


def test_the_largest_size_that_is_required_counts() -> None:
    table = replace(table_of(numeric([0, 1, 2, 9, 10, 11], "x")), sensitive=(sensitive(list("abcabc"), "s"),))
    both = (k_anonymity(2), requirement("distinct-l-diversity", "s", l=3))
    assert loss_bound(table, both).k == 3
    assert loss_bound(table, both).bound == loss_bound(table, (k_anonymity(3),)).bound


def test_wide_columns_are_worked_out_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    values = [None if gone else x for x, gone in zip(rng.random(40), rng.random(40) < 0.2, strict=True)]
    table = table_of(numeric(values, "x"), numeric(rng.random(40).tolist(), "y"))
    before = loss_bound(table, (k_anonymity(3),))
    monkeypatch.setattr(bounds, "LARGEST_TABLE", 4)
    monkeypatch.setattr(bounds, "MOST_VECTORS", 1)
    monkeypatch.setattr(bounds, "VECTORS_OF_A_ROW", 1)
    assert loss_bound(table, (k_anonymity(3),)) == before


def test_it_is_not_worked_out_where_it_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_PAIRS", 99)
    assert loss_bound(table_of(numeric(list(range(10)), "x")), (k_anonymity(2),)).block(0.5) == {
        "k": 2,
        "floor": None,
        "gcp": None,
        "above": None,
    }


def test_what_classes_lose_is_above_it() -> None:
    rng = np.random.default_rng(5)
    table = table_of(*(numeric(rng.integers(0, 50, 60).tolist(), name) for name in "xy"))
    gcp = sum(shown_of(table, rows.tolist()) for rows in np.split(Partition.of_labels(np.arange(60) // 3).order, 20))
    block = loss_bound(table, (k_anonymity(3),)).block(gcp / 120)
    assert block["above"] is not None and block["above"] > 0
