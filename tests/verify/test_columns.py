"""Texts that a reader takes for one another: by hand."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.verify.columns import NumberedColumn, ShownColumns, looking_alike, read_columns


def stands(*texts: str | None, known: bool = False) -> list[str | None]:
    return looking_alike(pl.Series(texts, dtype=pl.String), known=known).to_list()


@pytest.mark.parametrize(
    "other",
    [
        "hiv",
        " HIV\u3000",
        "H\u200eI\ufe0fV",
        "\uff28\uff29\uff36",  # full width
        "H\u0406V",  # a Cyrillic letter
        "\u043d\u0456v",  # small Cyrillic letters, whose capitals look like Latin ones
        "H\u04cfV",  # a letter that looks like I, l and 1
    ],
)
def test_of_two_that_look_alike_the_first_by_code_point_stands(other: str) -> None:
    assert stands("HIV", other, "flu") == [min("HIV", other)] * 2 + ["flu"]


def test_white_space_inside_is_one_space() -> None:
    assert len(set(stands("hay fever", "hay \u2003 fever", "hay\nfever"))) == 1
    assert len(set(stands("hay fever", "hayfever"))) == 2


def test_to_look_alike_is_handed_on() -> None:
    assert stands("AMI", "AML", "\u0410\u041c\u0406") == ["AMI"] * 3
    assert stands("AMI", "AML") == ["AMI", "AML"]


def test_an_accent_is_seen() -> None:
    assert len(set(stands("Ubel", "\u00dcbel", "U\u0308bel"))) == 2


def test_null_stays_null_and_what_reads_as_unknown_becomes_it_where_it_is_asked_for() -> None:
    assert stands(None, "#N/A", "-", "\u3164", "flu", known=True) == [None, None, None, None, "flu"]
    assert stands(None, "#N/A", "N/A") == [None, "#N/A", "N/A"]
    assert stands() == []


# --- columns ----------------------------------------------------------------------------------------------------------

Row = tuple[str | None, str | None, str | None]
TEXTS = st.sampled_from(["a", "b", "", None])
NAMES = ("one", "two", "three")


@st.composite
def drawn(draw: st.DrawFn) -> list[Row]:
    """Rows, in order or not, some of them several times over."""
    rows = draw(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=12))
    rows = [row for row in rows for _ in range(draw(st.integers(1, 4)))]
    return sorted(rows, key=str) if draw(st.booleans()) else rows


def read(rows: list[Row], batch: int, kept: int = 100) -> tuple[ShownColumns, list[NumberedColumn]]:
    frame = pl.LazyFrame(rows, schema=dict.fromkeys(NAMES, pl.String), orient="row")
    return read_columns(frame, [pl.col("one"), pl.col("two")], [pl.col("three")], batch=batch, kept=kept)


def texts_of(column: NumberedColumn) -> list[str | None]:
    known = [None, *column.texts]
    return [known[number] for number in column.numbers.of_row]


@given(drawn(), st.integers(1, 9), st.integers(0, 9))
def test_every_row_has_the_number_of_its_texts(rows: list[Row], batch: int, kept: int) -> None:
    shown, others = read(rows, batch, kept)
    columns = [*shown.of_rows, *others]
    assert list(zip(*map(texts_of, columns), strict=True)) == rows
    assert all(column.texts.is_unique().all() for column in columns)


@given(drawn(), st.integers(1, 9))
def test_rows_are_counted_by_what_they_show_together(rows: list[Row], batch: int) -> None:
    together = read(rows, batch)[0].together
    pairs = [(one, two) for one, two, _ in rows]
    number_of = dict(zip(pairs, together.of_row, strict=True))
    assert [number_of[pair] for pair in pairs] == together.of_row.to_list()
    counts = {number_of[pair]: count for pair, count in Counter(pairs).items()}
    assert dict(together.runs().iter_rows()) == counts
    assert sorted(counts) == list(range(len(counts)))


@given(drawn(), st.integers(1, 9))
def test_the_first_row_that_shows_something(rows: list[Row], batch: int) -> None:
    shown = read(rows, batch)[0]
    columns = shown.of_rows
    for row, (one, two, _) in enumerate(rows):
        codes = [column.numbers.of_row[row] for column in columns]
        assert shown.first(codes) == [pair[:2] for pair in rows].index((one, two))
    assert shown.first([9, 9]) is None


def test_neighbours_that_are_alike_are_one_run() -> None:
    both: list[Row] = [("a", "b", None)]
    one: list[Row] = [("a", None, None)]
    rows = both * 5 + one * 3 + both * 4
    shown = read(rows, 100)[0]
    assert [len(column.numbers.of_row) for column in shown.of_runs] == [3, 3]
    assert shown.together.counts is not None
    assert sorted(shown.together.counts) == [3, 9]


def test_no_runs_are_looked_for_where_hardly_any_neighbours_are_alike() -> None:
    one: list[Row] = [("a", "b", None)]
    other: list[Row] = [("b", "a", None)]
    rows = (one + other) * 5 + one * 10
    shown = read(rows, 10)[0]
    assert shown.begins is None
    assert shown.together.counts is not None
    assert sorted(shown.together.counts) == [5, 15]


def test_texts_that_mostly_differ_have_the_same_numbers_however_many_are_kept() -> None:
    rows: list[Row] = [(str(number), str(number // 2), None) for number in [*range(30), *range(7)] for _ in range(3)]
    assert read(rows, 12)[0].of_runs[0].texts.to_list() == [str(number) for number in range(30)]
    for kept in (0, 10, 36, 37):
        shown = read(rows, 12, kept)[0]
        for column, expected in zip(shown.of_runs, read(rows, 12)[0].of_runs, strict=True):
            assert column.numbers.span == expected.numbers.span
            assert column.numbers.of_row.equals(expected.numbers.of_row, check_dtypes=True)
            assert column.texts.equals(expected.texts)
