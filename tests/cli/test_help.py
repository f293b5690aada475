"""`--help` of the commands that release: what is common to them, the algorithm's own options, and the rest."""

from __future__ import annotations

import re
from dataclasses import fields

import click
import pytest

from anonymize.algorithms import ALGORITHMS
from anonymize.cli.exits import outcome
from anonymize.cli.main import COMMANDS, cli, run
from tests.cli.conftest import Call


def options_by_section(text: str) -> dict[str, list[str]]:
    """The long names of options under each heading of a help."""
    sections: dict[str, list[str]] = {}
    for line in text.splitlines():
        if heading := re.fullmatch(r"(\S.*):", line):
            sections[heading[1]] = []
        elif option := re.match(r"  (?:-\w, )?--(\S+)", line):
            list(sections.values())[-1].append(option[1])
    return sections


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_options_of_an_algorithm_stand_under_its_name(algorithm: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(lambda: run([algorithm, "--help-all"])) == 0
    _, heading, options = capsys.readouterr().out.partition("Common options:")
    sections = options_by_section(heading + options)
    own = [each.name.replace("_", "-") for each in fields(ALGORITHMS[algorithm].Options)]
    assert list(sections) == ["Common options", *([f"Options of {algorithm}"] if own else []), "Further options"]
    assert sections.get(f"Options of {algorithm}", []) == own
    assert sections["Common options"][:2] == ["input", "output"] and sections["Further options"][-1] == "help"


@pytest.mark.parametrize(("columns", "most"), [(300, 98), (70, 68)])
def test_lines_are_no_longer_than_reads_with_ease(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int, most: int
) -> None:
    """The margin is two wide."""
    monkeypatch.setenv("COLUMNS", str(columns))
    for command in ("mondrian", "release", "audit", "evaluate"):
        assert outcome(lambda name=command: run([name, "--help-all"])) == 0  # type: ignore[misc]
    assert most - 5 < max(map(len, capsys.readouterr().out.splitlines())) <= most


@pytest.mark.parametrize("command", ["mondrian", "datafly", "research-value"])
def test_every_option_of_a_release_stands_in_one_part_of_the_help(call: Call, command: str) -> None:
    lines = call(command, "--help-all").out.decode().splitlines()
    flags = [line.split("--", 1)[1].split()[0] for line in lines if line.lstrip().startswith("-") and "--" in line]
    assert len(flags) > 20 and len(set(flags)) == len(flags)


def test_help_has_what_most_people_need(call: Call) -> None:
    """The first paragraph, common options and the algorithm's own; the whole manual is a command away."""
    short, whole = (call("mondrian", option).out.decode() for option in ("--help", "--help-all"))
    assert short.startswith("Usage: anonymize mondrian") and len(short.splitlines()) < len(whole.splitlines()) / 2
    assert "What it guarantees" not in short and "What it guarantees" in whole
    sections, every = options_by_section(short.partition("\n\n")[2]), options_by_section(whole.partition("\n\n")[2])
    assert sections["Common options"] == every["Common options"]
    assert sections["Options of mondrian"] == every["Options of mondrian"]
    assert sections["Further options"] == ["help-all", "help"]


MANY = 15
"""Options from which on a help is a list that nobody reads."""


@pytest.mark.parametrize("name", [name for group in COMMANDS.values() for name in group])
def test_a_help_of_many_options_is_in_two_parts(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    if isinstance(command, click.Group) or len(options) <= MANY:
        return
    texts = []
    for wanted in ("--help", "--help-all"):
        assert outcome(lambda wanted=wanted: run([name, wanted])) == 0  # type: ignore[misc]
        texts.append(capsys.readouterr().out)
    short, whole = ([each for each in options if re.search(rf"^  .*{each.opts[-1]}\b", text, re.M)] for text in texts)
    assert whole == options and len(short) <= len(options) * 2 / 3
    assert {"-r", "--help-all"} <= {each.opts[0] for each in short}
