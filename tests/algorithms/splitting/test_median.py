"""Cuts near a wanted number of rows, against every boundary there is."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.algorithms.splitting.median import nearest_cut, parting_cut, parting_order
from anonymize.table import Table
from tests.algorithms.tables import batch_of, narrow, nearest_below, seeds, tables

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
