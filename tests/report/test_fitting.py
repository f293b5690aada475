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
