"""Penalties of boxes and of unions against what the leaves say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import clustering
from anonymize.algorithms import clustering as module
from anonymize.algorithms.clustering import JOINS, GroupBoxes, Penalty, UnionPenalties, bisect, codes_of
from anonymize.algorithms.clustering import seeds as far_rows
from anonymize.classes import Partition, starts_of
from anonymize.table import Table
from tests.algorithms.clustering.slow import assign, classes, ncp_of, shown_of
from tests.algorithms.tables import categorical, numeric, seeds, table_of, tables, taxonomy
from tests.examples import some


@st.composite
def grouped(draw: st.DrawFn) -> tuple[Table, Partition]:
    table = draw(tables())
    return table, Partition.of_labels(draw(seeds).integers(0, draw(st.integers(1, 12)), table.rows))


@given(grouped(), st.sampled_from([0, 3, 512]), st.sampled_from([0, 1024]))
def test_boxes_and_unions_cost_what_their_rows_say(
    drawn: tuple[Table, Partition], table_size: int, paired: int
) -> None:
    table, partition = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clustering, "TABLE_SIZE", table_size)
        patch.setattr(clustering, "PAIRED_BOXES", paired)
        penalty = Penalty.of(table.attributes)
        boxes = GroupBoxes.of(codes_of(table.attributes), partition)
        everyone = np.arange(boxes.count)
        unions = UnionPenalties(penalty, boxes)(everyone, everyone) * (boxes.sizes[:, None] + boxes.sizes)
    groups = classes(partition.order, partition.starts)
    assert boxes.ncp(penalty).tolist() == pytest.approx([ncp_of(table, group) for group in groups])
    for first in everyone:
        for second in everyone[everyone != first]:
            assert unions[first, second] == pytest.approx(ncp_of(table, groups[first] + groups[second]))


def test_ends_that_cross_cost_nothing() -> None:
    table = table_of(numeric([0, 5, 10]), categorical(["a", "b", "a"], taxonomy("a *", "b *")))
    low, high = np.array([[0, 2], [1, 0]], np.int32), np.array([[2, 0], [0, 1]], np.int32)
    assert Penalty.of(table.attributes)(low, high).tolist() == [1.0, 1.0]


def test_a_hierarchy_counts_the_leaves_under_the_closest_common_ancestor() -> None:
    """As in the paper's example 2: d and e are five edges apart, a and d four, and yet d and e lose less together."""
    domain = taxonomy("a r", "b v y x r", "c v y x r", "d y x r", "e w z x r", "f z x r", "g r")
    table = table_of(categorical(list("abcdefg"), domain))
    penalty, codes = Penalty.of(table.attributes), codes_of(table.attributes)

    def pair(first: str, second: str) -> float:
        two = codes[:, ["abcdefg".index(first), "abcdefg".index(second)]]
        return float(penalty(two.min(axis=1), two.max(axis=1)))

    assert pair("b", "c") == pytest.approx(2 / 7)
    assert pair("d", "e") == pytest.approx(5 / 7)
    assert pair("a", "d") == pair("a", "f") == 1.0


@given(grouped())
def test_what_a_class_will_read_as_is_what_it_is_said_to_cost(drawn: tuple[Table, Partition]) -> None:
    table, partition = drawn
    found = clustering.shown_ncp(table.attributes, codes_of(table.attributes), partition)
    groups = classes(partition.order, partition.starts)
    assert found.tolist() == pytest.approx([shown_of(table, group) for group in groups])


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
        patch.setattr(module, "LEAST_AHEAD", 3)
        patch.setattr(module, "MOST_AHEAD", 8)
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
