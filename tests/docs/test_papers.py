"""The page of the papers: complete, with commands that are accepted and figures that stand where it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from anonymize.cli.main import cli

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers.md"
SYSTEMS = (
    *("mu-Argus", "Datafly", "AllMin", "MinGen", "Bottom-up generalization", "TDS", "K-Optimize", "Incognito"),
    *("Mondrian", "InfoGain Mondrian", "LSD Mondrian", "Selection Mondrian", "Bottom-up local recoding"),
    *("Top-down local recoding", "Global, local, hybrid and distributed search by research value"),
    *("RR-QI, RR-S, RR-Both", "Anatomy"),
)
NUMBERED = {
    "Xu": ("Figure", 5),
    "Morton": ("Figure", 9),
    "Morton, tables": ("Table", 5),
    "LeFevre": ("Figure", 11),
    "Guo": ("Figure", 7),
    "Guo, tables": ("Table", 5),
}
"""Figures and tables of each paper, which count from 1."""


def sections() -> dict[str, list[list[str]]]:
    """The rows of each table by its heading, without the header; a cell is split at bars that are not escaped."""
    parts = re.split(r"^## ", PAGE.read_text(encoding="utf8"), flags=re.MULTILINE)[1:]
    tables = {}
    for part in parts:
        lines = [line for line in part.splitlines() if line.startswith("| ")]
        tables[part.splitlines()[0]] = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines[2:]]
    return {name: [[cell.strip() for cell in row] for row in rows] for name, rows in tables.items()}


ROWS = [(heading, row) for heading, rows in sections().items() for row in rows]


def numbers_in(label: str, kind: str) -> set[int]:
    """The figures or tables that the first cell of a row is about: "Figures 1 to 5", "Table 1 and figure 1"."""
    found = set()
    for first, last in re.findall(rf"{kind}s? (\d+)(?: to (\d+))?", label, re.IGNORECASE):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def test_every_system_has_a_row() -> None:
    assert [row[0] for row in sections()["Systems"]] == list(SYSTEMS)


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_figure_and_table_has_a_row(paper: str) -> None:
    kind, count = NUMBERED[paper]
    [rows] = [rows for heading, rows in sections().items() if heading.startswith(paper.partition(",")[0] + ",")]
    assert set().union(*(numbers_in(row[0], kind) for row in rows)) == set(range(1, count + 1))


@pytest.mark.parametrize(("heading", "row"), ROWS, ids=[row[0] for _, row in ROWS])
def test_a_row_has_a_command_or_a_reason(heading: str, row: list[str]) -> None:
    assert len(row) == (5 if heading == "Systems" else 4)
    here, how = row[-2:]
    assert "not reproduced: " in here or re.search("`(anonymize|python|pytest) ", how)


@pytest.mark.parametrize("line", sorted({line for _, row in ROWS for line in re.findall("`([^`]+ [^`]+)`", row[-1])}))
def test_its_commands_are_there(line: str) -> None:
    program, name, *arguments = shlex.split(line)
    if program != "anonymize":
        assert program in ("python", "pytest") and (ROOT / name).exists()
        script = (ROOT / name).read_text(encoding="utf8")
        assert [each for each in arguments if each.startswith("-") and f'"{each}"' not in script] == []
    else:
        command = cli.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        command.make_context(name, arguments)


@pytest.mark.parametrize(("heading", "row"), ROWS, ids=[row[0] for _, row in ROWS])
def test_its_figures_stand_where_the_row_says(heading: str, row: list[str]) -> None:
    """Every number of the result with a point or a comma in it."""
    targets = re.findall(r"\]\(([^)#]+)\)", row[-1])
    text = "".join((PAGE.parent / target).read_text(encoding="utf8") for target in targets)
    figures = re.findall(r"\d+(?:[.,]\d+)+", row[-2])
    assert [each for each in figures if not re.search(rf"(?<![\d.,]){re.escape(each)}(?![\d])", text)] == []
