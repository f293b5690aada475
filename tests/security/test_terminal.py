"""What a name, a label or a text of a spec tells a terminal to do: nothing, wherever it is printed."""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import yaml

import anonymize
from anonymize.errors import Problem, visible
from tests.security.commands import run

CLEAR = "\x1b[2J\x1b[H"
MET = "Every requirement is met."
LIES = {
    "clear": f"{CLEAR}{MET}",
    "eight bits": f"\x9b2J\x9bH{MET}\x1b]0;met\x07",
    "line": f"age\r\n{MET}\n",
    "backwards": "\u202e.tem si tnemeriuqer yrevE\u2066\u2028",
}
ORDERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
SOURCES = Path(anonymize.__file__).parent


def places(folder: Path, name: str, label: str = "b") -> tuple[Path, Path]:
    """A table with columns of the name, in every role, and labels; and its spec."""
    names = {role: f"{role}{name}" for role in ("id", "qi", "cat", "ill", "ward")}
    frame = pl.DataFrame(
        {
            names["id"]: [f"p{number}" for number in range(12)],
            names["qi"]: [31, 34, 52, 58] * 3,
            names["cat"]: ["a", label] * 6,
            names["ill"]: ["u", "v", label] * 4,
            names["ward"]: ["x", "y"] * 6,
        }
    )
    frame.write_parquet(folder / "people.parquet")
    (folder / "cat.csv").write_text(f'a;any\n"{label}";any\n', encoding="utf-8")
    content = {
        "version": 1,
        "identifiers": [names["id"]],
        "quasi_identifiers": {
            names["qi"]: {"type": "numeric", "rules": [{"keep_apart": [34, 52], "importance": 2}]},
            names["cat"]: {"hierarchy": "cat.csv"},
        },
        "sensitive": {names["ill"]: {}},
        "insensitive": [names["ward"]],
        "privacy": {"k": 2},
    }
    (folder / "spec.yaml").write_text(yaml.safe_dump(content, allow_unicode=False), encoding="utf-8")
    return folder / "people.parquet", folder / "spec.yaml"


def commands(table: Path, spec: Path, *, compared: bool = False) -> list[tuple[object, ...]]:
    """What prints names and labels. `compared`: `compare` too, which starts a process."""
    folder = table.parent
    released = folder / "x.parquet"
    forms = ("text", "json", "github", "sarif", "junit", "markdown", "html")
    return [
        ("mondrian", spec, "-i", table, "-o", released, "-r", folder / "x.json", "-v"),
        ("mondrian", spec, "-i", table, "-o", folder / "y.parquet", "-k", "50"),
        *(("audit", spec, "-i", released, "-k", "5", "--format", form) for form in forms),
        ("audit", spec, "-i", table, "-k", "5", "--color", "always"),
        ("audit", spec, "-i", folder / "cat.csv"),
        *(("evaluate", spec, released, "-i", table, "--format", form) for form in ("text", "json", "markdown")),
        ("attack", spec, released, "-i", table),
        ("hierarchy", "show", spec, "-i", table),
        ("hierarchy", "show", spec, "-i", table, "--json"),
        *(("validate", spec, "-i", table, "--format", form) for form in ("text", "json")),
        *([("compare", spec, "-i", table, "--algorithms", "mondrian,datafly", "--no-cache", "-j", "1")] * compared),
        ("init", table),
        ("mondrian", spec, "-i", table, "-o", released),
    ]


def uncoloured(text: str) -> str:
    """A text without what rich adds where colours are asked for."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("kind", LIES)
def test_no_name_and_no_label_gives_a_terminal_an_order(tmp_path: Path, kind: str) -> None:
    table, spec = places(tmp_path, LIES[kind], label=LIES[kind].replace("\n", "").replace("\r", ""))
    for command in commands(table, spec, compared=kind == "clear"):
        ended = run(*command)
        assert ended.returncode in (0, 1, 2, 3, 4), (command, ended.stderr)
        for text in map(uncoloured, (ended.stdout, ended.stderr)):
            assert not ORDERS.search(text), (command, text)
            alone = [line for line in text.splitlines() if line.strip() == MET]
            assert not (alone and ended.returncode), command
        if "json" in str(command) and ended.stdout.startswith("{"):
            json.loads(ended.stdout)


def test_names_of_files_give_a_terminal_no_order(tmp_path: Path) -> None:
    folder = tmp_path / f"{CLEAR}met"
    folder.mkdir()
    table, spec = places(folder, "")
    for command in (
        *commands(table, spec),
        ("audit", f"{CLEAR}.yaml"),
        ("audit", spec, "-i", f"{CLEAR}.csv"),
        (CLEAR,),
    ):
        ended = run(*command)
        assert not ORDERS.search(uncoloured(ended.stdout + ended.stderr)), command


def test_texts_of_a_spec_give_a_terminal_no_order(tmp_path: Path) -> None:
    table, spec = places(tmp_path, "")
    content = yaml.safe_load(spec.read_text(encoding="utf-8"))
    for changes in ({f"x{CLEAR}": 1}, {"weights": CLEAR}, {"unit": CLEAR}, {"identifiers": [CLEAR]}):
        spec.write_text(yaml.safe_dump({**content, **changes}), encoding="utf-8")
        for command in (("validate", spec), ("audit", spec, "-i", table), ("mondrian", spec, "-i", table)):
            ended = run(*command)
            assert ended.returncode in (0, 1, 2, 3), ended.stderr
            assert not ORDERS.search(ended.stdout + ended.stderr), (changes, command)


def test_a_terminal_is_given_the_colours_alone(tmp_path: Path) -> None:
    """On a real one: what rich sends is colours, and nothing of the names."""
    table, spec = places(tmp_path, LIES["clear"])
    master, slave = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "anonymize",
        "mondrian",
        str(spec),
        "-i",
        str(table),
        "-o",
        str(tmp_path / "x.csv"),
    ]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(command, stderr=slave, stdout=slave, env=environment) as process:
        os.close(slave)
        shown = b""
        try:
            while piece := os.read(master, 1 << 16):
                shown += piece
        except OSError:  # what Linux says at the end
            pass
        process.wait()
    os.close(master)
    assert b"\x1b[2J" not in shown and b"\x1b[H" not in shown
    assert b"\\u001b[2J" in shown


@pytest.mark.parametrize("lie", LIES.values())
def test_an_error_of_the_python_functions_gives_no_order(lie: str) -> None:
    problem = Problem(f"column {lie}", file=lie, hint=lie)
    assert visible(str(problem)) == str(problem)


def called(function: ast.expr) -> str:
    """The name of a function, also where it is one of click or rich; empty for others."""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.attr if function.value.id in ("click", "rich") else ""
    return function.id if isinstance(function, ast.Name) else ""


def test_everything_that_is_printed_goes_by_one_door() -> None:
    """No module prints by itself: messages by `say`, results by `put`, tables by a console of `report.terminal`."""
    doors = {"echo": {"cli/exits.py"}, "Console": {"report/terminal.py"}, "secho": set(), "print": set()}
    word = re.compile(rf"\b(?:{'|'.join(doors)})\(")
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")}
    for path, text in texts.items():
        if not word.search(text):
            continue
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        for name in {called(node.func) for node in calls} & doors.keys():
            assert path.relative_to(SOURCES).as_posix() in doors[name], path
