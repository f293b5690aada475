"""`explain`: the manual of everything that has a name."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from anonymize import errors
from anonymize._explain import explained as manuals_of
from anonymize._explain import known
from anonymize.algorithms import ALGORITHMS
from anonymize.algorithms.cuts import RULES
from anonymize.attacks import ATTACKERS
from anonymize.claims import Basis, State
from anonymize.cli import questions
from anonymize.cli.main import cli
from anonymize.cli.questions import explain, options
from anonymize.errors import UsageError
from anonymize.meaning.kinds import DEFINED
from anonymize.metrics import METRICS
from anonymize.metrics.measures import MEASURES
from anonymize.privacy import MODELS
from anonymize.report import SCHEMA
from anonymize.report.verdict import main_figures
from anonymize.table import memory
from anonymize.tabulating.written import BLANK, EMPTY, MARGIN, PUBLISHED
from tests.cli.conftest import Call

KINDS: dict[str, Iterable[str | int]] = {
    "privacy model": MODELS,
    "metric": METRICS,
    "measure of evaluate": MEASURES,
    "algorithm": ALGORITHMS,
    "cut rule": RULES,
    "attacker": ATTACKERS,
    "exit code": errors.MEANINGS,
    "requirement of a mechanism": ["differential-privacy"],
}


def explained(*arguments: str) -> str:
    ended = CliRunner().invoke(explain, list(arguments), terminal_width=100)
    assert ended.exit_code == 0, ended.output
    return ended.output


@pytest.mark.parametrize("kind", KINDS)
def test_everything_that_is_registered_has_a_manual(kind: str) -> None:
    for name in KINDS[kind]:
        text = explained(str(name))
        title = f"{name} ({kind})\n\n"
        assert title in text
        assert len(text.partition(title)[2].split()) > 2


def keys_of(schema: object) -> set[str]:
    """The names of all properties in a JSON schema."""
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    own = schema.get("properties", {}) if isinstance(schema, dict) else {}
    return {*own, *(name for each in inner for name in keys_of(each))}


def test_every_key_and_label_of_reports_tables_and_manifests_is_explained() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    report = {
        "privacy": {"models": [{"model": "k-anonymity", "satisfied": True, "basis": "measured"}]},
        "classes": {"min_size": 5},
        "risk": {"prosecutor_max": 0.2},
        "utility": {"gcp": 0.1},
        "tabulation": {"tables": [{"blank": 1, "groups": 3}]},
        "recoding": {"beta": 0.1, "k": 5},
        "output": {"rows": 9},
    }
    labels = [name for name, _, _ in main_figures(report)]
    words = [*labels, *map(str, State), *map(str, Basis), *DEFINED, PUBLISHED, BLANK, EMPTY, MARGIN, "status"]
    of_tables = ["exposed", "narrowest", "unsafe", "primary", "secondary", "changed", "wrong", "draws", "rho"]
    of_manifests = ["measurements", "selections", "sampler", "cliques", "neighbours", "sigma", "sensitivity", "decimal"]
    assert len(labels) == 7
    for name in (*keys_of(schema), *words, *of_tables, *of_manifests):
        assert manuals_of(name)


def test_without_a_name_all_are_listed() -> None:
    listed = explained()
    assert all(str(name) in listed for names in KINDS.values() for name in names)


def test_a_name_of_two_things_is_explained_in_both() -> None:
    assert "ncp (metric)" in explained("ncp") and "ncp (cut rule)" in explained("ncp")


def test_underscores_and_capitals_make_no_difference() -> None:
    assert explained("T_Closeness") == explained("t-closeness")
    assert "t: " in explained("t-closeness").partition("Parameters:")[2]


def test_a_line_parts_two_manuals_and_none_stands_before_the_first() -> None:
    text = explained("ncp")
    assert text.startswith("ncp (") and "\n\nncp (" in text[1:]


@pytest.mark.parametrize("column", ["fk", "Fk", "rk", "suda", "dis", "household", "fk_wildcard", "released"])
def test_a_saved_risk_is_explained_column_by_column(column: str) -> None:
    assert f"`{column}`" in explained("save-risk")


def test_a_code_a_metric_and_a_rule_are_explained_in_sentences() -> None:
    assert explained("0") == "0 (exit code)\n\nDone, every requirement met.\n"
    assert "From 0 to 1; lower is better" in explained("gcp") and "From 0; " in explained("discernibility")
    manual = inspect.getdoc(RULES["rate"]) or ""
    assert f"rate (cut rule)\n\n{manual}\n" in explained("rate")


def test_links_of_the_pages_are_left_out() -> None:
    assert "](" not in explained("1")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("k-anonimity", "k-anonymity"), ("recursive", "recursive-cl-diversity"), ("mondrain", "mondrian")],
)
def test_a_name_that_is_none_suggests_the_nearest(wrong: str, right: str) -> None:
    with pytest.raises(click.UsageError, match=f"Did you mean '{right}'"):
        explain.main([wrong], standalone_mode=False)


def test_a_name_like_none_that_there_is_is_told_where_all_are_listed() -> None:
    with pytest.raises(click.UsageError, match=r"called 'qqqq'\. Without a name, all of them are listed\."):
        explain.main(["qqqq"], standalone_mode=False)


def on_a_terminal(name: str) -> list[str]:
    """The lines of an explanation on a terminal of 80 columns, without their styles."""
    shown = CliRunner().invoke(explain, [name, "--color", "always"], color=True, env={"COLUMNS": "80"}).output
    return [line.rstrip() for line in click.unstyle(shown).splitlines()]


def test_paragraphs_are_filled_anew_on_a_terminal_and_what_is_indented_is_not() -> None:
    lines = on_a_terminal("recursive-cl-diversity")
    at = lines.index("Parameters:")
    assert [line.partition(":")[0] for line in lines[at + 2 : at + 4]] == ["    c", "    l"]
    assert lines[1] == "" and lines[2] != "" and max(map(len, lines[:at])) <= 80
    paragraph = explained("recursive-cl-diversity").split("\n\n")[1].split()
    filled = lines[2 : lines.index("", 2)]
    assert " ".join(filled).split() == paragraph
    assert all(len(f"{line} {after.split()[0]}") > 80 for line, after in pairwise(filled))


def test_lists_keep_their_items_on_a_terminal() -> None:
    items = [line[:20] for line in explained("t-closeness").splitlines() if line.startswith("- ")]
    assert len(items) > 1
    assert [line[:20] for line in on_a_terminal("t-closeness") if line.startswith("- ")] == items


def test_two_manuals_are_parted_by_a_line_on_a_terminal_too() -> None:
    lines = on_a_terminal("ncp")
    first, second, *_ = (number for number, line in enumerate(lines) if line.startswith("ncp ("))
    assert first == 0 and lines[second - 1] == ""


def test_styled_on_a_terminal_alone() -> None:
    plain = explained("gcp")
    assert "\x1b" not in plain
    styled = CliRunner().invoke(explain, ["gcp", "--color", "always"], color=True).output
    assert "\x1b[1m" in styled and click.unstyle(styled).split() == plain.split()


def test_what_is_code_is_coloured() -> None:
    styled = CliRunner().invoke(explain, ["k-anonymity", "--color", "always"], color=True).output
    assert "`" in explained("k-anonymity") and "\x1b[36m`k`" in styled


@pytest.mark.parametrize(
    "name", ["k", "l", "unit", "edges", "rare", "prosecutor_max", "uniques", "hierarchy", "levels"]
)
def test_words_of_specs_and_reports_are_explained(name: str) -> None:
    ended = CliRunner().invoke(explain, [name])
    assert ended.exit_code == 0 and ended.output.startswith(f"{name} (")
    assert "the same, " not in ended.output and "{threshold}" not in ended.output


def names_of_options(command: click.Command | None) -> Iterator[str]:
    for option in command.params if command else ():
        if isinstance(option, click.Option):
            yield from (*option.opts, *option.secondary_opts)
    for part in command.commands.values() if isinstance(command, click.Group) else ():
        yield from names_of_options(part)


def names_of_properties(node: Any) -> Iterator[str]:
    """Every key that a JSON Schema names, wherever."""
    if isinstance(node, dict):
        yield from node.get("properties", {})
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from names_of_properties(part)


def unexplained(names: Iterable[str]) -> list[str]:
    """Names without a manual. Of those that are listed as they are, every tenth is looked up as a user would."""
    listed, missing = {*known(options())}, []
    wanted = sorted(set(names))
    for name in [*(each for each in wanted if each.lstrip("-") not in listed), *wanted[::10]]:
        try:
            manuals_of(name, options())
        except UsageError:
            missing.append(name)
    return sorted({*missing})


def test_every_option_of_a_help_is_explained() -> None:
    context = click.Context(cli)
    names = [
        option for name in cli.list_commands(context) for option in names_of_options(cli.get_command(context, name))
    ]
    assert len(names) > 500 and unexplained(names) == []


@pytest.mark.parametrize("schema", [[], ["--report"]])
def test_every_key_of_a_spec_and_of_a_report_is_explained(schema: list[str]) -> None:
    printed = CliRunner().invoke(cli, ["schema", *schema])
    names = list(names_of_properties(json.loads(printed.output)))
    assert len(names) > 100 and unexplained(names) == []


@pytest.mark.parametrize(
    "word",
    ["role", "meanings", "exit codes", "--effort", "quasi-identifier", "rounded", "spans", "history", "codebook"],
)
def test_words_of_the_field_are_explained_in_singular_and_plural(word: str) -> None:
    assert unexplained([word, "no such word"]) == ["no such word"]


# --- doctor -----------------------------------------------------------------------------------------------------------


def test_a_machine_that_is_ready(call: Call, desk: object, tmp_path: Path) -> None:
    call("key", "make", "series.key")
    ended = call("doctor", "--key", "series.key", "--json")
    assert ended.code == errors.DONE
    looked = {each["about"]: each for each in json.loads(ended.out)}
    assert looked["polars"]["says"] == metadata.version("polars")
    assert {each["state"] for each in looked.values()} <= {"ok", "missing"}
    assert looked["key series.key"]["state"] == "ok" and "extra html" in looked
    assert json.loads(Path("series.key").read_text())["key"] not in ended.out.decode()
    assert b"memory" in call("doctor").out and call("doctor", "-q").out == b""


def test_a_key_that_others_may_read(call: Call, desk: object) -> None:
    call("key", "make", "series.key")
    Path("series.key").chmod(0o644)
    ended = call("doctor", "-q", "--key", "series.key")
    assert ended.code == errors.USAGE and "its mode is 0644" in ended.err


def test_a_folder_that_is_not_there(call: Call) -> None:
    ended = call("doctor", "-q", "--tmp", "/no/such/folder")
    assert ended.code == errors.CANNOT_WRITE and "cannot be written: No such file" in ended.err


def test_a_machine_without_memory_or_packages(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 1 << 20)
    assert call("doctor", "-q").code == errors.NO_MEMORY
    monkeypatch.setattr(metadata, "requires", lambda name: ["no-such>=1", "click>=99", 'nowhere; extra == "html"'])
    ended = call("doctor")
    assert ended.code == errors.USAGE
    assert "no-such: is not installed" in ended.err and "99 is the least" in ended.err
    assert b"nowhere: is not installed (pip install 'anonymize-toolkit[html]')" in ended.out


def test_a_package_that_was_not_installed_is_looked_at_as_far_as_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "DISTRIBUTION", "no-such-distribution")
    assert list(questions._packages()) == []
