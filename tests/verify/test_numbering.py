"""Columns put together as numbers, against tuples: whatever the pieces, and however soon numbers are packed anew."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.verify.numbering import MOST, Numbering, numbers_below, pair, together

Rows = list[tuple[int, ...]]
SPANS = (3, 90, 2, 7)
LIMITS = st.sampled_from([2, 30, 200, MOST])


def columns_of(rows: Rows) -> list[Numbering]:
    columns = [pl.Series([row[place] for row in rows], dtype=pl.UInt32) for place in range(len(SPANS))]
    return [Numbering(column, span) for column, span in zip(columns, SPANS, strict=True)]


@st.composite
def drawn(draw: st.DrawFn) -> Rows:
    """Rows, neighbours of which are alike or not."""
    rows = draw(st.lists(st.tuples(*(st.integers(0, min(span, 4) - 1) for span in SPANS)), max_size=40))
    return sorted(rows) if draw(st.booleans()) else rows


def ranks_of(rows: Rows) -> list[int]:
    places = {row: place for place, row in enumerate(sorted(set(rows)))}
    return [places[row] for row in rows]


@given(drawn(), st.sampled_from([1, 3, 8, 1 << 20]), LIMITS)
def test_dense_numbers_of_all_columns_with_their_counts(rows: Rows, piece: int, most: int) -> None:
    numbers = together(columns_of(rows), piece, most)
    assert numbers.of_row.to_list() == ranks_of(rows)
    assert numbers.dense is numbers if rows else numbers.counts is None
    runs = numbers.runs()
    assert dict(runs.iter_rows()) == Counter(ranks_of(rows))
    assert runs["value"].is_sorted()


@given(drawn(), st.sampled_from([1, 3, 8, 1 << 20]), LIMITS)
def test_rows_that_no_other_agrees_with(rows: Rows, piece: int, most: int) -> None:
    sizes = Counter(rows)
    below = [sum(size for size in sizes.values() if size < limit) for limit in (2, 4)]
    assert numbers_below(columns_of(rows), (2, 4), piece, most) == below


@given(drawn(), LIMITS)
def test_a_pair_is_ordered_by_the_first_then_the_second(rows: Rows, most: int) -> None:
    first, second, *_ = columns_of(rows)
    joined, span = pair(first, second, most)
    assert joined.dense.of_row.to_list() == ranks_of([row[:2] for row in rows])
    owners = (joined.of_row // span).rank("dense") - 1
    assert owners.to_list() == ranks_of([row[:1] for row in rows])


@pytest.mark.parametrize("piece", [2, 4])
def test_a_number_of_more_rows_than_a_piece_is_not_parted(piece: int) -> None:
    same = Numbering(pl.Series([5, 5, 5, 5, 1], dtype=pl.UInt32), 6)
    other = Numbering(pl.Series([0, 1, 0, 2, 0], dtype=pl.UInt8), 3)
    assert numbers_below([same], (2,), piece) == [1]
    assert numbers_below([same, other], (2,), piece) == [3]
