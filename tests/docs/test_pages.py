"""The pages made from the code are fresh, complete, and about things that exist."""

from __future__ import annotations

import importlib.util
import inspect
import io
import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import numpy as np
import pytest
import yaml
from rich.console import Console

from anonymize import errors, privacy
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.algorithms.cuts import RULES
from anonymize.cli.main import COMMANDS, cli
from anonymize.link import load as load_link
from anonymize.metrics import METRICS
from anonymize.report.terminal import summarize
from anonymize.request import Request
from anonymize.spec import load
from anonymize.spec import make as make_spec

ROOT = Path(__file__).parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *(path for folder in ("docs", "configs", "benchmarks", "sample_data") for path in (ROOT / folder).rglob("*.md")),
]
HELP_WIDTH = 80
DEMO_REPORTS = ("demo/report.html", "demo/report.json", "demo/report.md")


def _load_script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_make", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.parent))  # as it is for a script, which finds its neighbours
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


make = _load_script(ROOT / "docs" / "make.py")


# --- freshness --------------------------------------------------------------------------------------------------------


MADE: dict[str, str] = make.pages()
"""The pages by name, made before any test has run: click keeps the help option of a command as it is first asked for,
which is another one where a test parses the command's line without the group that it belongs to."""


def test_pages_are_fresh() -> None:
    stale = [name for name, text in MADE.items() if not fresh(ROOT / name, text)]
    assert stale == [], "run `make docs`"


def fresh(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf8") == text


def test_no_page_of_a_command_that_is_gone() -> None:
    assert make.stray() == []


def test_pages_do_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "37")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert make.pages() == MADE


def test_all_blocks_are_in_use() -> None:
    used = {found[1] for name in make.WITH_BLOCKS for found in make.BLOCK.findall((ROOT / name).read_text("utf8"))}
    assert used == make.BLOCKS.keys()


@pytest.mark.parametrize("name", privacy.PARAMETERS)
def test_the_example_of_a_privacy_model_is_an_entry_of_a_spec(name: str) -> None:
    section = MADE["docs/privacy-models.md"].split(f"\n## {name}\n")[1]
    entry = re.search(r"```yaml\n- (.*)\n```", section)
    assert entry is not None
    given = {"version": 1, "quasi_identifiers": ["age"], "sensitive": {"NAME": {"type": "numeric"}}}
    entered = make_spec({**given, "privacy": {"models": [yaml.safe_load(entry[1])]}}, privacy.PARAMETERS)
    assert entered.privacy.models[0].model == name


# --- commands ---------------------------------------------------------------------------------------------------------


def _commands() -> list[tuple[str, str]]:
    return [(name, text) for group in COMMANDS.values() for name, (_, text) in group.items()]


@pytest.mark.parametrize(("name", "text"), _commands())
def test_command_is_registered_and_explained(name: str, text: str) -> None:
    command = make.commands()[name]
    assert isinstance(command, click.Command)
    assert command.name == name
    assert text.endswith(".") and text == text.strip()
    assert len(text) + len(name) + 4 <= HELP_WIDTH, "its line of help does not fit the terminal"
    assert (command.help or "").strip(), "it has no manual"
    assert (ROOT / "docs" / "commands" / f"{name}.md").exists(), f"{name} has no page: run `make docs`"


@pytest.mark.parametrize(("name", "text"), _commands())
def test_every_option_is_explained(name: str, text: str) -> None:
    options = [each for each in make.commands()[name].params if isinstance(each, click.Option)]
    assert [option.name for option in options if not option.help] == []


def test_every_algorithm_has_a_command() -> None:
    assert set(COMMANDS["Release"]) - {"tabulate"} == set(ALGORITHMS)


def test_every_command_is_listed_once() -> None:
    names = [name for name, _ in _commands()]
    assert len(names) == len(set(names))
    assert names == cli.list_commands(click.Context(cli))


# --- docstrings -------------------------------------------------------------------------------------------------------


REGISTERED = {
    **{f"algorithm {name}": module for name, module in ALGORITHMS.items()},
    **{f"cut rule {name}": sys.modules[rule.__module__] for name, rule in RULES.items()},
    **{f"privacy model {name}": sys.modules[model.parameters.__module__] for name, model in privacy.MODELS.items()},
    **{f"metric {name}": module for name, module in METRICS.items()},
}


@pytest.mark.parametrize("name", REGISTERED)
def test_registered_module_has_a_manual(name: str) -> None:
    manual = inspect.getdoc(REGISTERED[name]) or ""
    assert len(manual.split()) > 5, f"{name}: its module has no docstring, which is its manual"


@pytest.mark.parametrize("name", METRICS)
def test_metric_has_a_formula(name: str) -> None:
    assert METRICS[name].FORMULA.endswith(".")


# --- what the pages by hand say ---------------------------------------------------------------------------------------


def _blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf8"), re.DOTALL | re.MULTILINE)


def _command_lines() -> Iterator[tuple[str, str]]:
    """Every call of `anonymize` in the code blocks of a page, up to a pipe, a redirection or a comment."""
    for page in PAGES:
        for block in [text for language in ("sh", "yaml", "") for text in _blocks(page, language)]:
            for call in re.findall(r"(?:^|[|/ ])anonymize( [a-z-]+ [^|>#\n]*)", block, re.MULTILINE):
                yield str(page.relative_to(ROOT)), call.partition("||")[0].strip()


@pytest.mark.parametrize(("page", "line"), sorted(set(_command_lines())))
def test_command_line_in_a_page_is_accepted(page: str, line: str) -> None:
    name, *arguments = shlex.split(line)
    command = make.commands()[name]
    command.make_context(name, arguments, resilient_parsing=False)


def test_command_lines_are_found() -> None:
    assert len(list(_command_lines())) > 15


def test_links_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []


def test_exit_codes_are_all_explained() -> None:
    assert errors.ADVICE.keys() == errors.MEANINGS.keys()


PEOPLE = """name,email,age,zipcode,sex,illness,ward
A,a@x,31,02138,F,flu,1
B,b@x,32,02138,M,cold,1
C,c@x,33,02139,F,flu,2
D,d@x,34,02139,M,asthma,1
E,e@x,35,02138,F,cold,2
"""


MINIMAL = """version: 1
input: {path: people.csv}
identifiers: [name, email]
quasi_identifiers: {age: {type: numeric}, zipcode: {hierarchy: {mask: right}}, sex: }
sensitive: [illness]
insensitive: [ward]
privacy: {k: 5, l: 2}
"""


@pytest.fixture
def minimal(tmp_path: Path) -> Path:
    """A short spec, beside a table of its columns."""
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf8")
    spec = tmp_path / "spec.yaml"
    spec.write_text(MINIMAL, encoding="utf8")
    return spec


def _released(spec: Path) -> dict[str, Any]:
    algorithm = ALGORITHMS["mondrian"]
    loaded = load(spec, privacy.PARAMETERS)
    output = spec.with_name("released.csv")
    return release(Request(loaded, "mondrian", algorithm.Options(), output=str(output), threads=1))


def test_the_readme_shows_what_the_demo_makes(tmp_path: Path) -> None:
    """A row of the sample before, its whole class after, and the summary."""
    section = (ROOT / "README.md").read_text(encoding="utf8").partition("## What comes out\n")[2]
    before, after, summary = section.split("```\n")[1:6:2]
    spec = load(ROOT / "configs/first.yaml", privacy.PARAMETERS)
    released, link = tmp_path / "released.csv", tmp_path / "link.json"
    request = Request(spec, "release", ALGORITHMS["release"].Options(), output=str(released), save_link=str(link))
    report = release(request)
    sample = (ROOT / "sample_data/patients.csv").read_text(encoding="utf8").splitlines()
    header, original = before.splitlines()
    assert header == sample[0]
    header, *rows = released.read_text(encoding="utf8").splitlines()
    own = rows[int(np.flatnonzero(load_link(link).rows == sample.index(original) - 1)[0])]
    known = len(spec.quasi_identifiers)
    its_class = [row for row in rows if row.split(",")[:known] == own.split(",")[:known]]
    assert after.splitlines() == [header, *its_class]
    shown = io.StringIO()
    summarize(
        report,
        Console(file=shown, width=HELP_WIDTH),
        {"publish": ["demo/patients.csv"], "keep private": list(DEMO_REPORTS)},
    )
    assert [line.rstrip() for line in summary.splitlines()] == [line.rstrip() for line in shown.getvalue().splitlines()]


def test_every_figure_of_a_report_is_defined(minimal: Path) -> None:
    report = json.loads(json.dumps(_released(minimal)))
    text = (ROOT / "docs" / "report.md").read_text(encoding="utf8")
    others = {"age", "zipcode", "sex", "ward", "illness"} | set(report["algorithm"]["options"])
    assert sorted(name for name in set(_keys(report)) - others if not re.search(f"`{name}`|## .*{name}", text)) == []


def _keys(node: Any) -> Iterator[str]:
    """Names of all figures, without the parameters of privacy models and the titles of blocks."""
    if isinstance(node, list):
        for item in node:
            yield from _keys(item)
    if isinstance(node, dict):
        for name, value in node.items():
            if name not in ("required", "achieved") and not isinstance(value, dict):
                yield name
            if name not in ("required", "achieved"):
                yield from _keys(value)
