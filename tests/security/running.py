"""The command, run in this process in a folder of the test's."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run as command

Run = Callable[..., "Ended"]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def running(folder: Path, capture: pytest.CaptureFixture[str]) -> Run:
    """A function that runs the command in a folder."""

    def run(*arguments: object) -> Ended:
        before = Path.cwd()
        os.chdir(folder)
        try:
            capture.readouterr()
            code = outcome(lambda: command([str(argument) for argument in arguments]))
            captured = capture.readouterr()
        finally:
            os.chdir(before)
        return Ended(code, captured.out, captured.err)

    return run
