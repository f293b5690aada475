"""Options that several commands have."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click
import pytest

from anonymize.algorithms import ALGORITHMS
from anonymize.cli.main import COMMANDS, cli
from anonymize.cli.options import MEMORY
from tests.cli.conftest import Call


def threaded() -> list[str]:
    """The commands that have --threads."""
    made = {name: cli.get_command(click.Context(cli), name) for group in COMMANDS.values() for name in group}
    return [name for name, each in made.items() if each and "threads" in {option.name for option in each.params}]


@pytest.mark.parametrize("name", [*threaded(), "generate agrawal", "generate census"])
def test_threads_are_those_of_polars_too(call: Call, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", "7")
    files = {"attack": ("none.yaml", "none.csv"), "recode": ("none.json", "-i", "none.csv")}.get(name, ("none.yaml",))
    call(*name.split(), "--threads", 3, *(("--rows", 1, "-q") if "generate" in name else files))
    assert os.environ["POLARS_MAX_THREADS"] == "3"


@pytest.mark.parametrize(
    ("text", "size"),
    [("500MB", 500_000_000), ("2gb", 2_000_000_000), ("1.5GiB", 1.5 * 2**30), ("1 k", 1000), ("3TiB", 3 * 2**40)],
)
def test_sizes_have_units(text: str, size: int) -> None:
    @click.command()
    @MEMORY[0]
    def command(memory_limit: int) -> None:
        click.echo(memory_limit)

    assert command.make_context("command", ["--memory-limit", text]).params["memory_limit"] == size


@pytest.mark.parametrize("text", ["500", "GB", "1.GB", "-1GB", "2XB", "1e3MB"])
def test_what_is_no_size_is_refused(call: Call, text: str) -> None:
    ended = call("mondrian", "spec.yaml", f"--memory-limit={text}")
    assert ended.code == 2 and "is not a size such as 500MB, 2GB or 1.5GiB" in ended.err


RANGES = {
    "attack --max-excess": "[0, 1]",
    "attack --targets": "[1, )",
    "compare --processes": "[1, )",
    "compare --queries": "[0, )",
    "evaluate --queries": "[0, )",
    "evaluate --query-selectivity": "(0, 1]",
    "evaluate --query-bound": "[0, )",
    "evaluate --query-seeds": "[1, )",
    "evaluate --tree-depth": "[1, 12]",
    "evaluate --support-within": "[0, 1]",
    "evaluate --confidence-within": "[0, 1]",
    "evaluate --folds": "[2, )",
    "evaluate --test-share": "(0, 1)",
    "reconstruct --confidence": "(0, 1)",
    "generate agrawal --function": "[1, 10]",
    "generate agrawal --perturb": "[0, 1]",
    "generate agrawal --rows": "[0, )",
    "generate census --rows": "[0, )",
}
"""What an option takes that no other has; seeds are 0 at least, and threads 1."""


def commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """The command, or those under it, each with the words that it is called by."""
    if not isinstance(command, click.Group):
        yield name, command
        return
    for each in command.list_commands(click.Context(command)):
        under = command.get_command(click.Context(command), each)
        assert under is not None
        yield from commands(f"{name} {each}", under)


def test_an_option_takes_the_numbers_that_it_can_mean() -> None:
    """Of the commands that release, ranges are declared by the algorithms."""
    ranges = {}
    for name in cli.list_commands(click.Context(cli)):
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        for called, each in () if name in ALGORITHMS else commands(name, command):
            for option in each.params:
                kind = option.type
                if isinstance(kind, click.IntRange | click.FloatRange):
                    low = f"{'(' if kind.min_open else '['}{kind.min}"
                    high = ")" if kind.max is None else f"{kind.max}{')' if kind.max_open else ']'}"
                    ranges[f"{called} {option.opts[-1]}"] = f"{low}, {high}"
    common = {"--seed": "[0, )", "--threads": "[1, )"}
    assert all(ranges[name] == common[name.split()[-1]] for name in ranges if name.split()[-1] in common)
    assert {name: each for name, each in ranges.items() if name.split()[-1] not in common} == RANGES
