"""The tree of cuts leads every row to the class that it grew into, whatever the batches and threads."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import mondrian
from anonymize.algorithms.base import Context
from anonymize.algorithms.cuts import RULES
from anonymize.algorithms.splitting import Batch
from anonymize.algorithms.splitting import grow as growing
from anonymize.algorithms.splitting import grow as module
from anonymize.algorithms.splitting.grow import AGAIN, FINISHED, Cuts, grow
from anonymize.classes import Partition
from anonymize.recoding import CutTree
from anonymize.table import Table
from tests.algorithms.tables import (
    batch_of,
    domains,
    k_anonymity,
    numeric,
    requirement,
    rule_and_batch,
    table_of,
    tables,
    whole,
    with_workload,
)
from tests.examples import some

options = st.builds(mondrian.Options, st.sampled_from(["auto", *RULES]))


def tree_of(table: Table, k: int, chosen: mondrian.Options, threads: int = 1) -> tuple[CutTree, np.ndarray]:
    found = mondrian.run(table, (k_anonymity(k),), chosen, Context(threads=threads, save=True))
    assert found.tree is not None
    return found.tree, found.partition.class_of(table.rows)


@settings(max_examples=some(100))
@given(with_workload(tables()), st.integers(1, 5), options, st.sampled_from([3, 1 << 18]))
def test_rows_go_down_to_their_class(table: Table, k: int, chosen: mondrian.Options, rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing, "BATCH_ROWS", rows)
        tree, class_of = tree_of(table, min(k, table.rows), chosen)
        assert np.array_equal(tree.classes_of([a.codes for a in table.attributes]), class_of)
        again, _ = tree_of(table, min(k, table.rows), chosen, threads=3)
    for field in dataclasses.fields(CutTree):
        assert np.array_equal(getattr(tree, field.name), getattr(again, field.name))


@settings(max_examples=some(50))
@given(with_workload(tables(max_rows=40)), options)
def test_every_cut_but_the_root_hangs_under_one_before_it(table: Table, chosen: mondrian.Options) -> None:
    tree, class_of = tree_of(table, 1, chosen)
    children = np.concatenate((tree.first, tree.second))
    parents = np.tile(np.arange(len(tree.first)), 2)
    assert (children[children >= 0] > parents[children >= 0]).all()
    classes = range(-1 - class_of.max(), 0) if len(tree.first) else []
    assert sorted(children.tolist()) == [*classes, *range(1, len(tree.first))]


def test_a_class_that_a_model_forbids_to_cut_is_a_leaf() -> None:
    table = table_of(numeric([1, 1, 2, 2, 9, 9]))
    tree, _ = tree_of(table, 3, mondrian.Options())
    assert len(tree.attribute) == 0
    assert tree.classes_of([np.array([0, 2, 2])]).tolist() == [0, 0, 0]


def test_nothing_is_taken_down_unless_asked() -> None:
    table = table_of(numeric([1, 2, 3, 4]))
    assert mondrian.run(table, (requirement("k-anonymity", k=2),), mondrian.Options(), Context()).tree is None


# --- grow -------------------------------------------------------------------------------------------------------------

minimums = st.one_of(st.integers(1, 5), st.integers(5, 40))


def grown(
    table: Table, rule: str, minimum: int, relaxed: bool = False, threads: int = 1, allowed: Any = None
) -> Partition:
    chooser, batch = rule_and_batch(rule, table, minimum, relaxed)
    return grow(batch, chooser, allowed, threads, lambda rows: None)


def rows_of(partition: Partition) -> list[Any]:
    return np.split(partition.order, partition.starts[1:-1])


def same(one: Partition, other: Partition) -> bool:
    return np.array_equal(one.order, other.order) and np.array_equal(one.starts, other.starts)


def check_rows(partition: Partition, table: Table, minimum: int) -> None:
    """Every row is in one class, in the table's order, and every class is large enough."""
    assert sorted(partition.order.tolist()) == list(range(table.rows))
    assert all(np.all(np.diff(rows.astype(np.int64)) > 0) for rows in rows_of(partition))
    assert partition.sizes.min() >= min(minimum, table.rows)


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=some(40))
@given(table=with_workload(tables()), minimum=minimums)
def test_strict_parts_values_until_no_boundary_leaves_enough_on_both_sides(
    rule: str, table: Table, minimum: int
) -> None:
    partition = grown(table, rule, minimum)
    check_rows(partition, table, minimum)
    records = list(zip(*(attribute.codes.tolist() for attribute in table.attributes), strict=True))
    class_of = partition.class_of(table.rows).tolist()
    assert len(set(zip(records, class_of, strict=True))) == len(set(records)), "equal rows stay together"
    for rows in rows_of(partition):
        for attribute in table.attributes:
            codes = attribute.codes[rows]
            below = [np.count_nonzero(codes < cut) for cut in np.unique(codes)]
            assert not any(minimum <= left <= len(rows) - minimum for left in below)


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=some(40))
@given(table=with_workload(tables()), minimum=minimums)
def test_relaxed_leaves_classes_of_twice_the_minimum_only_where_all_rows_are_equal(
    rule: str, table: Table, minimum: int
) -> None:
    partition = grown(table, rule, minimum, relaxed=True)
    check_rows(partition, table, minimum)
    for rows in rows_of(partition):
        alike = all(len(set(attribute.codes[rows].tolist())) == 1 for attribute in table.attributes)
        assert len(rows) < 2 * minimum or alike


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=some(20))
@given(
    table=with_workload(tables()),
    minimum=st.integers(1, 4),
    relaxed=st.booleans(),
    rows=st.integers(1, 20),
    picky=st.booleans(),
)
def test_batches_and_threads_do_not_show(
    rule: str, table: Table, minimum: int, relaxed: bool, rows: int, picky: bool
) -> None:
    allowed = odd_rows_together if picky else None
    wanted = grown(table, rule, minimum, relaxed, allowed=allowed)
    with patch.object(module, "BATCH_ROWS", rows):
        assert same(grown(table, rule, minimum, relaxed, 1, allowed), wanted)
        assert same(grown(table, rule, minimum, relaxed, 3, allowed), wanted)


def odd_rows_together(batch: Batch, part: Any, parts: int) -> Any:
    """A model that refuses many cuts: a part has to hold rows of every remainder by 3."""
    present = np.zeros((parts, 3), np.bool_)
    present[part, batch.rows % 3] = True
    return present.all(axis=1)


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=some(20))
@given(table=with_workload(tables()), minimum=st.integers(1, 4), relaxed=st.booleans())
def test_a_part_that_is_not_allowed_is_never_made(rule: str, table: Table, minimum: int, relaxed: bool) -> None:
    partition = grown(table, rule, minimum, relaxed, allowed=odd_rows_together)
    assert sorted(partition.order.tolist()) == list(range(table.rows))
    assert partition.count == 1 or all(set((rows % 3).tolist()) == {0, 1, 2} for rows in rows_of(partition))


def test_a_cut_that_is_refused_at_the_median_is_made_elsewhere() -> None:
    """16 rows, in which the one row that both parts need two of stands at the ends."""
    table = table_of(numeric(list(range(16))))
    needed = np.isin(np.arange(16), [0, 1, 4, 5])

    def allowed(batch: Batch, part: Any, parts: int) -> Any:
        return np.bincount(part[needed[batch.rows]], minlength=parts) >= 2

    assert grown(table, "widest", 2, allowed=allowed).sizes.tolist() == [4, 12]


def test_progress_is_told_of_every_row_once() -> None:
    table = table_of(numeric(list(range(100))))
    told: list[int] = []
    with patch.object(module, "BATCH_ROWS", 8):
        grow(whole(table), RULES["widest"](domains(table), [1.0], 3), None, 2, told.append)
    assert sum(told) == 100 and len(told) > 1


@dataclass(frozen=True)
class Given:
    """A rule that cuts the classes of the first batch as it is told, and no class of another."""

    cuts: Cuts
    seen: list[Batch]
    fewest_rows: int = 0

    def choose(self, batch: Batch) -> Cuts:
        self.seen.append(batch)
        nothing = np.zeros(batch.count, np.int64)
        return self.cuts if len(self.seen) == 1 else Cuts(nothing + FINISHED, nothing, nothing, nothing)


def test_intervals_and_shares_of_equal_rows_are_cut_side_by_side() -> None:
    batch = batch_of([0] * 5 + [1] * 6, np.array([0, 1, 2, 2, 3, 5, 4, 4, 6, 4, 4], np.uint8))
    rule = Given(Cuts(*np.array([[0, 0], [1, 0], [3, 4], [0, 3]])), [])
    found = grow(batch, rule, None, 1, lambda rows: None)
    assert [rows.tolist() for rows in rows_of(found)] == [[0, 4], [1, 2, 3], [5, 8, 10], [6, 7, 9]]


def test_parts_of_a_class_may_be_cut_where_it_could_not_be() -> None:
    batch = batch_of([0] * 4 + [1] * 2, np.arange(6, dtype=np.uint8))
    batch.attempts[:] = 2
    rule = Given(Cuts(*np.array([[0, 0], [0, 4], [2, 5], [0, 0]])), [])
    grow(batch, rule, lambda batch, part, parts: np.bincount(part, minlength=parts) > 1, 1, lambda rows: None)
    assert rule.seen[1].sizes.tolist() == [2, 2, 2]
    assert rule.seen[1].attempts.tolist() == [[0], [3], [0]]


@dataclass(frozen=True)
class Stubborn:
    """A rule that wants the same thing of every class, however often it is asked."""

    attribute: int
    stop: int
    fewest_rows: int = 0

    def choose(self, batch: Batch) -> Cuts:
        nothing = np.zeros(batch.count, np.int64)
        return Cuts(nothing + self.attribute, nothing, nothing + self.stop, nothing)


@pytest.mark.parametrize("rule", [Stubborn(0, 0), Stubborn(0, 5), Stubborn(AGAIN, 0)])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_rule_that_gets_nowhere_is_stopped(rule: Stubborn, threads: int) -> None:
    with pytest.raises(RuntimeError, match="bug"):
        grow(whole(table_of(numeric([1, 2, 3, 4, 5]))), rule, None, threads, lambda rows: None)


def test_a_rule_that_has_finished_is_asked_no_more() -> None:
    batch = whole(table_of(numeric([1, 2, 3])))
    assert grow(batch, Stubborn(FINISHED, 0), None, 1, lambda rows: None).sizes.tolist() == [3]


def test_a_class_of_too_few_rows_is_finished_as_soon_as_it_is_cut_off() -> None:
    batch = batch_of([0] * 6, np.arange(6, dtype=np.uint8))
    rule = Given(Cuts(*np.array([[0], [0], [2], [0]])), [], fewest_rows=3)
    found = grow(batch, rule, None, 1, lambda rows: None)
    assert found.sizes.tolist() == [2, 4]
    assert [each.sizes.tolist() for each in rule.seen] == [[6], [4]]
