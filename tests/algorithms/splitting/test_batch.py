"""Classes side by side: what a batch says about them, against one class at a time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.splitting.batch import Arranging, Batch
from anonymize.table import Table
from tests.algorithms.tables import batch_of, tables, whole
from tests.examples import some

sizes_of_classes = st.lists(st.integers(1, 7), min_size=1, max_size=8)


def numbered(sizes: list[int]) -> Batch:
    """Classes of rows 0, 1, 2 ... in a row, with two columns."""
    rows = np.arange(sum(sizes))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return batch_of(labels, (rows * 7 % 11).astype(np.uint8), rows[::-1].astype(np.uint16))


@given(sizes_of_classes)
def test_classes_and_their_boxes(sizes: list[int]) -> None:
    batch = numbered(sizes)
    assert batch.count == len(sizes) and batch.starts.tolist() == [sum(sizes[:at]) for at in range(len(sizes) + 1)]
    for number in range(batch.count):
        rows = batch.rows[batch.starts[number] : batch.starts[number + 1]]
        assert np.array_equal(np.flatnonzero(batch.labels == number), rows)
        assert batch.low[number].tolist() == [min(codes[rows]) for codes in batch.columns]
        assert batch.high[number].tolist() == [max(codes[rows]) for codes in batch.columns]


@given(sizes_of_classes, st.data())
def test_codes_of_some_classes(sizes: list[int], data: st.DataObject) -> None:
    batch = numbered(sizes)
    some = sorted(data.draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1)))
    labels, codes = batch.labels_of(np.array(some)), batch.codes_of(0, np.array(some))
    rows = [row for number in some for row in np.flatnonzero(batch.labels == number).tolist()]
    assert batch.rows_of(np.array(some)).tolist() == rows
    assert labels.tolist() == [some.index(batch.labels[row]) for row in rows]
    assert codes.tolist() == batch.columns[0][rows].tolist()


@given(sizes_of_classes, st.integers(1, 30))
def test_pieces_are_neighbouring_classes_and_lose_nothing(sizes: list[int], limit: int) -> None:
    batch = numbered(sizes)
    batch.closed[:, 0] = np.arange(batch.count) % 2
    batch.attempts[:, 1] = np.arange(batch.count)
    pieces = batch.pieces(limit)
    assert np.array_equal(np.concatenate([piece.rows for piece in pieces]), batch.rows)
    for name in ("sizes", "closed", "attempts", "low", "high"):
        assert np.array_equal(np.concatenate([getattr(piece, name) for piece in pieces]), getattr(batch, name))
    assert all(len(piece.rows) <= limit or piece.count == 1 for piece in pieces)
    neighbours = pairwise(pieces)
    assert all(len(left.rows) + right.sizes[0] > limit for left, right in neighbours)


@settings(max_examples=some(30))
@given(tables(sensitive_columns=1), st.data())
def test_the_whole_of_some_rows(table: Table, data: st.DataObject) -> None:
    everyone = whole(table)
    rows = sorted(data.draw(st.sets(st.integers(0, len(everyone.rows) - 1), min_size=1)))
    some = Batch.whole(np.array(rows, np.uint32), everyone.columns, everyone.sensitive)
    assert (some.count, some.sizes.tolist(), some.rows.tolist()) == (1, [len(rows)], rows)
    assert all(np.array_equal(a, b[rows]) for a, b in zip(some.columns, everyone.columns, strict=True))
    assert np.array_equal(some.sensitive[0], everyone.sensitive[0][rows])


def in_order(places: list[int]) -> Arranging:
    return lambda columns: [codes.take(places) for codes in columns]


def test_other_classes_of_the_same_rows_know_what_their_parent_was_refused() -> None:
    batch = numbered([3, 2])
    batch.closed[0, 1] = True
    taken = batch.take(in_order([1, 0, 2, 4, 3]), np.array([1, 2, 2]), np.array([0, 0, 1]), np.zeros((3, 2), np.uint8))
    assert taken.rows.tolist() == [1, 0, 2, 4, 3] and taken.sizes.tolist() == [1, 2, 2]
    assert taken.closed.tolist() == [[False, True], [False, True], [False, False]]
    assert np.array_equal(taken.columns[0], batch.columns[0][[1, 0, 2, 4, 3]])


def test_a_settled_column_is_no_longer_carried_and_its_code_stays_known() -> None:
    batch = batch_of([0, 0, 0, 1, 1], np.array([4, 4, 4, 7, 7], np.uint8), np.array([1, 2, 3, 5, 6], np.uint16))
    none = np.zeros((4, 2), np.uint8)
    order, sizes, parents = in_order([2, 0, 1, 4, 3]), np.array([1, 2, 1, 1]), np.array([0, 0, 1, 1])
    taken = batch.take(order, sizes, parents, none)
    assert [len(codes) for codes in taken.columns] == [0, 5]
    assert taken.low.tolist() == [[4, 3], [4, 1], [7, 6], [7, 5]]
    assert taken.high.tolist() == [[4, 3], [4, 2], [7, 6], [7, 5]]
    assert [piece.low.tolist() for piece in taken.pieces(3)] == [[[4, 3], [4, 1]], [[7, 6], [7, 5]]]


def test_who_looks_at_rows_is_given_the_codes_of_settled_columns_too() -> None:
    rows = np.array([3, 2, 0, 1])
    batch = batch_of(np.array([0, 0, 1, 1]), np.array([5, 5, 6, 6], np.uint8), np.array([1, 2, 2, 3], np.uint16))
    assert batch.unsettled is batch
    after = batch.take(in_order(rows.tolist()), np.array([2, 2]), np.array([1, 0]), batch.attempts)
    again = after.take(in_order([1, 0, 3, 2]), np.array([2, 2]), np.array([0, 1]), after.attempts)
    kept = [codes[rows][[1, 0, 3, 2]].tolist() for codes in batch.columns]
    assert [len(codes) for codes in again.columns] == [0, 4]
    assert [codes.tolist() for codes in again.unsettled.columns] == kept


@given(sizes_of_classes, st.data())
def test_codes_that_were_ranked_are_those_of_the_cut(sizes: list[int], data: st.DataObject) -> None:
    batch = numbered(sizes)
    some = np.array(sorted(data.draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1))))
    batch.ranked(0, some, 11, np.zeros(len(some), np.int64))
    for classes in (some, some[:1], np.arange(batch.count)):
        assert np.array_equal(batch.cut_codes(0, classes), batch.codes_of(0, classes))
