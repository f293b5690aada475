"""Shell completions: the scripts are there, and commands are completed without the libraries that they need."""

from __future__ import annotations

import subprocess
import sys

import pytest

from anonymize.cli.main import COMMANDS
from tests.cli.conftest import Desk

NAMES = [name for group in COMMANDS.values() for name in group]
HEAVY = ("numpy", "polars", "scipy", "pydantic")


def completed(desk: Desk, words: str, at: int, *, heavy: bool = False) -> list[str]:
    env = desk.environment(_ANONYMIZE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(at))
    command = [sys.executable, "-X", "importtime", "-m", "anonymize"]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True, cwd=desk.folder)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in ended.stderr.splitlines()}
    assert "click" in imported and (heavy or imported.isdisjoint(HEAVY))
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


def test_columns_are_completed_from_the_table(desk: Desk) -> None:
    (desk.folder / "t.csv").write_text('age;"zip code";ward\n31;02138;CANARY\n', encoding="utf8")
    assert completed(desk, "anonymize audit -i t.csv --qi ", 5) == ["age", "zip code", "ward"]
    assert completed(desk, "anonymize audit -i t.csv --qi age,w", 5) == ["age,ward"]
    assert completed(desk, "anonymize audit -i t.csv --qi age,", 5) == ["age,zip code", "age,ward"]
    assert completed(desk, "anonymize audit -i t.csv --unit w", 5) == ["ward"]
    assert completed(desk, "anonymize audit -i none.csv --unit ", 5) == []
    assert completed(desk, "anonymize reconstruct t.csv --attributes a", 4) == ["age"]


def test_columns_are_completed_from_the_spec(desk: Desk) -> None:
    (desk.folder / "t.csv").write_text("age,sex,ward,diagnosis\n", encoding="utf8")
    spec = "version: 1\ninput: {path: t.csv}\nquasi_identifiers: {age: {}, sex: {}, 'x_*': {}}\n"
    (desk.folder / "s.yaml").write_text(f"{spec}sensitive: [diagnosis]\nworkload: {{targets: [ward]}}\n")
    assert completed(desk, "anonymize evaluate s.yaml r.csv --query-attributes ", 5) == ["age", "sex"]
    assert completed(desk, "anonymize evaluate s.yaml r.csv --tree ", 5) == ["ward", "age", "sex", "diagnosis"]
    assert completed(desk, "anonymize hierarchy show s.yaml s", 4) == ["sex"]
    (desk.folder / "t.csv").unlink()
    assert completed(desk, "anonymize evaluate s.yaml r.csv --tree d", 5) == ["diagnosis"]
    (desk.folder / "s.yaml").write_text("quasi_identifiers: [")
    assert completed(desk, "anonymize evaluate s.yaml r.csv --tree ", 5) == []


def test_names_are_completed(desk: Desk) -> None:
    assert completed(desk, "anonymize compare s.yaml --algorithms mondrian,t", 4) == [
        "mondrian,top-down",
        "mondrian,tds",
    ]
    assert completed(desk, "anonymize audit --require t-", 3, heavy=True) == ["t-closeness"]
    offered = completed(desk, "anonymize attack s.yaml r.csv --attackers ", 5, heavy=True)
    assert len(offered) > 5 and len(set(offered)) == len(offered)
