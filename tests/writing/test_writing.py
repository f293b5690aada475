"""The order of a sorted release: cells by their text alone, rows column by column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.domain.cells import CellFormat
from anonymize.writing import ComparedTexts, RankedColumn, SortColumn, cell_ranks, most_differ, rows_ranked, sorted_rows

CELLS = [None, "", "a", "b", "é", "1", "02", "2", "10", "-3", "z z", " 2", "1e1", "-0", "0", "*", "1e999", "nan"]
INTERVAL = "[{low}-{high}]"


def ranked(texts: Sequence[str | None], interval: str | None = None) -> list[str | None]:
    """Texts in the order of their ranks."""
    ranks = cell_ranks(
        pl.Series(texts, dtype=pl.String), None if interval is None else CellFormat(interval, None, frozenset())
    )
    assert sorted(ranks) == list(range(len(texts)))
    return [texts[place] for place in np.argsort(ranks)]


def test_null_then_numbers_by_value_then_texts_by_their_bytes() -> None:
    expected = [None, "-3", "-0", "0", "1", " 2", "02", "2", "10", "1e1", "", "*", "1e999", "a", "b", "nan", "z z", "é"]
    assert ranked(CELLS) == ranked(CELLS[::-1]) == expected


def test_cells_that_read_the_same_have_the_same_rank() -> None:
    """As in a typed file what is missing and what is suppressed do, both being null."""
    cells = pl.Series([None, 7, None, 3, 7], dtype=pl.Int64)
    for written in (None, CellFormat(INTERVAL, None, frozenset())):
        assert cell_ranks(cells, written).tolist() == [0, 2, 0, 1, 2]
        assert cell_ranks(cells.cast(pl.String), written).tolist() == [0, 2, 0, 1, 2]


def test_intervals_by_their_ends_in_quasi_identifiers_alone() -> None:
    cells = ["[5-10)", "[5-9]", "7", "[4-40]", "5", "*", "[10-12]", "?"]
    assert ranked(cells, INTERVAL) == ["[4-40]", "5", "[5-9]", "[5-10)", "7", "[10-12]", "*", "?"]
    assert ranked(cells) == ["5", "7", "*", "?", "[10-12]", "[4-40]", "[5-10)", "[5-9]"]


def test_intervals_are_those_of_the_template() -> None:
    assert ranked(["9..10", "[8-9]", "10..11", "7"], "{low}..{high}") == ["7", "9..10", "10..11", "[8-9]"]


def test_what_may_be_missing_is_sorted_by_its_numbers() -> None:
    written = CellFormat(INTERVAL, None, frozenset(), or_missing=frozenset({"", "?", "-9"}))
    expected = [None, "-9", "[0-9]", "[0-9] or ?", "0+ or missing", "1 or -9", "7", "?", "[0-9] or so"]
    cells = expected[::-1]
    ranks = cell_ranks(pl.Series(cells, dtype=pl.String), written)
    assert [cells[place] for place in np.argsort(ranks)] == expected


def test_ends_alone_tell_cells_apart_where_no_two_have_the_same() -> None:
    cells = ["z", "[9-12]", None, "3", "[3-4]", "*", "2.5", None]
    written = CellFormat(INTERVAL, None, frozenset())
    assert cell_ranks(pl.Series(cells), written).tolist() == [6, 4, 0, 2, 3, 5, 1, 0]
    assert cell_ranks(pl.Series(["[9-12]", "3"]), written).tolist() == [1, 0]


def test_no_cells_have_no_ranks() -> None:
    assert not len(cell_ranks(pl.Series([], dtype=pl.String), CellFormat(INTERVAL, None, frozenset())))


def key(cell: str | None) -> tuple[object, ...]:
    if cell is None:
        return (0,)
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    return (1, value, cell.encode()) if math.isfinite(value) else (2, cell.encode())


@given(st.data())
def test_rows_are_sorted_column_by_column(data: st.DataObject) -> None:
    rows = data.draw(st.integers(0, 40))
    columns = [data.draw(st.lists(st.sampled_from(CELLS), min_size=rows, max_size=rows)) for _ in range(4)]
    given = [_sort_column(column, data) for column in columns]
    order = arranged(iter(given), rows, data.draw(st.sampled_from([1, 5, 1 << 20])))
    assert sorted(order) == list(range(rows))
    shown = [(*(key(column[row]) for column in columns), row) for row in order]
    assert shown == sorted(shown)  # equal ones as they come


def arranged(columns: Iterable[SortColumn], rows: int, together: int = 1 << 20) -> list[int]:
    return [row for part in sorted_rows(columns, rows, together) for row in part.tolist()]


def _sort_column(cells: list[str | None], data: st.DataObject) -> SortColumn:
    """A column by its texts or its ranks, some of them so far apart that they do not fit into one number."""
    if data.draw(st.booleans()):
        return ComparedTexts(pl.Series(cells, dtype=pl.String))
    distinct = list(dict.fromkeys(cells))
    codes = np.array([distinct.index(cell) for cell in cells], np.int64)
    column = RankedColumn.of(codes, pl.Series(distinct, dtype=pl.String))
    apart = data.draw(st.sampled_from([1, 1 << 30, 1 << 40]))
    ranks = column.ranks.astype(np.int64) * apart
    return RankedColumn(ranks, column.size * apart, codes)


def test_columns_are_not_asked_for_once_all_rows_differ() -> None:
    asked = []

    def columns() -> object:
        for number in range(3):
            asked.append(number)
            yield ComparedTexts(pl.Series(["b", "c", "a"]))

    assert arranged(columns(), 3) == [2, 0, 1]  # type: ignore[arg-type]
    assert asked == [0, 1]


def test_ranks_that_are_all_used_are_not_all_different() -> None:
    last = RankedColumn(np.array([3, 3, 3, 3]), 4)
    assert arranged([last, RankedColumn(np.array([3, 2, 1, 0]), 4)], 4) == [3, 2, 1, 0]


def test_rows_of_equal_ranks_have_one_rank() -> None:
    assert rows_ranked([np.array([1, 0, 1, 1]), np.array([0, 5, 0, 2])]).tolist() == [1, 0, 1, 2]


@pytest.mark.parametrize(("distinct", "differ"), [(10, False), (5000, True)])
def test_columns_of_which_most_texts_differ(distinct: int, differ: bool) -> None:
    assert most_differ(pl.Series([str(row % distinct) for row in range(5000)])) is differ
