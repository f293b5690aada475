"""A table whose every cell would be noticed in a message or a report, and ways to run the command on it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from tests.common.warm import USUAL, start

CELLS = re.compile(r"CANARY|(?<![\w.])(?:86753\d\d|0999\d)(?!\w)")
"""What only a cell of the table reads like, and no part of a checksum or a figure."""
HEADER = "name,age,zip,job,diagnosis,ward"
SPEC = """\
version: 1
input: {path: table.csv, missing: ["", "?"]}
identifiers: [name]
quasi_identifiers:
  age: {type: numeric}
  zip: {hierarchy: {mask: right}}
  job: {hierarchy: jobs.csv}
sensitive:
  diagnosis: {}
insensitive: [ward]
privacy:
  k: 3
  l: 2
  suppression: 0.1
"""
JOBS = "CANARY clerk;Office;*\nCANARY chief;Office;*\nCANARY cook;Kitchen;*\n"


def unnamed(report: str) -> str:
    """A JSON report without its block `marginals`, of which bins are named by round numbers, and by labels of hierarchy
    files: they may read as cells do, and are tested by themselves."""
    return json.dumps({key: block for key, block in json.loads(report).items() if key != "marginals"})


def row(number: int) -> str:
    """A row of the table. No cell of it may be shown by anything but the release."""
    job = ("clerk", "chief", "cook")[number * 7 % 3]
    return (
        f'"CANARY, {number}",{8675300 + number % 37},0999{number % 5},CANARY {job},CANARY-{number * 5 % 4},'
        f"CANARY {number % 2}"
    )


def table(rows: int = 60) -> str:
    return "\n".join([HEADER, *map(row, range(rows))]) + "\n"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: bytes
    err: str


@dataclass(frozen=True)
class Desk:
    """A folder with a table and its spec, and a folder for temporary files; both are looked at for what is left."""

    folder: Path
    temporary: Path

    @property
    def spec(self) -> Path:
        return self.folder / "spec.yaml"

    def fill(self, content: str | bytes | None = None, spec: str = SPEC) -> None:
        """Writes table, hierarchy and spec."""
        content = table() if content is None else content
        (self.folder / "table.csv").write_bytes(content.encode() if isinstance(content, str) else content)
        (self.folder / "jobs.csv").write_text(JOBS, encoding="utf-8")
        self.spec.write_text(spec, encoding="utf-8")

    def files(self) -> dict[str, str]:
        """Hash of every file there is, temporary ones included."""
        found = [path for folder in (self.folder, self.temporary) for path in folder.rglob("*") if path.is_file()]
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}

    def environment(self, **more: str) -> dict[str, str]:
        """Of a process that keeps its temporary files here."""
        return os.environ | USUAL | {"TMPDIR": str(self.temporary)} | more

    def start(self, *arguments: object, env: dict[str, str] | None = None, **more: Any) -> subprocess.Popen[bytes]:
        """The command in a process of its own."""
        return start(*arguments, cwd=self.folder, env=env or self.environment(), **more)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = Desk(tmp_path / "desk", tmp_path / "temporary")
    made.folder.mkdir()
    made.temporary.mkdir()
    made.fill()
    monkeypatch.setattr(tempfile, "tempdir", str(made.temporary))
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)  # so that an audit prints what it does on a terminal
    return made


Call = Callable[..., Ended]


@pytest.fixture
def call(desk: Desk, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Runs the command in this process, in the desk's folder. Whatever happens, no cell is told on standard error."""
    monkeypatch.chdir(desk.folder)

    def calling(*arguments: object) -> Ended:
        capfdbinary.readouterr()
        code = outcome(lambda: run([str(argument) for argument in arguments]))
        captured = capfdbinary.readouterr()
        ended = Ended(code, captured.out, captured.err.decode())
        assert not CELLS.search(ended.err)
        return ended

    return calling


@dataclass(frozen=True)
class Made:
    """What a command left: how it ended, and its files by their names in the desk's folder, each with its mode."""

    ended: Ended
    files: dict[str, tuple[bytes, int]]


MADE: dict[str, Made] = {}
"""By what it was made from."""


@pytest.fixture
def once(desk: Desk, call: Call) -> Call:
    """Runs a command that others are to be tried on, as `call` does; where it has run on the same files before, what it
    left is put into the folder instead."""

    def making(*arguments: object) -> Ended:
        words = [os.path.relpath(each, desk.folder) if isinstance(each, Path) else each for each in arguments]
        before = desk.files()
        key = repr((words, sorted((os.path.relpath(path, desk.folder), content) for path, content in before.items())))
        if key not in MADE:
            ended, after = call(*arguments), desk.files()
            paths = [Path(path) for path, content in after.items() if before.get(path) != content]
            files = {str(path.relative_to(desk.folder)): (path.read_bytes(), path.stat().st_mode) for path in paths}
            MADE[key] = Made(ended, files)
        for name, (content, mode) in MADE[key].files.items():
            (desk.folder / name).write_bytes(content)
            (desk.folder / name).chmod(mode)
        return MADE[key].ended

    return making


@pytest.fixture
def launch(desk: Desk) -> Call:
    """The same in a process of its own, for what needs one; takes the arguments of `Desk.start`."""

    def launching(*arguments: object, stdin: bytes | None = None, **more: Any) -> Ended:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
        with desk.start(*arguments, **pipes) as process:
            out, err = process.communicate(stdin, timeout=60)
        ended = Ended(process.returncode, out or b"", (err or b"").decode())
        assert not CELLS.search(ended.err)
        return ended

    return launching


Looks = Callable[..., None]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    """Takes what happens between the looks of a watch, one step after each; after the last there is an interrupt."""

    def between(*steps: Callable[[], object]) -> None:
        left = iter(steps)

        def pause(seconds: float) -> None:
            assert seconds < 1, "who has changed a file waits"
            if (step := next(left, None)) is None:
                raise KeyboardInterrupt
            step()

        monkeypatch.setattr(time, "sleep", pause)

    return between


@pytest.fixture
def handlers() -> Iterator[None]:
    """What becomes of signals is as it was, after the test."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    for number, handler in kept.items():
        signal.signal(number, handler)
