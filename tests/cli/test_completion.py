"""Shell completions: the scripts are there, and commands are completed without the libraries that they need."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from click.shell_completion import ShellComplete

from anonymize.cli.main import COMMANDS, COMPLETE, cli
from tests.cli.conftest import Desk

NAMES = [name for group in COMMANDS.values() for name in group]
HEAVY = ("numpy", "polars", "scipy", "pydantic")

Completed = Callable[[str], list[str]]


@pytest.fixture
def completed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Completed:
    """What is offered for the last word of a line, in the desk's folder."""
    monkeypatch.chdir(desk.folder)

    def completing(line: str) -> list[str]:
        *words, last = line.split(" ")
        return [item.value for item in ShellComplete(cli, {}, "anonymize", COMPLETE).get_completions(words, last)]

    return completing


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(desk: Desk, shell: str) -> None:
    with desk.start(env=desk.environment(_ANONYMIZE_COMPLETE=f"{shell}_source"), stdout=subprocess.PIPE) as process:
        script = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 0 and "_ANONYMIZE_COMPLETE" in script and f"{shell}_complete" in script


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("", NAMES),
        ("audit -i t.csv --qi a", ["age"]),
        ("evaluate s.yaml r.csv --tree w", ["ward"]),
        ("compare s.yaml --algorithms mondrian,t", ["mondrian,top-down", "mondrian,tds"]),
    ],
)
def test_a_shell_is_answered_without_what_is_slow_to_import(desk: Desk, line: str, offered: list[str]) -> None:
    (desk.folder / "t.csv").write_text("age,sex\n", encoding="utf8")
    (desk.folder / "s.yaml").write_text("workload: {targets: [ward]}\n", encoding="utf8")
    words = f"anonymize {line}"
    env = desk.environment(_ANONYMIZE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(words.count(" ")))
    command = [sys.executable, "-X", "importtime", "-m", "anonymize"]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True, cwd=desk.folder)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in ended.stderr.splitlines()}
    assert "click" in imported and imported.isdisjoint(HEAVY)
    assert [line.partition(",")[2] for line in ended.stdout.splitlines() if line] == offered


def test_commands_are_completed(completed: Completed) -> None:
    assert completed("") == NAMES
    assert completed("m") == [name for name in NAMES if name.startswith("m")]
    assert completed("no-such") == []


def test_options_are_completed(completed: Completed) -> None:
    assert "--version" in completed("--")
    assert {"--require", "--baseline", "--format"} <= set(completed("audit --"))
    assert completed("audit --format s") == ["sarif"]


def test_columns_are_completed_from_the_table(desk: Desk, completed: Completed) -> None:
    (desk.folder / "t.csv").write_text('age;"zip code";ward\n31;02138;CANARY\n', encoding="utf8")
    assert completed("audit -i t.csv --qi ") == ["age", "zip code", "ward"]
    assert completed("audit -i t.csv --qi age,w") == ["age,ward"]
    assert completed("audit -i t.csv --qi age,") == ["age,zip code", "age,ward"]
    assert completed("audit -i t.csv --qi age,x") == []
    assert completed("audit -i t.csv --unit w") == ["ward"]
    assert completed("audit -i t.csv --unit age,w") == []
    assert completed("audit -i none.csv --unit ") == []
    assert completed("reconstruct t.csv --attributes a") == ["age"]
    assert completed("reconstruct t.csv --attributes age,w") == ["age,ward"]


def test_a_column_with_a_comma_is_offered_in_quotes(desk: Desk, completed: Completed) -> None:
    (desk.folder / "t.csv").write_text('"a,b",ward, pad\n')
    assert completed("audit -i t.csv --qi ") == ['"a,b"', "ward", '" pad"']
    assert completed('audit -i t.csv --qi "a') == ['"a,b"']
    assert completed('audit -i t.csv --qi "a,b",w') == ['"a,b",ward']
    assert completed('audit -i t.csv --qi ward,"a,') == ['ward,"a,b"']
    assert completed("audit -i t.csv --unit a") == ["a,b"]


@pytest.mark.parametrize("content", ["\ufeffage,sex\r\n1,2\r\n", 'age,"sex"'], ids=["of Excel", "a header alone"])
def test_a_header_is_read_as_a_release_reads_it(desk: Desk, completed: Completed, content: str) -> None:
    (desk.folder / "t.csv").write_bytes(content.encode())
    assert completed("audit -i t.csv --qi ") == ["age", "sex"]


def test_what_is_no_csv_has_no_columns_to_offer(desk: Desk, completed: Completed) -> None:
    (desk.folder / "t.csv").write_bytes(b"age,sex\0\n")
    assert completed("audit -i t.csv --qi ") == []


def test_columns_are_completed_from_the_spec(desk: Desk, completed: Completed) -> None:
    (desk.folder / "t.csv").write_text("age,sex,ward,diagnosis\n", encoding="utf8")
    spec = "version: 1\ninput: {path: t.csv}\nquasi_identifiers: {age: {}, sex: {}, 'x_*': {}}\n"
    (desk.folder / "s.yaml").write_text(f"{spec}sensitive: [diagnosis]\nworkload: {{targets: [ward]}}\n")
    assert completed("evaluate s.yaml r.csv --query-attributes ") == ["age", "sex"]
    assert completed("evaluate s.yaml r.csv --query-attributes age,s") == ["age,sex"]
    assert completed("evaluate s.yaml r.csv --tree ") == ["ward", "age", "sex", "diagnosis"]
    assert completed("hierarchy show s.yaml s") == ["sex"]
    (desk.folder / "t.csv").unlink()
    assert completed("evaluate s.yaml r.csv --tree d") == ["diagnosis"]
    (desk.folder / "s.yaml").write_text("quasi_identifiers: [")
    assert completed("evaluate s.yaml r.csv --tree ") == []


@pytest.mark.parametrize("spec", ["- age", "workload: [ward]", "input: t.csv", "input: {separator: ';'}"])
def test_columns_of_a_spec_that_names_none_are_those_of_the_release(
    desk: Desk, completed: Completed, spec: str
) -> None:
    (desk.folder / "s.yaml").write_text(spec, encoding="utf8")
    (desk.folder / "r.csv").write_text("age_low,age_high\n", encoding="utf8")
    assert completed("evaluate s.yaml r.csv --tree ") == ["age_low", "age_high"]
    assert completed("evaluate s.yaml --tree ") == completed("evaluate --tree ") == []


def test_columns_are_completed_from_the_nearest_spec(
    desk: Desk, completed: Completed, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk.folder / "anonymize.yaml").write_text("input: {path: t.csv}\n", encoding="utf8")
    (desk.folder / "t.csv").write_text("age,sex\n", encoding="utf8")
    below = desk.folder / "below"
    below.mkdir()
    for folder in (desk.folder, below):
        monkeypatch.chdir(folder)
        assert completed("evaluate --tree ") == completed("evaluate r.csv --tree ") == ["age", "sex"]


def test_names_are_completed(completed: Completed) -> None:
    assert completed("compare s.yaml --algorithms mondrian,t") == ["mondrian,top-down", "mondrian,tds"]
    assert completed("audit --require t-") == ["t-closeness"]
    assert completed("audit --require pa") == ["passing"]
    assert completed("explain mond") == ["mondrian"]
    assert completed("evaluate s.yaml r.csv --model naive") == ["naive_bayes"]
    offered = completed("attack s.yaml r.csv --attackers ")
    assert ",".join(offered[:2]) in completed(f"attack s.yaml r.csv --attackers {','.join(offered[:2])}")
    assert len(offered) > 5 and len(set(offered)) == len(offered)


def test_the_first_row_of_a_table_without_names_is_not_offered(desk: Desk, completed: Completed) -> None:
    (desk.folder / "t.csv").write_text("31,CANARY\n", encoding="utf8")
    spec = (
        "version: 1\ninput: {path: t.csv, header: false}\nquasi_identifiers: {column_1: {}}\ninsensitive: [column_2]\n"
    )
    (desk.folder / "s.yaml").write_text(spec)
    assert completed("audit s.yaml --qi ") == ["column_1", "column_2"]
