"""Tables on a terminal, held against rich's own layout."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from rich.text import Text

from anonymize.report.fitting import FittedTable, tables
from anonymize.report.section import Section

TEXTS = st.text(st.sampled_from("ab é漢\u200d-_.,\x07\x0b\n\t 1"), max_size=30)


def as_rich(table: FittedTable) -> Table:
    """The same table, for rich to lay out."""
    laid = Table(box=None, pad_edge=False)
    for name, width, right in zip(table.cells[0], table.widths, table.right, strict=True):
        laid.add_column(Text(name), justify="right" if right else "left", width=width, overflow="fold")
    for row in table.cells[1:]:
        laid.add_row(*map(Text, row))
    return laid


def printed(each: FittedTable | Table, width: int, *, color: bool = False) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=color, highlight=False, color_system="standard" if color else None
    )
    console.print(each)
    return stream.getvalue()


@given(
    st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=2, max_size=5),
    st.integers(20, 80),
    st.sets(st.integers(0, 2)),
)
def test_reads_as_rich_lays_it_out(cells: list[tuple[str, str, str]], width: int, right: set[int]) -> None:
    section = Section("title", cells[0], cells[1:])
    for table in tables(section, width, frozenset(cells[0][index] for index in right)):
        assert printed(table, width) == printed(as_rich(table), width)


@pytest.mark.parametrize("names", [("measure", "figure"), ("name of a row", "a long name of a column")])
def test_only_the_header_is_bold(names: tuple[str, str]) -> None:
    [table] = tables(Section("title", names, [("gcp", "0.1"), ("a text that is folded", "0.25")]), 30, frozenset())
    lines = printed(table, 30, color=True).splitlines()
    bold = [line.startswith("\x1b[1m") for line in lines]
    assert bold[0] and not any("gcp" in line and "\x1b" in line for line in lines)


def laid(
    header: tuple[str, ...], *rows: tuple[str, ...], width: int, names: int = 1
) -> list[tuple[list[str], list[int]]]:
    """The header and the widths of each part of a table."""
    parts = tables(Section("title", header, list(rows), names), width, frozenset())
    return [(list(part.cells[0]), list(part.widths)) for part in parts]


def test_columns_are_as_wide_as_they_want_where_there_is_room() -> None:
    assert laid(("a", "figure"), ("a longer text", "0.25"), width=80) == [(["a", "figure"], [13, 6])]
    assert laid(("of a", "b"), width=80) == [(["of a", "b"], [4, 1])]


def test_figures_stay_whole_and_texts_are_folded() -> None:
    text = "a text of several words, which can be folded"
    assert laid(("a", "b"), (text, "1" * 20), width=42) == [(["a", "b"], [20, 20])]
    assert laid(("a", "b"), (text, "1" * 20), width=38) == [(["a", "b"], [16, 20])]
    assert laid(("a", "b"), (text, "1" * 20), width=36) == [(["a", "b"], [16, 18])]
    assert laid(("a", "b"), ("short one", "two words"), width=18) == [(["a", "b"], [8, 8])]


def test_what_has_no_room_is_a_part_of_its_own_with_the_names_of_the_rows() -> None:
    row = ("x" * 8, "1" * 8, "2" * 8)
    assert laid(("a", "b", "c"), row, width=28) == [(["a", "b", "c"], [8, 8, 8])]
    assert laid(("a", "b", "c"), row, width=27) == [(["a", "b"], [8, 8]), (["a", "c"], [8, 8])]
    assert laid(("a", "b", "c"), row, width=27, names=2) == [(["a", "b", "c"], [7, 8, 8])]
    assert [len(widths) for _, widths in laid(("a", "b", "c", "d"), (*row, "3" * 8), width=38)] == [4]
    assert [len(widths) for _, widths in laid(("a", "b", "c", "d"), (*row, "3" * 8), width=37)] == [3, 2]


def test_the_narrow_columns_get_what_they_want_first() -> None:
    long = "several words that make a rather long text"
    assert laid(("a", "b", "c"), (long, "seventeen letters", "1"), width=50) == [(["a", "b", "c"], [28, 17, 1])]


def test_no_column_is_narrower_than_a_character() -> None:
    assert laid(("aaaa", "bb"), ("1", "2"), width=3) == [(["aaaa", "bb"], [1, 1])]


@pytest.mark.parametrize(("rows", "widths"), [([], [1, 0, 1]), ([("", "2", "3")], [1, 1, 1])])
def test_a_column_of_a_character_takes_the_room_of_one(rows: list[tuple[str, ...]], widths: list[int]) -> None:
    assert laid(("a", "", "c"), *rows, width=7) == [(["a", "", "c"], widths)]


def test_a_header_stands_at_the_bottom_of_its_row_and_a_cell_at_the_top() -> None:
    [table] = tables(Section("title", ("a", "two words"), [("1", "first\nsecond")]), 9, frozenset({"a"}))
    assert printed(table, 9).splitlines() == ["   two   ", "a  words ", "1  first ", "   second"]
