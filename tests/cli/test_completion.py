"""Shell completions: the scripts are there, and commands are completed without the libraries that they need."""

from __future__ import annotations

import subprocess
import sys

import pytest

from anonymize.cli.main import COMMANDS
from tests.cli.conftest import Desk

NAMES = [name for group in COMMANDS.values() for name in group]
HEAVY = ("numpy", "polars", "scipy", "pydantic")


def completed(desk: Desk, words: str, at: int) -> list[str]:
    env = desk.environment(_ANONYMIZE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(at))
    command = [sys.executable, "-X", "importtime", "-m", "anonymize"]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in ended.stderr.splitlines()}
    assert "click" in imported and imported.isdisjoint(HEAVY)
    return [line.partition(",")[2] for line in ended.stdout.splitlines() if line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(desk: Desk, shell: str) -> None:
    with desk.start(env=desk.environment(_ANONYMIZE_COMPLETE=f"{shell}_source"), stdout=subprocess.PIPE) as process:
        script = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 0 and "_ANONYMIZE_COMPLETE" in script and f"{shell}_complete" in script


def test_commands_are_completed(desk: Desk) -> None:
    assert completed(desk, "anonymize ", 1) == NAMES
    assert completed(desk, "anonymize m", 1) == [name for name in NAMES if name.startswith("m")]
    assert completed(desk, "anonymize no-such", 1) == []


def test_options_are_completed(desk: Desk) -> None:
    assert "--version" in completed(desk, "anonymize --", 1)
    assert {"--require", "--baseline", "--format"} <= set(completed(desk, "anonymize audit --", 2))
    assert "sarif" in completed(desk, "anonymize audit --format s", 3)
