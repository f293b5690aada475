"""The spec that is meant where none is named."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest

from anonymize._attack import Attack
from anonymize._evaluate import Evaluate
from anonymize.algorithms import ALGORITHMS
from anonymize.auditing.request import Audit
from anonymize.cli.main import COMMANDS, cli
from anonymize.cli.options import MEMORY, NAME, spec_above, use_threads
from anonymize.evaluation.patterns import Tolerance, TreePlan
from anonymize.measuring import Measuring
from anonymize.metrics.queries import QueryPlan
from anonymize.modelling import Protocol
from anonymize.reconstruct import Reconstruct
from tests.cli.conftest import Call


def test_the_nearest_folder_counts(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / NAME).write_text("")
    assert spec_above(below) == Path("../..") / NAME
    (below / NAME).write_text("")
    assert spec_above(below) == Path(NAME)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="takes root to give a file away")
def test_a_file_of_somebody_else_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("")
    os.chown(tmp_path / NAME, 12345, 12345)
    assert spec_above(tmp_path) != Path(NAME)


# --- options ----------------------------------------------------------------------------------------------------------


def threaded() -> list[str]:
    """The commands that have --threads."""
    made = {name: cli.get_command(click.Context(cli), name) for group in COMMANDS.values() for name in group}
    return [name for name, each in made.items() if each and "threads" in {option.name for option in each.params}]


@pytest.mark.parametrize("name", [*threaded(), "generate agrawal", "generate census"])
def test_threads_are_those_of_polars_too(call: Call, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", "7")
    files = {
        "attack": ("none.yaml", "none.csv"),
        "recode": ("none.json", "-i", "none.csv"),
        "tabulate": ("none.yaml", "-o", "none"),
    }.get(name, ("none.yaml",))
    call(*name.split(), "--threads", 3, *(("--rows", 1, "-q") if "generate" in name else files))
    assert os.environ["POLARS_MAX_THREADS"] == "3"


@pytest.mark.parametrize(("cores", "threads"), [(8, 8), (None, 1)])
def test_there_is_a_thread_for_each_core_that_is_known(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, threads: int
) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", "7")
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert (use_threads(None), use_threads(3)) == (threads, 3)


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
    "compare --seeds": "[1, )",
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


def options() -> Iterator[tuple[str, click.Parameter, click.Context]]:
    """The options and arguments of the commands that do not release, by the words of the command."""
    for name in cli.list_commands(click.Context(cli)):
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        for called, each in () if name in ALGORITHMS else commands(name, command):
            yield from ((called, option, click.Context(each)) for option in each.params)


def test_an_option_takes_the_numbers_that_it_can_mean() -> None:
    """Of the commands that release, ranges are declared by the algorithms."""
    ranges = {}
    for called, option, _ in options():
        kind = option.type
        if isinstance(kind, click.IntRange | click.FloatRange):
            low = f"{'(' if kind.min_open else '['}{kind.min}"
            high = ")" if kind.max is None else f"{kind.max}{')' if kind.max_open else ']'}"
            ranges[f"{called} {option.opts[-1]}"] = f"{low}, {high}"
    common = {"--seed": "[0, )", "--threads": "[1, )"}
    assert all(ranges[name] == common[name.split()[-1]] for name in ranges if name.split()[-1] in common)
    assert {name: each for name, each in ranges.items() if name.split()[-1] not in common} == RANGES


DEFAULTS = {
    "attack --seed": 0,
    "attack --targets": 2000,
    "audit --threshold": 0.2,
    "compare --queries": 0,
    "compare --seeds": 1,
    "evaluate --queries": 1000,
    "evaluate --query-bound": 0,
    "evaluate --query-seeds": 1,
    "evaluate --tree-depth": 3,
    "evaluate --support-within": 0.1,
    "evaluate --confidence-within": 0.05,
    "evaluate --folds": 10,
    "evaluate --seed": 0,
    "reconstruct --confidence": 0.95,
    "generate agrawal --function": 1,
    "generate agrawal --perturb": 0,
    "generate agrawal --rows": 1000,
    "generate census --rows": 1000,
}
"""The number that an option is where it is not given."""


def test_the_help_shows_which_number_an_option_is_where_it_is_not_given() -> None:
    shown = {}
    for called, option, context in options():
        record = option.get_help_record(context) or ("", "")
        if number := re.search(r"\[.*default: ([0-9.]+)\b.*\]", record[1]):
            shown[f"{called} {option.opts[-1]}"] = float(number[1])
        given = option.get_default(context)
        if isinstance(given, int | float | tuple) and not isinstance(given, bool) and given != ():
            one = given[0] if isinstance(given, tuple) else given
            assert one == DEFAULTS[f"{called} {option.opts[-1]}"]
    assert shown == DEFAULTS


def test_the_help_shows_which_choice_is_made_where_none_is() -> None:
    chosen = [(option, context) for _, option, context in options() if isinstance(option.type, click.Choice)]
    defaults = [(option.get_default(context), option.get_help_record(context)) for option, context in chosen]
    shown = [(default, record[1]) for default, record in defaults if isinstance(default, str) and record]
    assert len(shown) > 10 and all(text.endswith(f"[default: {default}]") for default, text in shown)


@pytest.mark.parametrize(
    ("command", "asked", "names"),
    [
        ("attack", Attack, {"seed": "seed", "targets": "targets"}),
        ("audit", Audit, {"threshold": "threshold"}),
        ("compare", Measuring, {"queries": "queries"}),
        ("evaluate", Evaluate, {"queries": "queries", "seed": "seed"}),
        ("evaluate", Protocol, {"folds": "folds", "seed": "seed"}),
        (
            "evaluate",
            QueryPlan,
            {"number": "queries", "repeats": "query-seeds", "bound": "query-bound", "seed": "seed"},
        ),
        ("evaluate", TreePlan, {"depth": "tree-depth"}),
        ("evaluate", Tolerance, {"support": "support-within", "confidence": "confidence-within"}),
        ("reconstruct", Reconstruct, {"confidence": "confidence"}),
    ],
)
def test_what_python_users_ask_for_has_the_defaults_of_the_command(
    command: str, asked: Any, names: dict[str, str]
) -> None:
    own = {each.name: each.default for each in fields(asked) if each.name in names}
    assert own == {name: DEFAULTS[f"{command} --{option}"] for name, option in names.items()}


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("recode recoding.json", "--input"),
        ("series forget state somebody", "--key"),
        ("key rotate state new.key", "--key"),
    ],
)
def test_an_option_that_a_command_cannot_do_without_is_asked_for(call: Call, words: str, option: str) -> None:
    ended = call(*words.split())
    assert ended.code == 2 and "Missing option" in ended.err and option in ended.err


def test_the_help_says_which_options_may_be_repeated() -> None:
    for called, option, context in options():
        if isinstance(option, click.Option):
            names, text = option.get_help_record(context) or ("", "")
            said = "epeat" in text or ("A,B,..." in names and option.multiple)
            assert said == option.multiple, f"{called} {names}"
