"""The manual of whatever has a name here, as the registries have it."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from anonymize.codes import ADVICE, MEANINGS
from anonymize.errors import UsageError

LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
SHORT = 4
"""So many letters are in too many names to mean one that holds them."""


class Manual(str):
    """A text that a prompt of Python shows as it reads."""

    def __repr__(self) -> str:
        return str(self)


def explained(name: str) -> list[tuple[str, str]]:
    """(what it is, its manual) of everything of a name. Raises UsageError, with the nearest one, for one that nothing
    has."""
    if entries := list(_entries(name)):
        return entries
    names = list(dict.fromkeys(map(_plain, known())))
    holding = [each for each in names if len(name) > SHORT and _plain(name) in each]
    nearest = holding or get_close_matches(_plain(name), names)
    suggestion = f" Did you mean {nearest[0]!r}?" if nearest else " Without a name, all of them are listed."
    raise UsageError(f"Nothing here is called {name!r}.{suggestion}")


def manuals() -> dict[str, dict[str, str]]:
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


def known() -> list[str]:
    return [name for entries in manuals().values() for name in entries]


def _entries(name: str) -> Iterator[tuple[str, str]]:
    """(what it is, its manual) of everything of that name."""
    for kind, entries in manuals().items():
        for each, manual in entries.items():
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
