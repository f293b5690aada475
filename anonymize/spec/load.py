"""From a YAML file to a `Spec`, or to a list of COUNT queries: everything that is wrong with it in one error, each
with its line and column.

The file's values are validated as JSON in pydantic's strict mode: a list becomes a tuple and a text a path, but a text
is never taken for a number, nor `true` for 1.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from anonymize.errors import Problem, SpecError
from anonymize.files import content_of
from anonymize.spec import base, blocks, checks, document, messages, patterns
from anonymize.spec.document import SPEC_BYTES, Document
from anonymize.spec.messages import Fault, dotted, faults, misspelt, nearest, unknown_key
from anonymize.spec.model import ModelEntry, NoParameters, Spec

Models = Mapping[str, type[base.ModelParameters]]
_ATTRIBUTES = ("quasi_identifiers", "sensitive")
_HEAD = ("model", "attribute")  # of an entry of `privacy.models`; the other keys are the model's parameters
_Model = TypeVar("_Model", bound=BaseModel)


def load(path: str | Path, models: Models) -> Spec:
    """Reads a spec file.

    `models` maps the name of each privacy model to the class of its parameters. Paths in the spec come out relative to
    the folder of the file. Raises SpecError with every problem found.
    """
    file = Path(path)
    source = document.read(file, messages.of_spec())
    _texts_of_categories(source)
    return _build(source, models, file)


def make(values: Mapping[str, Any], models: Models) -> Spec:
    """A spec from values as a YAML file would hold them, without a file; paths stay as they are.

    Raises SpecError with every problem found; they have no line.
    """
    meant = misspelt(values)
    named = {meant.get(name, name): section for name, section in values.items()}
    source = Document("", {name: _with_settings(name, section) for name, section in named.items()})
    source.problems += [_problem(unknown_key((key,), messages.of_spec().names), source) for key in meant]
    return _build(source, models, None)


def _with_settings(name: str, section: Any) -> Any:
    """A list of names, or names without settings, as names with default settings."""
    if name in _ATTRIBUTES and isinstance(section, list | tuple) and all(isinstance(item, str) for item in section):
        return {item: {} for item in section}
    if name in _ATTRIBUTES and isinstance(section, dict):
        return {item: {} if settings is None else settings for item, settings in section.items()}
    return section


def strictly(model: type[_Model], values: object, folder: Path | None = None) -> _Model:
    """Values as YAML has them, as a model. Raises pydantic's ValidationError."""
    return model.model_validate_json(json.dumps(values, default=str), strict=True, context={"folder": folder})


def _build(source: Document, models: Models, file: Path | None) -> Spec:
    folder = file.parent if file else None
    values, entries, wrong = _split_models(source, models, folder)
    spec, more = _validated(values, folder)
    wrong += more
    if spec is not None:
        privacy = spec.privacy.model_copy(update={"models": entries})
        spec = spec.model_copy(update={"privacy": privacy}).located(file, source.keys)
        spec._sha256 = source.sha256
        wrong += checks.check(spec)
    fresh = [fault for fault in wrong if fault.at_key or fault.path not in source.broken]
    problems = dict.fromkeys([*source.problems, *(_problem(fault, source) for fault in fresh)])
    if problems or spec is None:
        ordered: list[Problem] = sorted(problems, key=lambda each: (each.line or 0, each.column or 0))
        raise SpecError(ordered)
    return spec


def _problem(fault: Fault, source: Document) -> Problem:
    """With the line and column of the key or value, or of the nearest one above it that is written."""
    places = source.keys if fault.at_key else source.places
    upward = (fault.path[:length] for length in range(len(fault.path), -1, -1))
    line, column = next((places[path] for path in upward if path in places), (None, None))
    return Problem(fault.message, source.file or None, line, column, fault.hint)


# --- texts ----------------------------------------------------------------------------------------------------------


def _texts_of_categories(source: Document) -> None:
    """Values of attributes that are not numeric become the text that is written in the file: 02138, not 2138."""
    attributes = {
        name: _mapping(attribute).get("type")
        for section in _ATTRIBUTES
        for name, attribute in _mapping(source.values.get(section)).items()
    }
    for path, text in source.texts.items():
        match path:
            case (
                ("quasi_identifiers", column, "rules", int(), "keep_apart" | "keep_together", int())
                | ("quasi_identifiers", column, "rules", int(), "keep")
                | ("workload", "selections", int(), column, "in", int())
            ):
                name = patterns.entry_of(attributes, str(column))
                if text and (name is None or attributes[name] != "numeric"):
                    _put(source.values, path, text)
            case ("privacy", "models", int(), "values", int()):  # numbers too, which are compared as numbers
                _put(source.values, path, text)


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _put(values: Any, path: base.KeyPath, value: object) -> None:
    for key in path[:-1]:
        values = values[key]
    values[path[-1]] = value


# --- privacy models -------------------------------------------------------------------------------------------------


def _split_models(
    source: Document, models: Models, folder: Path | None
) -> tuple[dict[str, Any], tuple[ModelEntry, ...], list[Fault]]:
    """The values without the parameters of privacy models; the entries with them; and what is wrong with them."""
    values = copy.deepcopy(source.values)
    privacy = _mapping(values.get("privacy"))
    written = privacy.get("models")
    if not isinstance(written, list):
        return values, (), []
    entries: list[ModelEntry] = []
    wrong: list[Fault] = []
    for position, entry in enumerate(map(_mapping, written)):
        path: base.KeyPath = ("privacy", "models", position)
        head = {key: entry[key] for key in _HEAD if key in entry}
        rest = {key: value for key, value in entry.items() if key not in _HEAD}
        parameters, of_entry = _parameters(head.get("model"), rest, models, path, folder)
        wrong += of_entry
        attribute = head.get("attribute")  # validated, as `model` is, with the rest of the spec
        made = {"model": head.get("model", ""), "attribute": attribute if isinstance(attribute, str) else None}
        line = source.keys.get(path, (None,))[0]
        entries.append(ModelEntry.model_construct(**made, parameters=parameters, line=line))
        if isinstance(written[position], dict):
            written[position] = head
    return values, tuple(entries), wrong


def _parameters(
    name: object, values: dict[str, Any], models: Models, path: base.KeyPath, folder: Path | None
) -> tuple[base.ModelParameters, list[Fault]]:
    if not isinstance(name, str):
        return NoParameters(), []  # reported with the rest of the spec
    if name not in models:
        hint = "; ".join(filter(None, (nearest(name, models), f"known: {', '.join(sorted(models))}")))
        return NoParameters(), [Fault((*path, "model"), f"unknown privacy model `{name}`", hint)]
    try:
        parameters = strictly(models[name], values)
    except ValidationError as error:
        known = f"parameters of {name}: {', '.join(models[name].model_fields) or 'none'}"
        wrong = faults(error, values, messages.of_parameters(models[name]), path)
        return NoParameters(), [replace(each, hint=each.hint or known) if each.at_key else each for each in wrong]
    paths = {key: folder / value for key, value in parameters if folder and isinstance(value, Path)}
    return parameters.model_copy(update=paths) if paths else parameters, []


def parameters_of(name: str, values: dict[str, Any], models: Models) -> tuple[base.ModelParameters, list[Fault]]:
    """A privacy model's parameters from values as YAML has them, paths as they are; and what is wrong with them."""
    return _parameters(name, values, models, (), None)


# --- the rest -------------------------------------------------------------------------------------------------------


def _validated(values: dict[str, Any], folder: Path | None) -> tuple[Spec | None, list[Fault]]:
    """The spec, with defaults in place of what is wrong by itself so that the rest can be checked; and what is wrong.

    None in place of the spec if the rest cannot be checked without it.
    """
    try:
        return strictly(Spec, values, folder), []
    except ValidationError as error:
        wrong = faults(error, values, messages.of_spec())
    mended = copy.deepcopy(values)
    if not all(_mend(mended, fault) for fault in wrong):
        return None, wrong
    try:
        return strictly(Spec, mended, folder), wrong
    except ValidationError:
        return None, wrong


def _mend(values: dict[str, Any], fault: Fault) -> bool:
    """Takes what is wrong out of the values; False if the rest cannot be checked then."""
    section = str(fault.path[0]) if fault.path else "version"
    is_attribute, is_list = section in _ATTRIBUTES, section in ("identifiers", "insensitive", "undecided")
    path = fault.path[: 3 if is_attribute else 2]
    if is_attribute and len(path) == 1:
        return False
    if section == "version":
        values["version"] = 1
    elif is_list:
        names = values[section] if len(path) == 2 else []
        values[section] = list(takewhile(lambda name: isinstance(name, str), names))
    elif is_attribute and (len(path) == 2 or path[2] == "type"):
        _put(values, path[:2], {})
    else:
        parent = values
        for key in path[:-1]:
            parent = _mapping(parent.get(str(key)))
        parent.pop(str(path[-1]), None)
        return True
    if section != "version":  # selections cannot be checked against columns that are in doubt
        _mapping(values.get("workload")).pop("selections", None)
    return True


# --- queries ----------------------------------------------------------------------------------------------------------
# A file of COUNT queries: a YAML or JSON list of conditions, each as a selection of the spec's workload.
#
#     - {age: {from: 40, to: 49}, sex: {in: [F]}}
#     - {zipcode: {in: ["02138"]}}
#
# Scalars are the texts that are written; of a numeric quasi-identifier they are read as numbers.

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_ENDS = ("from", "to")


def load_queries(spec: Spec, path: str | Path) -> tuple[dict[str, blocks.Condition], ...]:
    """The queries of a file. Raises SpecError for what is not a list of conditions on quasi-identifiers."""
    file = Path(path)
    try:
        values = yaml.load(content_of(file, SPEC_BYTES).decode(), Loader=_LOADER)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        place = getattr(error, "problem_mark", None)
        reason = "is no YAML" if isinstance(error, yaml.YAMLError) else "cannot be read"
        line, column = (None, None) if place is None else (place.line + 1, place.column + 1)
        raise SpecError(Problem(reason, str(file), line, column)) from None
    if not isinstance(values, list) or not values or not all(isinstance(each, dict) and each for each in values):
        hint = "such as - {age: {from: 40}}"
        raise SpecError(Problem("is not a list of queries", str(file), hint=hint))
    numeric = {name for name, attribute in spec.quasi_identifiers.items() if attribute.type == "numeric"}
    queries = [{name: _with_numbers(each, name in numeric) for name, each in query.items()} for query in values]
    try:
        workload = strictly(blocks.Workload, {"selections": queries})
    except ValidationError as error:
        wrong = dict.fromkeys(_name(entry["loc"]) for entry in error.errors(include_url=False, include_input=False))
        hint = "a condition is {from: NUMBER}, {to: NUMBER}, both, or {in: [VALUE, ...]}"
        raise SpecError([Problem(f"{name}: no condition", str(file), hint=hint) for name in wrong]) from None
    if faults := list(checks.selections(spec.model_copy(update={"workload": workload}))):
        section = dotted(("workload", "selections"))
        raise SpecError([Problem(each.message.replace(section, "query"), str(file), hint=each.hint) for each in faults])
    return workload.selections


def _with_numbers(condition: Any, numeric: bool) -> Any:
    """A condition with its ends, and of a numeric column its values, as numbers."""
    if not isinstance(condition, dict):
        return condition
    read = {key: _parsed(value) for key, value in condition.items() if key in _ENDS and not isinstance(value, list)}
    lists = {key: list(map(_parsed, value)) for key, value in condition.items() if numeric and isinstance(value, list)}
    return condition | read | lists


def _parsed(text: Any) -> Any:
    try:
        return int(text) if str(text).lstrip("+-").isdecimal() else float(text)
    except (TypeError, ValueError):
        return text


def _name(location: tuple[int | str, ...]) -> str:
    """Which query, from 1, and which column."""
    position = next((each for each in location if isinstance(each, int)), 0)
    return f"query {position + 1}" + "".join(f", `{column}`" for column in location[2:3])
