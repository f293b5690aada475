"""Equivalence classes in batches, against loops over rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize import classes
from anonymize.classes import (
    KeyGroups,
    Partition,
    Runs,
    concatenated_ranges,
    distinct_values,
    mixed_radix,
    run_starts,
    same_rows,
    starts_of,
)

labels_of_rows = st.lists(st.integers(-3, 6), min_size=1, max_size=30)
sizes = st.lists(st.integers(0, 5), max_size=8)


def members(partition: Partition) -> list[list[int]]:
    """Rows of each class."""
    bounds = zip(partition.starts[:-1].tolist(), partition.starts[1:].tolist(), strict=True)
    return [partition.order[start:stop].tolist() for start, stop in bounds]


def expected_members(labels: list[int]) -> list[list[int]]:
    """Rows of each class, classes in the order of their first row."""
    rows: dict[int, list[int]] = {}
    for row, label in enumerate(labels):
        rows.setdefault(label, []).append(row)
    return list(rows.values())


@given(labels_of_rows)
def test_rows_of_equal_labels_are_a_class_numbered_by_its_first_row(labels: list[int]) -> None:
    partition = Partition.of_labels(np.array(labels))
    expected = expected_members(labels)
    assert members(partition) == expected
    assert partition.count == len(expected) and partition.sizes.tolist() == [len(rows) for rows in expected]
    assert partition.order.dtype == np.uint32 and partition.starts.dtype == np.int64


@given(labels_of_rows, st.randoms(use_true_random=False), st.integers(1, 4))
def test_blocks_in_any_order_are_the_same_partition(labels: list[int], random: object, pieces: int) -> None:
    rows = expected_members(labels)
    random.shuffle(rows)  # type: ignore[attr-defined]
    blocks = [rows[start::pieces] for start in range(pieces)]
    found = Partition.of_blocks(
        [np.array([row for group in block for row in group], np.uint32) for block in blocks],
        [np.array([len(group) for group in block], np.int64) for block in blocks],
    )
    wanted = Partition.of_labels(np.array(labels))
    assert np.array_equal(found.order, wanted.order) and np.array_equal(found.starts, wanted.starts)


@given(labels_of_rows, st.data())
def test_boxes_and_classes_of_rows(labels: list[int], data: st.DataObject) -> None:
    codes = np.array(data.draw(st.lists(st.integers(0, 255), min_size=len(labels), max_size=len(labels))), np.uint8)
    kept = np.array(labels) >= 0
    groups = [rows for rows in expected_members(labels) if labels[rows[0]] >= 0]
    partition = Partition.of_blocks(
        [np.array([row for rows in groups for row in rows], np.uint32)],
        [np.array([len(rows) for rows in groups], np.int64)],
    )
    expected = [next((at for at, rows in enumerate(groups) if row in rows), -1) for row in range(len(labels))]
    assert partition.class_of(len(labels)).tolist() == expected
    assert [row >= 0 for row in expected] == kept.tolist()
    if groups:
        low, high = partition.boxes(codes)
        assert low.tolist() == [min(codes[rows]) for rows in groups] and low.dtype == codes.dtype
        assert high.tolist() == [max(codes[rows]) for rows in groups]


def test_no_rows_are_no_classes() -> None:
    for empty in (Partition.of_blocks([], []), Partition.of_labels(np.empty(0, np.int64))):
        assert (empty.count, empty.sizes.tolist(), empty.class_of(2).tolist()) == (0, [], [-1, -1])


@given(sizes, st.data())
def test_ranges_one_after_the_other(lengths: list[int], data: st.DataObject) -> None:
    starts = data.draw(st.lists(st.integers(0, 50), min_size=len(lengths), max_size=len(lengths)))
    expected = [index for start, size in zip(starts, lengths, strict=True) for index in range(start, start + size)]
    found = concatenated_ranges(np.array(starts, np.int64), np.array(lengths, np.int64))
    assert found.tolist() == expected
    assert starts_of(np.array(lengths, np.int64)).tolist() == [sum(lengths[:at]) for at in range(len(lengths) + 1)]


@given(st.lists(st.integers(0, 3)))
def test_runs_begin_where_the_neighbour_differs(values: list[int]) -> None:
    expected = [at for at in range(len(values)) if at == 0 or values[at] != values[at - 1]]
    assert run_starts(np.array(values, np.int64)).tolist() == expected


@pytest.mark.parametrize("dense", [True, False])
@given(rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.integers(1, 3)), min_size=1, max_size=40))
def test_values_are_counted_by_class_and_code(dense: bool, rows: list[tuple[int, int, int]]) -> None:
    labels, codes, counts = (np.array(column) for column in zip(*rows, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classes, "DENSE", 1 << 16 if dense else 0)
        patch.setattr(classes, "DENSE_PER_ROW", 0)
        plain = Runs.count_values(labels, codes.astype(np.uint8), 5, 10)
        weighted = Runs.count_values(labels, codes.astype(np.uint16), 5, 10, counts)
    pairs = sorted({(label, code) for label, code, _ in rows})
    for runs, amounts in ((plain, np.ones_like(counts)), (weighted, counts)):
        assert list(zip(runs.classes.tolist(), runs.codes.tolist(), strict=True)) == pairs
        assert runs.counts.tolist() == [int(amounts[(labels == a) & (codes == b)].sum()) for a, b in pairs]


@given(st.lists(st.tuples(st.integers(-1, 5), st.integers(0, 9)), min_size=1, max_size=40))
def test_distinct_values_of_each_class(rows: list[tuple[int, int]]) -> None:
    labels, codes = (np.array(column) for column in zip(*rows, strict=True))
    kept = np.flatnonzero(labels >= 0).astype(np.uint32)
    rank = np.argsort(labels[kept], kind="stable")
    partition = Partition.of_blocks([kept[rank]], [np.unique(labels[kept], return_counts=True)[1]])
    found = distinct_values(partition, codes.astype(np.uint8), 10)
    assert found.tolist() == [len(set(codes[rows].tolist())) for rows in members(partition)]


@given(st.lists(st.integers(0, 5), min_size=1), st.sampled_from([6, 2**40, 2**62]))
def test_groups_are_the_same_whether_or_not_63_bits_are_enough(keys: list[int], span: int) -> None:
    grouping = KeyGroups.of(np.array(keys, np.int64), span)
    assert grouping.group.tolist() == np.unique(keys, return_inverse=True)[1].tolist()
    assert grouping.first.tolist() == [keys.index(key) for key in sorted(set(keys))]


def test_keys_of_more_than_63_bits_are_renumbered() -> None:
    columns = [np.array([0, 1, 1, 0], np.int32)] * 5
    keys, span = mixed_radix(columns, [2**30] * 5)
    assert keys[0] == keys[3] != keys[1] == keys[2]
    assert 0 <= keys.min() <= keys.max() < span < 2**63


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=12), st.sampled_from([3, 2**25]))
def test_keys_are_in_the_order_of_the_combinations(rows: list[tuple[int, ...]], size: int) -> None:
    """Whether or not they have to be renumbered on the way."""
    keys, span = mixed_radix([np.array(column, np.uint8) for column in zip(*rows, strict=True)], [size] * 3)
    ranks = {row: rank for rank, row in enumerate(sorted(set(rows)))}
    assert np.unique(keys, return_inverse=True)[1].tolist() == [ranks[row] for row in rows]
    assert keys.max() < span


def test_classes_that_are_not_kept_are_listed_apart() -> None:
    labels, kept = np.array([2, 0, 2, 1, 0]), np.array([True, False, True])
    partition, rest = Partition.of_kept(labels, kept)
    assert members(partition) == [[0, 2], [1, 4]]
    assert rest.tolist() == [3]


def test_classes_of_rows_that_go_by_other_numbers() -> None:
    partition = Partition.of_labels(np.array([1, 0, 1])).renumbered(np.array([4, 7, 9], np.uint32))
    assert members(partition) == [[4, 9], [7]]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=6), st.data())
def test_the_same_rows_in_whatever_order(rows: list[tuple[int, int]], data: st.DataObject) -> None:
    others = data.draw(st.permutations(rows) | st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=6))
    some, other = (np.array(each, np.int64).reshape(-1, 2).T for each in (rows, others))
    assert same_rows(list(some), list(other)) == (sorted(rows) == sorted(others))
