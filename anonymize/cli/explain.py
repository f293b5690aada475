"""`explain`: the manual of whatever has a name here, as the registries have it."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

import click
from click.shell_completion import CompletionItem

from anonymize.cli.exits import ADVICE, MEANINGS, put
from anonymize.cli.options import COLOR, with_options

LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
LEAD = re.compile(r"^(?:[A-Z][A-Za-z ]{2,24}|`--[a-z-]+`)[.:](?=\s)", re.MULTILINE)
CODE = re.compile(r"`[^`]*`")
SHORT = 4
"""So many letters are in too many names to mean one that holds them."""


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    names = (name for name in _known() if name.startswith(incomplete))
    return [CompletionItem(name) for name in names]


@click.command()
@with_options(click.argument("name", required=False, shell_complete=_complete), COLOR)
def explain(name: str | None, color: str) -> None:
    """Explain a privacy model, metric, algorithm, cut rule, attacker, exit code, figure of a report or key of the spec.

    NAME is as specs, reports and options have it, or the number of an exit code; `_` and `-` are the same, and so are
    capital and small letters. A name that means several things is explained in each. Without a NAME, all names are
    listed.
    """
    if name is None:
        for kind, manuals in _manuals().items():
            put(f"{kind}: {', '.join(manuals)}")
        return
    entries = list(_entries(name))
    if not entries:
        names = list(dict.fromkeys(map(_plain, _known())))
        holding = [each for each in names if len(name) > SHORT and _plain(name) in each]
        nearest = holding or get_close_matches(_plain(name), names)
        suggestion = f" Did you mean {nearest[0]!r}?" if nearest else " Without a name, all of them are listed."
        raise click.UsageError(f"Nothing here is called {name!r}.{suggestion}", click.get_current_context())
    for number, (title, manual) in enumerate(entries):
        _show(title, manual, color, first=number == 0)


def _manuals() -> dict[str, dict[str, str]]:
    """Kind -> name -> manual."""
    from anonymize.algorithms import ALGORITHMS
    from anonymize.algorithms.cuts import RULES
    from anonymize.attacks import ATTACKERS
    from anonymize.metrics import METRICS
    from anonymize.metrics.measures import MEASURES
    from anonymize.privacy import ALL

    return {
        "privacy model": {name: _of_model(name) for name in ALL},
        "metric": {name: _of_metric(metric) for name, metric in METRICS.items()},
        "measure of evaluate": {name: _doc(measure) for name, measure in MEASURES.items()},
        "algorithm": {name: _doc(algorithm) for name, algorithm in ALGORITHMS.items()},
        "cut rule": {name: _doc(rule) for name, rule in RULES.items()},
        "attacker": {name: _doc(attacker) for name, attacker in ATTACKERS.items()},
        "exit code": {str(code): _of_code(code) for code in MEANINGS},
        "figure of a report": _figures(),
        "key of the spec": _keys(),
    }


def _known() -> list[str]:
    return [name for manuals in _manuals().values() for name in manuals]


def _entries(name: str) -> Iterator[tuple[str, str]]:
    """(what it is, its manual) of everything of that name."""
    for kind, manuals in _manuals().items():
        for each, manual in manuals.items():
            if _plain(each) == _plain(name):
                yield f"{each} ({kind})", manual


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("exit-")


def _doc(thing: Any) -> str:
    """The docstring of a module, of an object's class, or of the module that a class of rules is in."""
    if isinstance(thing, type):
        thing = sys.modules[thing.__module__]
    return inspect.cleandoc(inspect.getdoc(thing) or "")


def _of_model(name: str) -> str:
    """A model's manual, and its parameters."""
    from anonymize.privacy import ALL, PARAMETERS

    properties = PARAMETERS[name].model_json_schema()["properties"]
    lines = [f"    {key}: {' '.join(value['description'].split())}" for key, value in properties.items()]
    parameters = ["Parameters:", "\n".join(lines)] if lines else []
    return "\n\n".join([inspect.cleandoc(ALL[name].manual), *parameters])


def _of_metric(metric: Any) -> str:
    """A metric's manual, how it is computed, its bounds and which end of them is better."""
    from anonymize.metrics import computed

    return f"{_doc(metric)}\n\nComputed as: {computed(metric)}"


def _figures() -> dict[str, str]:
    """Figures of risk, each with what it means in the tables that have it."""
    from anonymize.report.risk import MEANINGS as FIGURES

    meanings: dict[str, list[str]] = {}
    for title, figures in FIGURES.items():
        before = ""
        for name, meaning in figures.items():
            before = meaning.replace("the same", before, 1) if meaning.startswith("the same") else meaning
            text = before.format(threshold="the risk that is allowed", k="k")
            meanings.setdefault(name, []).append(f"{title}: {text}.")
    return {name: "\n\n".join(texts) for name, texts in meanings.items()}


def _keys() -> dict[str, str]:
    """Keys of the spec, each with what the schema says of it."""
    from anonymize.spec.schema import FILE

    schema = json.loads(FILE.read_text(encoding="utf-8"))
    meanings: dict[str, dict[str, None]] = {}
    for part in (schema, *schema["$defs"].values()):
        for name, value in part.get("properties", {}).items():
            if text := value.get("description"):
                meanings.setdefault(name, {})[text] = None
    return {name: "\n\n".join(texts) for name, texts in meanings.items()}


def _of_code(code: int) -> str:
    meaning = MEANINGS[code]
    return "\n\n".join(filter(None, [f"{meaning[0].upper()}{meaning[1:]}.", LINK.sub(r"\1", ADVICE[code])]))


def _show(title: str, manual: str, color: str, *, first: bool) -> None:
    """On standard output: styled and wrapped on a terminal, as it is elsewhere."""
    from rich.text import Text

    from anonymize.report.terminal import console

    out = console(sys.stdout, color)
    if not out.is_terminal:
        put(f"{'' if first else chr(10)}{title}\n\n{manual}", lines=True)
        return
    if not first:
        out.print()
    out.print(Text(title, "bold underline"))
    for block in manual.split("\n\n"):
        indented = block.startswith("    ")
        text = Text(block if indented else " ".join(block.split()) if not block.startswith("- ") else block)
        text.highlight_regex(LEAD, "bold")
        text.highlight_regex(CODE, "cyan")
        out.print()
        out.print(text)
