"""The reader of released cells: by hand, and against what domains write."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.domain.cells import (
    INTERVALS,
    NUMBER,
    CellFormat,
    CellKind,
    ReadCells,
    escaped,
    members,
    numbers,
    read_cells,
    unescaped,
)
from anonymize.domain.numeric import Numeric, included, template
from anonymize.recoding.spans import Spans
from anonymize.spec import Output

TEMPLATES = ["[{low}-{high}]", "{low}..{high}", "[{low}, {high}[", "from {low}\nto {high}", "({low} | {high}]"]
FORMAT = CellFormat("[{low}-{high}]", "*", frozenset({"?", "-99"}))


def read(
    low: str | None, high: str | None = "same", *, numeric: bool = True, written: CellFormat = FORMAT
) -> ReadCells:
    first, last = (pl.Series([text], dtype=pl.String) for text in (low, low if high == "same" else high))
    return read_cells(first, last, written, numeric=numeric)


@pytest.mark.parametrize(
    ("text", "kind", "ends"),
    [
        ("*", CellKind.SUPPRESSED, (None, None)),
        ("?", CellKind.MISSING, (None, None)),
        ("-99", CellKind.MISSING, (None, None)),
        (None, CellKind.MISSING, (None, None)),
        (" +09 ", CellKind.NUMBER, ("+09", "+09")),
        (".5", CellKind.NUMBER, (".5", ".5")),
        ("5.", CellKind.NUMBER, ("5.", "5.")),
        ("1E+3", CellKind.NUMBER, ("1E+3", "1E+3")),
        ("[5-9]", CellKind.INTERVAL, ("5", "9")),
        ("[.5-.9]", CellKind.INTERVAL, (".5", ".9")),
        ("[-3--1]", CellKind.INTERVAL, ("-3", "-1")),
        ("[1e-3-7]", CellKind.INTERVAL, ("1e-3", "7")),
        ("[5-9)", CellKind.HALF_OPEN, ("5", "9")),
        ("[5-9]\n", CellKind.LABEL, (None, None)),
        ("(5-9]", CellKind.LABEL, (None, None)),
        ("[5-x]", CellKind.LABEL, (None, None)),
        ("5-9", CellKind.LABEL, (None, None)),
        ("1e999", CellKind.LABEL, (None, None)),
        ("[1-1e999]", CellKind.LABEL, (None, None)),
        ("inf", CellKind.LABEL, (None, None)),
        ("٣", CellKind.LABEL, (None, None)),
        ("", CellKind.LABEL, (None, None)),
        ("{5|9}", CellKind.LABEL, (None, None)),
    ],
)
def test_cells_of_numbers(text: str | None, kind: CellKind, ends: tuple[str | None, str | None]) -> None:
    cells = read(text)
    assert (CellKind(cells.kind[0]), (cells.low[0], cells.high[0])) == (kind, ends)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("*", CellKind.SUPPRESSED),
        (None, CellKind.MISSING),
        ("-99", CellKind.MISSING),
        ("30", CellKind.LABEL),
        ("[5-9]", CellKind.LABEL),
        ("{a|b}", CellKind.SET),
        ("{a\n|b}", CellKind.SET),
        ("{", CellKind.LABEL),
        (r"\{a}", CellKind.LABEL),
    ],
)
def test_cells_of_categories(text: str | None, kind: CellKind) -> None:
    cells = read(text, numeric=False)
    assert (CellKind(cells.kind[0]), cells.low[0], cells.high[0]) == (kind, None, None)


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [
        ("5", "9", CellKind.INTERVAL),
        ("5", "5", CellKind.NUMBER),
        ("*", "*", CellKind.SUPPRESSED),
        ("?", None, CellKind.MISSING),
        ("*", "9", CellKind.LABEL),
        ("5", "?", CellKind.OPEN),
        ("5", "x", CellKind.LABEL),
        ("[5-9]", "9", CellKind.LABEL),
        ("[5-9]", "[5-9)", CellKind.LABEL),
    ],
)
def test_pairs_of_bounds(low: str | None, high: str | None, kind: CellKind) -> None:
    assert read(low, high).kind[0] == kind


def test_a_set_in_two_columns_that_differ_is_a_label() -> None:
    assert read("{a|b}", "{a|c}", numeric=False).kind[0] == CellKind.LABEL


def test_nothing_is_suppressed_where_no_text_says_so() -> None:
    cells = read(None, written=CellFormat("[{low}-{high}]", None, frozenset()))
    assert cells.kind[0] == CellKind.MISSING


def test_closed_ends_leave_out_the_upper_end_of_a_half_open_interval_and_nothing_of_what_is_unknown() -> None:
    texts = pl.Series(["7", "[5-9]", "[5-9)", "*", "x", None])
    low, high = read_cells(texts, texts, FORMAT, numeric=True).closed()
    assert low.tolist() == [7, 5, 5, -np.inf, -np.inf, -np.inf]
    assert high.tolist() == [7, 9, np.nextafter(9, 0), np.inf, np.inf, np.inf]


def test_no_cells() -> None:
    none = pl.Series([], dtype=pl.String)
    cells = read_cells(none, none, FORMAT, numeric=True)
    assert len(cells.kind) == len(cells.low) == len(cells.closed()[0]) == 0


def test_columns_that_are_typed() -> None:
    column = pl.Series([1, None, -99])
    assert read_cells(column, column, FORMAT, numeric=True).kind.tolist() == [3, 2, 2]


# --- what is written is read ------------------------------------------------------------------------------------------


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(
    values=st.lists(FINITE, min_size=1, max_size=4, unique=True) | st.lists(st.integers(-(2**53), 2**53), min_size=1),
    interval=st.sampled_from(TEMPLATES),
)
def test_intervals_as_domains_write_them(values: list[float], interval: str) -> None:
    distinct = np.unique(np.array(values) + 0)
    domain = Numeric("x", distinct.astype(np.int64) if distinct.dtype.kind == "i" else distinct)
    low, high = (each.ravel() for each in np.triu_indices(domain.size))
    texts = pl.Series(Spans.of(domain, low, high).intervals(Output(interval=interval, edges="tight")))
    cells = read_cells(texts, texts, CellFormat(interval, "*", frozenset()), numeric=True)
    ends = included(interval) or (True, True)
    assert cells.kind.tolist() == np.where(low == high, CellKind.NUMBER, INTERVALS[ends]).tolist()
    assert cells.low.cast(pl.Float64).to_list() == domain.values[low].tolist()
    assert cells.high.cast(pl.Float64).to_list() == domain.values[high].tolist()


@given(low=FINITE, high=FINITE, interval=st.sampled_from(TEMPLATES))
def test_half_open_intervals_as_they_are_written(low: float, high: float, interval: str) -> None:
    text = template(interval, half_open=True)(repr(low), repr(high))
    cells = read(text, written=CellFormat(interval, "*", frozenset()))
    with_low, with_high = included(interval) or (True, True)
    assert cells.kind[0] == INTERVALS[with_low, with_high and not interval.endswith("]")]
    assert (float(cells.low[0]), float(cells.high[0])) == (low, high)


@pytest.mark.parametrize(
    ("interval", "text", "lowest", "highest"),
    [
        ("[{low}, {high}[", "[20, 30[", 20, np.nextafter(30, 0)),
        ("[{low}, {high}[", "[20, 30]", 20, 30),
        ("[{low}, {high})", "[20, 30)", 20, np.nextafter(30, 0)),
        ("({low}, {high}]", "(20, 30]", np.nextafter(20, 30), 30),
        ("({low}, {high}]", "[20, 30]", 20, 30),
        ("]{low}, {high}]", "]20, 30]", np.nextafter(20, 30), 30),
        ("]{low}; {high}[ years", "]20; 30[ years", np.nextafter(20, 30), np.nextafter(30, 0)),
        ("[ {low}, {high} )", "[ 20, 30 )", 20, np.nextafter(30, 0)),
        ("[{low}-{high}]", "(20-30]", -np.inf, np.inf),
        ("{low} to under {high}", "20 to under 30", 20, 30),
    ],
)
def test_brackets_say_which_ends_belong_to_an_interval(interval: str, text: str, lowest: float, highest: float) -> None:
    low, high = read(text, written=CellFormat(interval, "*", frozenset())).closed()
    assert (low[0], high[0]) == (lowest, highest)


@given(st.text("0123456789.eE+-x ", max_size=8))
def test_the_pattern_of_numbers_and_their_reading_agree(text: str) -> None:
    value = numbers(pl.Series([text]))[0]
    matched = re.fullmatch(NUMBER, text.strip()) is not None
    assert (value is not None) == (matched and np.isfinite(float(text)))
    assert value is None or value == float(text)


def test_numbers_keep_the_name_and_take_typed_columns() -> None:
    assert numbers(pl.Series("x", [1.5, None, float("nan"), float("inf")])).to_list() == [1.5, None, None, None]
    assert numbers(pl.Series("x", ["1"])).name == "x"


@given(st.lists(st.text(r"ab\|{}", max_size=4), min_size=1, max_size=4))
def test_sets_as_they_are_written(values: list[str]) -> None:
    assert members("{" + "|".join(map(escaped, values)) + "}") == values
    assert unescaped(escaped(values[0])) == values[0]


def test_what_another_tool_did_not_escape_stands_for_itself() -> None:
    assert unescaped("a|b\\") == "a|b\\"
    assert members("{a{|b\\}") == ["a{", "b\\"]


@given(
    low=FINITE, templates=st.sampled_from([("{low}+", "{high}-"), ("ab {low}", "bis {high}"), (">={low}", "<={high}")])
)
def test_intervals_with_an_open_end(low: float, templates: tuple[str, str]) -> None:
    high, below = (each.replace("{low}", repr(low)).replace("{high}", repr(low)) for each in templates)
    column = pl.Series([high, below])
    cells = read_cells(column, column, CellFormat("[{low}-{high}]", "*", frozenset(), *templates), numeric=True)
    assert cells.kind.tolist() == [CellKind.OPEN] * 2 and cells.numeric.all()
    assert [ends.tolist() for ends in cells.closed()] == [[low, -math.inf], [math.inf, low]]


def test_numbers_or_missing() -> None:
    texts = pl.Series(["[20-60] or ?", "77+ or ?", "4 or missing", "* or ?", "tea or ?", "4"])
    cells = read_cells(texts, texts, CellFormat("[{low}-{high}]", "*", frozenset({"?"})), numeric=True)
    kinds = [CellKind.INTERVAL, CellKind.OPEN, CellKind.NUMBER, CellKind.LABEL, CellKind.LABEL, CellKind.NUMBER]
    assert cells.kind.tolist() == kinds and cells.maybe.tolist() == [True, True, True, False, False, False]


def test_bounds_with_an_open_end_and_beside_missing_values() -> None:
    low = pl.Series(["1", None, "5", "*", ""])
    high, maybe = pl.Series(["2", "7", "", "*", ""]), pl.Series(["maybe", "no", "maybe", "*", "yes"])
    cells = read_cells(low, high, CellFormat("[{low}-{high}]", "*", frozenset({""})), numeric=True, maybe=maybe)
    kinds = [CellKind.INTERVAL, CellKind.OPEN, CellKind.OPEN, CellKind.SUPPRESSED, CellKind.MISSING]
    assert cells.kind.tolist() == kinds and cells.maybe.tolist() == [True, False, True, False, False]
    assert [ends[:3].tolist() for ends in cells.closed()] == [[1, -math.inf, 5], [2, 7, math.inf]]


CELLS = [
    "*",
    "?",
    "",
    None,
    " +09 ",
    "1e999",
    "[5-9]",
    "[5-9)",
    "[5-9] or ?",
    "5 or ?",
    "a or ?",
    "77+",
    "77-",
    "{a|b}",
    "{",
    "x",
]


@pytest.mark.parametrize("numeric", [True, False])
@pytest.mark.parametrize("lasts", [CELLS, [None, *CELLS[:-1]], ["9"] * len(CELLS), [None] * len(CELLS)])
def test_few_cells_read_as_they_do_among_many(lasts: list[str | None], *, numeric: bool) -> None:
    some = pl.Series(CELLS, dtype=pl.String)
    others = some if lasts is CELLS else pl.Series(lasts, dtype=pl.String)
    many = pl.concat([some] * 50)
    more = many if others is some else pl.concat([others] * 50)
    few = read_cells(some, others, FORMAT, numeric=numeric)
    among_many = read_cells(many, more, FORMAT, numeric=numeric)
    assert few.kind.tolist() * 50 == among_many.kind.tolist()
    assert few.maybe.tolist() * 50 == among_many.maybe.tolist()
    assert few.low.to_list() * 50 == among_many.low.to_list()
    assert few.high.to_list() * 50 == among_many.high.to_list()


def test_texts_that_were_read_before_say_the_same_beside_others() -> None:
    """In another order, under another way of writing, and where more texts were read than are remembered."""
    read_before = cells_of_numbers(["[5-9]", "7", None, "*"])
    assert cells_of_numbers(["*", "x", "[5-9]", "7"])[1:3] == [(CellKind.LABEL, None, None), read_before[0]]
    assert cells_of_numbers([f"{number}" for number in range(400)])[7] == read_before[1]
    assert cells_of_numbers([f"{number}.5" for number in range(400)])[7] == (CellKind.NUMBER, "7.5", "7.5")
    assert cells_of_numbers([f"{number}.25" for number in range(400)])[7] == (CellKind.NUMBER, "7.25", "7.25")
    assert cells_of_numbers(["[5-9]"], replace(FORMAT, interval="{low} to {high}")) == [(CellKind.LABEL, None, None)]
    assert cells_of_numbers(["*", None, "[5-9]"]) == [read_before[3], read_before[2], read_before[0]]


def cells_of_numbers(texts: list[str | None], written: CellFormat = FORMAT) -> list[tuple[int, str | None, str | None]]:
    column = pl.Series(texts, dtype=pl.String)
    cells = read_cells(column, column, written, numeric=True)
    return list(zip(cells.kind.tolist(), cells.low, cells.high, strict=True))
