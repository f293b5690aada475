"""The manual of whatever has a name here, as the registries have it."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from anonymize.errors import ADVICE, MEANINGS, UsageError

LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
CODE = re.compile(r"`([^`]+)`")
KEY = re.compile(r"`([a-z][a-z0-9_-]*(?: [a-z]+)?)`")
PACKAGE = Path(__file__).parent
Manuals = Mapping[str, Mapping[str, str]]
NOTHING: Manuals = {}
SHORT_NAME = 4
"""So many letters are in too many names to mean one that holds them."""


class Manual(str):
    """A text that a prompt of Python shows as it reads."""

    def __repr__(self) -> str:
        return str(self)


def explained(name: str, beside: Manuals = NOTHING) -> list[tuple[str, str]]:
    """(what it is, its manual) of everything of a name, or of its singular; `beside`: further manuals.

    Raises UsageError, with the nearest name, for one that nothing has."""
    for meant in (_plain(name), _plain(name).removesuffix("s")):
        if entries := _entries(meant, {**manuals(), **beside}):
            return entries
    names = list(dict.fromkeys(map(_plain, known(beside))))
    holding = [each for each in names if len(name) > SHORT_NAME and _plain(name) in each]
    nearest = holding or get_close_matches(_plain(name), names)
    suggestion = f" Did you mean {nearest[0]!r}?" if nearest else " Without a name, all of them are listed."
    raise UsageError(f"Nothing here is called {name!r}.{suggestion}")


@cache
def manuals() -> Manuals:
    """Kind -> name -> manual."""
    from anonymize.algorithms import ALGORITHMS
    from anonymize.algorithms.cuts import RULES
    from anonymize.attacks import ATTACKERS
    from anonymize.meaning.kinds import DEFINED
    from anonymize.metrics import METRICS
    from anonymize.metrics.measures import MEASURES
    from anonymize.privacy import MODELS
    from anonymize.publication import SAVE_RISK
    from anonymize.risk.population import global_risk
    from anonymize.risk.records import record_risks
    from anonymize.tabulating import MANUALS
    from anonymize.treatments import TREATMENTS
    from anonymize.verify import differential

    return {
        "privacy model": {name: _of_model(name) for name in MODELS},
        "requirement of a mechanism": {differential.DIFFERENTIAL: inspect.cleandoc(differential.__doc__ or "")},
        "metric": {name: _of_metric(metric) for name, metric in METRICS.items()},
        "measure of evaluate": {name: _doc(measure) for name, measure in MEASURES.items()},
        "algorithm": {name: _doc(algorithm) for name, algorithm in ALGORITHMS.items()},
        "treatment": {name: _of_treatment(name, _doc(method)) for name, method in TREATMENTS.items()},
        "mechanism of tables": {name: inspect.cleandoc(manual) for name, manual in MANUALS.items()},
        "cut rule": {name: _doc(rule) for name, rule in RULES.items()},
        "attacker": {name: _doc(attacker) for name, attacker in ATTACKERS.items()},
        "private file": {SAVE_RISK: _doc(record_risks)},
        "estimate of audit": {"log-linear": _doc(global_risk), "fit": _doc(global_risk)},
        "exit code": {str(code): _of_code(code) for code in MEANINGS},
        "meaning of a column": {name: f"{text[0].upper()}{text[1:]}." for name, text in DEFINED.items()},
        "figure of a report": _figures(),
        "key of the spec": _keys(),
        "value in a spec": _values(),
        "word": _words(),
    }


def known(beside: Manuals = NOTHING) -> list[str]:
    """Every name; `beside`: of further manuals as well."""
    return [name for entries in (*manuals().values(), *beside.values()) for name in entries]


def _entries(plain_name: str, by_kind: Manuals) -> list[tuple[str, str]]:
    titles: dict[str, str] = {}
    for kind, entries in by_kind.items():
        for each, manual in entries.items():
            if _plain(each) == plain_name:
                titles.setdefault(manual, f"{each} ({kind})")
    return [(title, manual) for manual, title in titles.items()]


def _plain(name: str) -> str:
    return re.sub(r"[_ ]", "-", name.strip().lower().lstrip("-")).removeprefix("exit-")


def _doc(thing: Any) -> str:
    """The docstring of a module, of a class, or of an object's class."""
    return inspect.cleandoc(inspect.getdoc(thing) or "")


def _of_model(name: str) -> str:
    """A model's manual, and its parameters."""
    from anonymize.privacy import MODELS, PARAMETERS

    properties = PARAMETERS[name].model_json_schema()["properties"]
    lines = [f"    {key}: {' '.join(value['description'].split())}" for key, value in properties.items()]
    parameters = ["Parameters:", "\n".join(lines)] if lines else []
    return "\n\n".join([inspect.cleandoc(MODELS[name].manual), *parameters])


def _of_treatment(name: str, manual: str) -> str:
    """A method's manual, and its keys."""
    from anonymize.spec.treatments import METHODS

    properties = METHODS[name].model_json_schema()["properties"]
    lines = [f"    {key}: {value['description']}" for key, value in properties.items() if key != "method"]
    return "\n\n".join([manual, "Keys of the step:", "\n".join(lines)])


def _of_metric(metric: Any) -> str:
    """A metric's manual, how it is computed, its bounds and which end of them is better."""
    from anonymize.metrics import computed

    return f"{_doc(metric)}\n\nComputed as: {computed(metric)}"


def _page(name: str) -> str:
    """A page of the documentation, which an installed package has in a folder of its own; links are left out."""
    packaged = PACKAGE / "manual"
    folder = packaged if packaged.is_dir() else PACKAGE.parent / "docs"
    return LINK.sub(r"\1", (folder / name).read_text(encoding="utf-8"))


@cache
def _figures() -> dict[str, str]:
    """What a report has, as its pages define it: by the rows of the tables, else by the paragraph that names it."""
    defined: dict[str, dict[str, None]] = {}
    named: dict[str, dict[str, None]] = {}
    for section in (part for page in ("report.md", "evaluate.md") for part in _page(page).split("\n## ")[1:]):
        title, _, text = section.partition("\n")
        blocks = [block.strip() for block in text.split("\n\n")]
        rows = [row.strip("| ").partition(" | ") for row in re.findall(r"^\| .*", text, re.MULTILINE)]
        for key in title.split(", "):
            defined.setdefault(key, {})["" if blocks[0].startswith("|") else blocks[0]] = None
        for first, _, cells in rows:
            meaning = cells.replace(" | ", "; ")
            for key in CODE.findall(first):
                defined.setdefault(key.rpartition(".")[2], {})[f"Under {title}: {meaning}."] = None
        for paragraph in [*(row[2] for row in rows), *(block for block in blocks if block[:1] != "|")]:
            for key in KEY.findall(paragraph):
                named.setdefault(key, {})[f"Under {title}: {paragraph}"] = None
    return _joined(named) | {key: text for key, text in _joined(defined).items() if text}


def _joined(meanings: Mapping[str, Iterable[str]]) -> dict[str, str]:
    return {name: "\n\n".join(filter(None, texts)) for name, texts in meanings.items()}


@cache
def _words() -> dict[str, str]:
    """The words of the field, as the glossary has them."""
    words: dict[str, dict[str, None]] = {}
    for line in _page("glossary.md").splitlines():
        names, bar, meaning = line.strip("| ").partition(" | ")
        if line.startswith("| ") and bar and names != "word":
            for name in re.split(r"[,;()]+ ?", names.replace("`", "")):
                if name.strip():
                    words.setdefault(name.strip(), {})[f"{meaning[0].upper()}{meaning[1:]}."] = None
    return _joined(words)


def _properties() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every key of the spec by its name, with its schema, wherever it stands."""
    from anonymize.spec.schema import FILE

    waiting: list[Any] = [json.loads(FILE.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, dict):
            yield from node.get("properties", {}).items()
        waiting += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()


@cache
def _keys() -> dict[str, str]:
    """Keys of the spec, each with what the schema says of it."""
    meanings: dict[str, dict[str, None]] = {}
    for name, value in _properties():
        if text := value.get("description"):
            meanings.setdefault(name, {})[text] = None
    return _joined(meanings)


@cache
def _values() -> dict[str, str]:
    """What a key of the spec can be set to, where that is one of some words."""
    meanings: dict[str, dict[str, None]] = {}
    for name, value in _properties():
        forms = [value, *value.get("anyOf", ()), *value.get("oneOf", ())]
        for word in (str(word) for form in forms for word in form.get("enum", ())):
            meanings.setdefault(word, {})[f"A value of {name}: {value.get('description', '')}"] = None
    return _joined(meanings)


def _of_code(code: int) -> str:
    meaning = MEANINGS[code]
    return "\n\n".join(filter(None, [f"{meaning[0].upper()}{meaning[1:]}.", LINK.sub(r"\1", ADVICE[code])]))
