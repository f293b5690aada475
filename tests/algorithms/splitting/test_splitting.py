"""The row of a rank in each class, against sorting every class, whichever way it is found."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.splitting import (
    ONE_BY_ONE_ROWS,
    Arranging,
    Batch,
    counted_statistic,
    nearest_cut,
    order_statistic,
    parting_cut,
    parting_order,
)
from anonymize.classes import PIECE_COUNTED, ROWS_EACH, Runs
from anonymize.table import Table
from tests.algorithms.tables import batch_of, narrow, nearest_below, seeds, tables, whole
from tests.examples import some


@pytest.mark.parametrize(
    "sizes", [[3, 1, 40, 7], [3 * ONE_BY_ONE_ROWS, ONE_BY_ONE_ROWS, 2 * ONE_BY_ONE_ROWS + 1]]
)  # sorted, and one by one
@pytest.mark.parametrize("size", [3, 200, 60_000])  # counted, where codes are few
def test_the_code_of_a_rank_and_the_rows_around_it(sizes: list[int], size: int) -> None:
    random = np.random.default_rng(size)
    classes = [random.integers(0, size, rows) for rows in sizes]
    codes = np.concatenate(classes).astype(np.min_scalar_type(size))
    rank = np.array([0, *(rows // 2 for rows in sizes[1:-1]), sizes[-1] - 1])
    expected = [sorted(own.tolist())[place] for own, place in zip(classes, rank.tolist(), strict=True)]
    below = [int((own < code).sum()) for own, code in zip(classes, expected, strict=True)]
    upto = [int((own <= code).sum()) for own, code in zip(classes, expected, strict=True)]
    runs = Runs.count_classes(np.array(sizes), codes, size)
    for found in (
        order_statistic(codes, np.array(sizes), size, rank),
        counted_statistic(runs, np.array(sizes), rank),
    ):
        assert [column.tolist() for column in found] == [expected, below, upto]


@pytest.mark.parametrize("sizes", [[ROWS_EACH, ROWS_EACH + 3], [5 * PIECE_COUNTED + 1], [2, 2 * ROWS_EACH]])
@pytest.mark.parametrize("size", [7, 3 * PIECE_COUNTED])
def test_classes_of_many_rows_are_counted_one_by_one_as_all_are(sizes: list[int], size: int) -> None:
    codes = np.random.default_rng(size).integers(0, size, sum(sizes)).astype(np.uint32)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    runs, expected = (
        Runs.count_classes(np.array(sizes), codes, size),
        Runs.count_values(labels, codes, len(sizes), size),
    )
    for one, other in ((runs.classes, expected.classes), (runs.codes, expected.codes), (runs.counts, expected.counts)):
        assert np.array_equal(one, other) and one.dtype == other.dtype


def test_keys_that_need_more_than_32_bits() -> None:
    sizes, size = np.array([2, 3, 2]), 1 << 31
    codes = np.array([size - 1, 5, 7, size - 2, 9, 0, size - 1], np.uint32)
    code, below, upto = order_statistic(codes, sizes, size, np.array([1, 1, 1]))
    assert (code.tolist(), below.tolist(), upto.tolist()) == ([size - 1, 9, size - 1], [1, 1, 1], [2, 2, 2])


# --- batch ------------------------------------------------------------------------------------------------------------

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


# --- median -----------------------------------------------------------------------------------------------------------

SIZE = 12
classes_of_codes = st.lists(
    st.lists(st.one_of(st.integers(0, SIZE - 1), st.integers(3, 4)), min_size=2, max_size=14), min_size=1, max_size=5
)


def place(function: Any, rows: list[list[int]], wanted: list[int], minimum: int, size: int = SIZE) -> list[Any]:
    """What a function says about all classes but the first and, as a selection, about all: both have to agree."""
    labels = [label for label, codes in enumerate(rows) for _ in codes]
    batch = batch_of(labels, narrow([code for codes in rows for code in codes]))
    everyone = np.arange(len(rows))
    found = function(batch, 0, size, everyone, np.array(wanted), minimum)
    if len(rows) > 1:
        some = function(batch, 0, size, everyone[1:], np.array(wanted[1:]), minimum)
        assert all(np.array_equal(a[1:], b) for a, b in zip(found, some, strict=True))
    return [column.tolist() for column in found]


@pytest.mark.parametrize("size", [SIZE, 10_000])  # counted in a table, and sorted
@given(rows=classes_of_codes, minimum=st.integers(1, 4), data=st.data())
def test_nearest_allowed_boundary(size: int, rows: list[list[int]], minimum: int, data: st.DataObject) -> None:
    rows = [codes for codes in rows if len(codes) >= 2 * minimum] or [[0] * 4 * minimum]
    wanted = [data.draw(st.integers(minimum, len(codes) - minimum)) for codes in rows]
    cuts, ties, fits = place(nearest_cut, rows, wanted, minimum, size)
    for codes, want, cut, tie, fit in zip(rows, wanted, cuts, ties, fits, strict=True):
        expected = nearest_below(codes, want, minimum)
        assert fit == (expected is not None) and tie == 0
        if fit:
            assert sum(code < cut for code in codes) == expected and min(codes) < cut <= max(codes)


@pytest.mark.parametrize("size", [SIZE, 10_000])
@given(rows=classes_of_codes, minimum=st.integers(1, 4), data=st.data())
def test_parting_cut_gives_the_first_side_what_is_wanted(
    size: int, rows: list[list[int]], minimum: int, data: st.DataObject
) -> None:
    wanted = [data.draw(st.integers(1, len(codes) - 1)) for codes in rows]
    cuts, ties, fits = place(parting_cut, rows, wanted, minimum, size)
    for codes, want, cut, tie, fit in zip(rows, wanted, cuts, ties, fits, strict=True):
        assert cut == sorted(codes)[want - 1]
        assert sum(code < cut for code in codes) + tie == want and 1 <= tie <= codes.count(cut)
        assert fit == (minimum <= want <= len(codes) - minimum)


@pytest.mark.parametrize("minimum", [1, 10, 30])
@pytest.mark.parametrize(("zeros", "ones"), [(70, 30), (30, 70)])
def test_a_value_that_holds_most_rows_is_cut_off_on_either_side(zeros: int, ones: int, minimum: int) -> None:
    assert place(nearest_cut, [[0] * zeros + [1] * ones], [50], minimum, 2) == [[1], [0], [True]]


def test_a_value_that_holds_too_many_rows_is_not() -> None:
    assert place(nearest_cut, [[0] * 70 + [1] * 30], [50], 31, 2)[2] == [False]


def test_the_upper_boundary_is_taken_at_a_tie() -> None:
    assert place(nearest_cut, [[0, 1, 1, 2]], [2], 1)[0] == [2]


@pytest.mark.parametrize(
    ("codes", "minimum", "cut"),
    [
        ([0, 1, 1, 1, 2], 1, 2),  # 1 is nearer
        ([0, 1, 1, 1, 2], 2, None),
        ([0, 0, 1, 1, 2], 2, 1),  # 2 is not allowed
        ([1, 2, 2, 2, 3, 3], 1, 2),
        ([1, 1, 3, 3, 3, 5], 2, 2),
    ],
)
def test_a_preferred_boundary_is_taken_before_a_nearer_one(codes: list[int], minimum: int, cut: int | None) -> None:
    even = np.arange(SIZE + 1) % 2 == 0
    cuts, _, fits = place(partial(nearest_cut, preferred=even), [codes], [2], minimum)
    assert (cuts[0] if fits[0] else None) == cut


def test_many_classes_of_many_leaves_need_keys_of_64_bits() -> None:
    rows = [[7, 7, 8, 9], [0, 2, 4, 6]]
    for size in (SIZE, 2**32):
        assert place(nearest_cut, rows, [2, 2], 1, size) == [[8, 3], [0, 0], [True, True]]


@given(tables(max_rows=30), seeds)
def test_the_order_of_parting_is_by_the_fewest_values_first(table: Table, rng: np.random.Generator) -> None:
    rows = np.flatnonzero(rng.random(table.rows) < 0.8).astype(np.uint32)
    columns = [each.codes for each in table.attributes]
    few = sorted(columns, key=lambda codes: len(np.unique(codes[rows])))
    wanted = sorted(rows.tolist(), key=lambda row: [int(codes[row]) for codes in few] + [row])
    assert parting_order(rows, columns).tolist() == wanted
