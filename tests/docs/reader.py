"""A reader of a page: runs its lines from top to bottom in one empty folder, and saves the files that it says to save.

Blocks of `sh` are commands; any other block is a file if the paragraph before it says "Save ... as `NAME`". A comment
"ends with 1" at a line promises its exit code. `anonymize` runs in this process where a line needs no shell. Large
tables of `anonymize example` and of packages are cut down to their first rows; `release`, `bottom-up` and `top-down`
search with little effort where a line does not say with how much, and `compare` starts one process.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from anonymize.cli.exits import outcome
from anonymize.cli.main import run

ROOT = Path(__file__).parents[2]
ROWS = 110
TABULATED_ROWS = 40
"""Of a table for `tabulate`: of many the search for blank cells takes long, and of fewer nothing can be protected."""
A_PASS = ["--passes", "1", "--sweeps", "1"]
LITTLE = {"release": ["--effort", "low"], "bottom-up": A_PASS, "top-down": A_PASS, "compare": ["-j", "1"]}
FENCED = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
SAVED = re.compile(r"\bSave\b.*\bas\s+`([^`]+)`", re.DOTALL)
SHELL = re.compile(r"[|<>&;$*]")
ELSEWHERE = re.compile(r"^(?:pip|make|export|eval|#)\b|^#|postgresql://")
"""Lines for the reader's own machine: installing, the shell's start-up file, a server of a database."""


def steps(page: Path) -> Iterator[tuple[str, str]]:
    """("run", a line) and ("NAME", the text of that file), in the order of the page."""
    text = page.read_text(encoding="utf8")
    for block in FENCED.finditer(text):
        lead = text[: block.start()].rstrip().rpartition("\n\n")[2]
        if block["language"] == "sh":
            lines = block["text"].replace("\\\n", " ").splitlines()
            yield from (("run", line) for line in lines if line.strip() and not ELSEWHERE.search(line))
        elif saved := SAVED.search(lead):
            yield saved[1], block["text"]


def follow(page: Path) -> Iterator[tuple[str, int]]:
    """Does what a page says in the current folder: every line that was run, and its exit code."""
    for kind, text in steps(page):
        if kind == "run":
            yield text, ended(text)
            if " example " in text or ".to_csv(" in text:
                cut_down(Path.cwd())
        else:
            Path(kind).parent.mkdir(parents=True, exist_ok=True)
            Path(kind).write_text(text, encoding="utf8")


def promised(line: str) -> set[int]:
    """The exit codes that a line may have."""
    codes = re.search(r"# .*ends with (\d+)(?: or (\d+))?", line)
    return {int(code) for code in codes.groups() if code} if codes else {0}


def ended(line: str) -> int:
    """The exit code of a line."""
    words = shlex.split(line, comments=True)
    if words[0] == "anonymize" and not SHELL.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", line.partition(" #")[0])):
        return outcome(lambda: run(quickly(words[1:])))
    python = shlex.quote(sys.executable)
    shell = f'set -o pipefail; anonymize() {{ {python} -m anonymize "$@"; }}; python() {{ {python} "$@"; }}; '
    shell += f"export -f anonymize python; {line}"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(["bash", "-c", shell], check=False, env=environment, stdin=subprocess.DEVNULL).returncode


def quickly(words: list[str]) -> list[str]:
    """The words of a command, with little effort where they do not say with how much it searches."""
    little = LITTLE.get(words[0], [])
    return words if {"--no-refine", *little[::2]} & {*words} else [*words, *little]


def cut_down(folder: Path) -> None:
    """Leaves the first rows of the tables in a folder."""
    tabulated = any("\ntabulate:" in spec.read_text(encoding="utf8") for spec in folder.glob("*.yaml"))
    rows = TABULATED_ROWS if tabulated else ROWS
    for table in folder.rglob("*.csv"):
        lines = table.read_text(encoding="utf8").splitlines(keepends=True)
        if len(lines) > 900:
            table.write_text("".join(lines[: rows + 1]), encoding="utf8")
