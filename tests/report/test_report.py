"""The renderers, on a report that was made up."""

from __future__ import annotations

import io
import json
import re
import time
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from anonymize.errors import UsageError
from anonymize.report import RENDERERS, as_json, kind_of
from anonymize.report.blocks import ATTACK_MEANINGS
from anonymize.report.head import Clock
from anonymize.report.rendering import environment, markdown
from anonymize.report.section import Section, figure
from anonymize.report.tables import sections
from anonymize.report.terminal import console, show, tables

REPORT: dict[str, Any] = {
    "schema_version": 1,
    "tool": {"name": "anonymize", "version": "9.9"},
    "started_at": "2024-02-29T12:00:00+00:00",
    "spec": {"path": "/s/spec.yaml", "sha256": "aa"},
    "input": {"path": "/in/ta|ble_*.csv", "sha256": "bb", "rows": 12345, "columns": 3},
    "output": {
        "path": "out.csv",
        "sha256": "cc",
        "rows": 12340,
        "suppressed_rows": 7,
        "dropped_rows": 5,
        "suppressed_cells": 21,
    },
    "algorithm": {"name": "mondrian", "family": "multidimensional", "options": {"cut": "auto"}, "seed": 17},
    "settings": {"k": {"value": 5, "from": "spec"}},
    "privacy": {
        "satisfied": True,
        "state": "met",
        "verified": True,
        "missing": "own-category",
        "models": [
            {
                "model": "k-anonymity",
                "attribute": None,
                "required": {"k": 5},
                "achieved": {"k": 6},
                "satisfied": True,
                "basis": "measured",
            },
            {
                "model": "recursive-cl-diversity",
                "attribute": "a|b",
                "required": {"c": 2.0, "l": 3},
                "achieved": {"c": None, "l": 3},
                "satisfied": False,
                "basis": "measured",
            },
        ],
    },
    "classes": {"count": 1500, "min_size": 6, "mean_size": 8.2266666, "max_size": 40},
    "risk": {"prosecutor_max": 1 / 6, "marketer": 0.1215, "records_at_risk": 0.0, "uniques": 0, "threshold": 0.25},
    "utility": {
        "gcp": 0.123456,
        "ncp": 4567.89,
        "precision": None,
        "discernibility": 12345678,
        "attributes": {
            "age": {"ncp": 0.25, "loss": 0.125, "weight": 2.0},
            "[bold]x": {"ncp": 0, "loss": 0, "weight": 1},
        },
    },
    "recoding": {"kind": "regions", "regions": 1500},
    "timing": {"total_s": 1.5},
    "memory": {"peak_mb": 99.0},
    "warnings": ["column 'a_b' | passes <through>\nuntouched"],
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The report with another value at a dotted path."""
    report = deepcopy(REPORT)
    *blocks, key = path.split(".")
    block = report
    for name in blocks:
        block = block[name]
    block[key] = value
    return report


def printed(report: dict[str, Any], color: str = "never", width: int = 120) -> str:
    stream = io.StringIO()
    to = console(stream, color)
    to.width = width
    show(report, to)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (True, "yes"),
        (False, "NO"),
        (0, "0"),
        (1234567, "1,234,567"),
        (-1234, "-1,234"),
        (0.0, "0"),
        (0.123456, "0.1235"),
        (0.00001234, "1.234e-05"),
        (1234.56, "1235"),
        (9999.4, "9999"),
        (12345.6, "12,346"),
        (-12345.6, "-12,346"),
        (1e15, "1,000,000,000,000,000"),
        ("text", "text"),
    ],
)
def test_figure(value: Any, text: str) -> None:
    assert figure(value) == text


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_json_keeps_keys_in_their_order_and_text_as_it_is() -> None:
    text = as_json(changed("warnings", ["é 漢字"]))
    assert list(json.loads(text)) == list(REPORT)
    assert "é 漢字" in text and text.endswith("}\n")
    assert text.startswith('{\n  "schema_version": 1,\n  "tool": {\n    "name"')


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_json_has_no_numbers_that_json_has_not(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json(changed("utility.gcp", value))


@pytest.mark.parametrize(("path", "kind"), [("r.json", ".json"), ("a.b/R.MD", ".md")])
def test_the_suffix_says_the_kind(path: str, kind: str) -> None:
    assert kind_of(path) == kind and kind in RENDERERS


@pytest.mark.parametrize("path", ["-", "report", "r.txt", "r.json.gz", ".json"])
def test_a_suffix_that_there_is_not(path: str) -> None:
    with pytest.raises(UsageError, match="a report is one of"):
        kind_of(path)


def test_html_alone_takes_the_library_that_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anonymize.report.find_spec", lambda name: None)
    assert [kind_of(path) for path in ("r.json", "r.md")] == [".json", ".md"]
    with pytest.raises(UsageError, match="an HTML report needs lets-plot"):
        kind_of("r.html")


# --- Markdown --------------------------------------------------------------------------------------------------------


def test_markdown_says_the_verdict_first() -> None:
    lines = markdown(REPORT).splitlines()
    assert lines[0] == "# Anonymization report"
    assert lines[2] == "- **every requirement is met**, measured from the table as written"
    assert "NOT SAFE" in markdown(changed("privacy.state", "unmet"))
    assert "nothing was required" in markdown(changed("privacy.state", "nothing required"))


def test_markdown_tables_have_as_many_cells_in_every_row() -> None:
    cells = re.compile(r"(?<!\\)\|")
    tables = re.findall(r"(?:^\|.*\n)+", markdown(REPORT), re.MULTILINE)
    assert len(tables) == 6
    for table in tables:
        assert len({len(cells.findall(line)) for line in table.splitlines()}) == 1


def test_lines_of_markdown_are_parted_by_no_more_than_a_blank_one() -> None:
    environment.cache_clear()
    text = markdown(REPORT)
    assert (
        "\n\n\n" not in text and text.endswith("|\n\n") and "| setting | value | from |\n| --- | --- | --- |\n" in text
    )


@pytest.mark.parametrize(
    "text",
    [
        r"/in/ta\|ble\_\*.csv",
        r"| recursive-cl-diversity | a\|b | c = 2, l = 3 | c = -, l = 3 | NO |",
        r"- column 'a\_b' \| passes \<through\> untouched",
        r"| \[bold\]x | 1 | 0 % | 0 % |",
        r"| rows in a class, mean | 8.227 | mean\_size |",
        r"| rows that are suppressed, or were left out | 7 | suppressed\_rows |",
        r"| rows whose risk is above 0.25 | 0 % |  | records\_at\_risk |",
        "algorithm mondrian (cut = auto)",
        "input: 12,345 rows",
    ],
)
def test_markdown_shows(text: str) -> None:
    assert text in markdown(REPORT)


def test_markdown_of_an_audit() -> None:
    audited = {key: REPORT[key] for key in REPORT if key not in ("algorithm", "output", "utility", "spec")}
    text = markdown(audited)
    assert "## Re-identification risk" in text and "Information loss" not in text and "algorithm" not in text


def test_every_further_figure_of_an_attack_has_a_meaning() -> None:
    """The page of attackers names them all, and a test of the attackers holds the page against their code."""
    root = Path(__file__).parents[2]
    described = (root / "docs" / "attacks.md").read_text(encoding="utf8").partition("## Further figures")[2]
    made = "\n".join(
        path.read_text(encoding="utf8")
        for room in ("attacks", "risk")
        for path in (root / "anonymize" / room).glob("*.py")
    )
    assert set(re.findall(r"`([a-z_]+)`", described)) - {"downcoding"} == set(ATTACK_MEANINGS)
    assert [name for name in ATTACK_MEANINGS if f'"{name}"' not in made] == []


# --- the terminal ----------------------------------------------------------------------------------------------------


def test_terminal_shows_every_section_and_brackets_as_they_are() -> None:
    text = printed(REPORT)
    assert text.startswith("Every requirement is met.\nwarning: column 'a_b' | passes <through>\\u000auntouched\n")
    assert all(section.title in text for section in sections(REPORT))
    assert "[bold]x" in text and "1,500" in text
    assert not re.search("^precision", text, re.MULTILINE)  # it has no figure


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        ("met", "Every requirement is met."),
        ("unmet", "NOT SAFE: a requirement is not met."),
        ("unknown", "NOT SHOWN: a requirement could not be shown to be met."),
        ("nothing required", "Measured; nothing was required."),
    ],
)
def test_terminal_verdicts(state: str, verdict: str) -> None:
    assert printed(changed("privacy.state", state)).splitlines()[0] == verdict


@pytest.mark.parametrize(("color", "colored"), [("always", True), ("never", False), ("auto", False)])
def test_terminal_colors(color: str, colored: bool) -> None:
    assert ("\x1b[" in printed(REPORT, color)) is colored


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_narrow_terminal(width: int) -> None:
    assert max(map(len, printed(REPORT, width=width).splitlines())) <= width


WIDE = Section(
    "Wide",
    ("label", "k", *(f"figure {index}" for index in range(9)), "meaning"),
    [
        ("mondrian refine=true", "5", *(f"{row}.{index}234567" for index in range(9)), "some words on what this says")
        for row in range(2)
    ],
    names=2,
)


@pytest.mark.parametrize("width", [30, 45, 80, 200])
def test_no_figure_is_cut_and_each_part_names_its_rows(width: int) -> None:
    """Where a row is folded its words are on several lines, but no character is lost."""
    stream = io.StringIO()
    to = Console(file=stream, width=width)
    parts = list(tables(WIDE, width, frozenset()))
    for part in parts:
        to.print(part)
    text = stream.getvalue()
    assert max(map(len, text.splitlines())) <= width and "…" not in text
    assert all(cell in text for row in WIDE.rows for cell in row[2:-1])
    assert (len(parts) == 1) == (width == 200)
    assert all(part.cells[0][:2] == ["label", "k"] for part in parts)
    shown = [name for part in parts for name in part.cells[0][2:]]
    assert shown == list(WIDE.header[2:])


def test_a_figure_that_is_wider_than_the_terminal_is_folded() -> None:
    section = Section("One", ("name", "figure"), [("a", "1" * 50)])
    stream = io.StringIO()
    (table,) = tables(section, 20, frozenset())
    Console(file=stream, width=20).print(table)
    assert stream.getvalue().count("1") == 50 and max(map(len, stream.getvalue().splitlines())) <= 20


def test_a_report_of_an_audit_has_fewer_sections() -> None:
    audited = {key: REPORT[key] for key in ("privacy", "classes", "risk", "warnings")}
    assert [section.title for section in sections(audited)] == [
        "Privacy, measured from the table as written",
        "Equivalence classes",
        "Re-identification risk",
    ]


# --- the clock -------------------------------------------------------------------------------------------------------


def test_the_clock_adds_up_and_has_every_stage() -> None:
    clock = Clock()
    for _ in range(2):
        with clock("search"):
            pass
    timing = clock.timing()
    assert list(timing) == ["read_s", "search_s", "recode_s", "verify_s", "write_s", "total_s"]
    assert 0 <= timing["search_s"] <= timing["total_s"] and timing["read_s"] == 0


def test_the_clock_counts_every_block_of_a_stage() -> None:
    clock = Clock()
    for _ in range(2):
        with clock("search"):
            time.sleep(0.003)
    timing = clock.timing()
    assert timing["search_s"] >= 0.006 and timing["total_s"] < 60
