"""Tables on a terminal, held against rich's own layout."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from rich.text import Text

from anonymize.report.section import Section
from anonymize.report.tables import INTROS
from anonymize.report.terminal import FittedTable, console, show, summarize, tables

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


# --- terminal ---------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """Text that is written to a terminal."""

    def isatty(self) -> bool:
        return True


def report(**blocks: Any) -> dict[str, Any]:
    """One that has levels to show."""
    return {"warnings": [], "recoding": {"levels": {"age": 2, "zip": 0}}} | blocks


def lines(blocks: dict[str, Any], color: str = "never", width: int = 200) -> list[str]:
    stream = io.StringIO()
    to = console(stream, color)
    to.width = width
    show(blocks, to)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


RELEASED: dict[str, Any] = {
    "warnings": ["the week is long"],
    "privacy": {
        "state": "met",
        "models": [
            {
                "model": "k-anonymity",
                "attribute": None,
                "required": {"k": 5},
                "achieved": {"k": 7},
                "satisfied": True,
                "basis": "measured",
            }
        ],
    },
    "classes": {"count": 3, "min_size": 7},
    "risk": {"prosecutor_max": 1 / 7, "before": {"prosecutor_max": 1.0}},
    "utility": {"gcp": 0.25},
    "output": {"rows": 1200, "suppressed_rows": 3, "dropped_rows": 0},
}


def summary(blocks: dict[str, Any], width: int = 80, **files: list[str]) -> list[str]:
    stream = io.StringIO()
    to = console(stream, "never")
    to.width = width
    summarize(blocks, to, files)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_a_release_ends_with_verdict_figures_files_and_warnings() -> None:
    assert summary(RELEASED, publish=["out.csv"], private=[]) == [
        "Every requirement is met.",
        "requirements    1 met, measured from the table as written",
        "smallest group  7 rows by the quasi-identifiers",
        "highest risk    14.3 % for a row; 100 % before the release",
        "lost            25 % of the precision of the quasi-identifiers (gcp)",
        "rows            1,200, 3 suppressed, 0 left out",
        "publish         out.csv",
        "warning: the week is long",
    ]


def test_no_password_of_a_place_is_printed() -> None:
    said = " ".join(summary(RELEASED, width=200, publish=["postgresql://ann:hunter2@host/db?table=t"]))
    assert "hunter2" not in said and "ann:***@host/db?table=t" in said


def test_what_is_not_met_is_a_table() -> None:
    unmet = {**RELEASED["privacy"]["models"][0], "satisfied": False}
    said = summary(RELEASED | {"privacy": {"state": "unmet", "models": [unmet]}})
    assert said[0] == "NOT SAFE: a requirement is not met."
    assert not any(line.startswith("requirements") for line in said)
    assert said[-1].split() == ["k-anonymity", "k", "=", "5", "k", "=", "7", "NO"]


def test_what_is_not_defined_for_a_release_is_left_out() -> None:
    said = summary({name: RELEASED[name] for name in ("warnings", "privacy", "output")})
    assert [line.split("  ")[0] for line in said] == [
        "Every requirement is met.",
        "requirements",
        "rows",
        "warning: the week is long",
    ]


def test_sections_stand_apart_from_what_is_said_before_them() -> None:
    assert lines(report()) == [
        "Recoded, not measured.",
        "",
        "Hierarchy levels",
        INTROS["Hierarchy levels"],
        "attribute  level",
        "age            2",
        "zip            0",
    ]


def test_what_was_recommended_is_said_with_its_options_and_the_reason() -> None:
    chosen = {"algorithm": "mondrian", "options": {"refine": True}, "reason": "it loses least"}
    said = lines(report(algorithm={"name": "mondrian", "recommended": chosen}))
    assert said[:2] == ["Recoded, not measured.", "Released by mondrian --refine: it loses least."]
    assert lines(report(algorithm={"name": "mondrian"})) == lines(report())


def test_an_introduction_is_left_out_where_every_row_has_its_meaning() -> None:
    said = lines({"warnings": [], "risk": {"uniques": 0}})
    assert "Re-identification risk" in said and INTROS["Re-identification risk"] not in " ".join(said)


def test_parts_of_a_wide_table_stand_apart() -> None:
    compared = {
        "label": "mondrian",
        "k": 5,
        "gcp": 0.25,
        "prosecutor_max": 0.2,
        "prosecutor_mean": 0.1,
        "classes": 7,
        "suppressed_rows": 3,
        "seconds": 1.5,
        "code": 0,
        "efficient": True,
    }
    said = lines({"warnings": [], "comparison": [compared]}, width=30)
    tables = said[said.index("Algorithms compared") + 1 :]
    assert tables.count("") == sum(line.startswith("algorithm") for line in tables) - 1 > 0
    assert "" not in (tables[0], tables[-1])


@pytest.mark.parametrize(
    ("privacy", "style"),
    [({"state": "met"}, "1;32"), ({"state": "unmet"}, "1;31"), ({"state": "nothing required"}, "1")],
)
def test_a_verdict_is_coloured_by_what_it_says(privacy: dict[str, Any], style: str) -> None:
    said = lines({"warnings": ["look"], "privacy": {"models": [], **privacy}}, color="always")
    assert said[0].startswith(f"\x1b[{style}m")
    assert said[1] == "\x1b[33mwarning: look\x1b[0m"


@pytest.mark.parametrize(
    ("color", "environment", "coloured"),
    [
        ("auto", {}, True),
        ("auto", {"NO_COLOR": "1"}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_on_a_terminal_are_those_that_were_asked_for(
    monkeypatch: pytest.MonkeyPatch, color: str, environment: dict[str, str], coloured: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"TERM": "xterm"} | environment).items():
        monkeypatch.setenv(name, value)
    stream = Terminal()
    console(stream, color).print(Text("text", "red"))
    assert ("\x1b[31m" in stream.getvalue()) is coloured


def test_figures_in_a_line_of_text_are_not_coloured() -> None:
    stream = Terminal()
    console(stream, "always").print("12 histories")
    assert stream.getvalue() == "12 histories\n"


def test_two_texts_that_are_too_wide_share_the_terminal() -> None:
    row = ("1", ", ".join(["name"] * 15), " ".join(["reason"] * 20))
    [table] = tables(Section("title", ("number", "left out", "because"), [row]), 80, frozenset())
    assert table.widths[0] == 6 and abs(table.widths[1] / len(row[1]) - table.widths[2] / len(row[2])) < 0.1
