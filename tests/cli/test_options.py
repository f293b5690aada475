"""Options that several commands have."""

from __future__ import annotations

import os

import click
import pytest

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
    assert ended.code == 2 and "no size such as 500MB, 2GB or 1.5GiB" in ended.err
