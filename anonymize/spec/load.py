"""From a YAML file to a `Spec`, or to a list of COUNT queries: everything that is wrong with it in one error, each
with its line and column."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from anonymize.errors import Problem, SpecError
from anonymize.files import content_of
from anonymize.spec import checks, document, messages
from anonymize.spec.base import KeyPath, ModelParameters, Place
from anonymize.spec.blocks import Condition, Workload
from anonymize.spec.document import SPEC_BYTES, Document
from anonymize.spec.messages import Fault, dotted, faults, misspelt, nearest, unknown_key
from anonymize.spec.model import ModelEntry, NoParameters, Spec
from anonymize.spec.patterns import entry_of

# --- a spec -----------------------------------------------------------------------------------------------------------
# From a YAML file to a `Spec`: everything that is wrong with it in one error, each with its line and column.
#
# The file's values are validated as JSON in pydantic's strict mode: a list becomes a tuple and a text a path, but a
# text is never taken for a number, nor `true` for 1.

Models = Mapping[str, type[ModelParameters]]
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
    problems: list[Problem] = source.problems + [_problem(fault, source) for fault in fresh]
    if problems or spec is None:
        ordered: list[Problem] = sorted(dict.fromkeys(problems), key=_position)
        raise SpecError(ordered)
    return spec


def _position(problem: Problem) -> Place:
    return problem.line or 0, problem.column or 0


def _problem(fault: Fault, source: Document) -> Problem:
    places = source.keys if fault.at_key else source.places
    line, column = next((places[p] for p in _upward(fault.path) if p in places), (None, None))
    return Problem(fault.message, source.file or None, line, column, fault.hint)


def _upward(path: KeyPath) -> Iterable[KeyPath]:
    return (path[:length] for length in range(len(path), -1, -1))


# --- texts ----------------------------------------------------------------------------------------------------------


def _texts_of_categories(source: Document) -> None:
    """Values of attributes that are not numeric become the text that is written in the file: 02138, not 2138."""
    attributes = {
        name: _mapping(attribute).get("type")
        for section in _ATTRIBUTES
        for name, attribute in _mapping(source.values.get(section)).items()
    }
    for path, text in source.texts.items():
        column = _column_of_value(path)
        name = None if column is None else entry_of(attributes, str(column))
        is_text = column is not None and (name is None or attributes[name] != "numeric")
        if (is_text and text) or _is_protected(path):
            _put(source.values, path, text)


def _column_of_value(path: KeyPath) -> object:
    """The column to which a value in a rule or a selection belongs; None for any other path."""
    match path:
        case ("quasi_identifiers", column, "rules", int(), "keep_apart" | "keep_together", int()):
            return column
        case ("quasi_identifiers", column, "rules", int(), "keep"):
            return column
        case ("workload", "selections", int(), column, "in", int()):
            return column
    return None


def _is_protected(path: KeyPath) -> bool:
    """Whether a path is that of a value that a privacy model protects: it is the text that is written, of numbers too,
    which are compared as numbers."""
    match path:
        case ("privacy", "models", int(), "values", int()):
            return True
    return False


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _put(values: Any, path: KeyPath, value: object) -> None:
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
        path: KeyPath = ("privacy", "models", position)
        head = {key: entry[key] for key in _HEAD if key in entry}
        rest = {key: value for key, value in entry.items() if key not in _HEAD}
        parameters, of_entry = _parameters(head.get("model"), rest, models, path, folder)
        wrong += of_entry
        entries.append(_entry(head, parameters, source.keys.get(path, (None,))[0]))
        if isinstance(written[position], dict):
            written[position] = head
    return values, tuple(entries), wrong


def _entry(head: dict[str, Any], parameters: ModelParameters, line: int | None) -> ModelEntry:
    """An entry whose `model` and `attribute` are validated with the rest of the spec."""
    attribute = head.get("attribute")
    return ModelEntry.model_construct(
        model=head.get("model", ""),
        attribute=attribute if isinstance(attribute, str) else None,
        parameters=parameters,
        line=line,
    )


def _parameters(
    name: object, values: dict[str, Any], models: Models, path: KeyPath, folder: Path | None
) -> tuple[ModelParameters, list[Fault]]:
    if not isinstance(name, str):
        return NoParameters(), []  # reported with the rest of the spec
    if name not in models:
        hint = "; ".join(filter(None, (nearest(name, models), f"known: {', '.join(sorted(models))}")))
        return NoParameters(), [Fault((*path, "model"), f"unknown privacy model `{name}`", hint)]
    try:
        return _resolved(strictly(models[name], values), folder), []
    except ValidationError as error:
        return NoParameters(), _of_model(
            name, faults(error, values, messages.of_parameters(models[name]), path), models
        )


def parameters_of(name: str, values: dict[str, Any], models: Models) -> tuple[ModelParameters, list[Fault]]:
    """A privacy model's parameters from values as YAML has them, paths as they are; and what is wrong with them."""
    return _parameters(name, values, models, (), None)


def _of_model(name: str, wrong: list[Fault], models: Models) -> list[Fault]:
    """Adds the parameters that a model has to what is said about missing and unknown ones."""
    hint = f"parameters of {name}: {', '.join(models[name].model_fields) or 'none'}"
    return [replace(each, hint=each.hint or hint) if each.at_key else each for each in wrong]


def _resolved(parameters: ModelParameters, folder: Path | None) -> ModelParameters:
    """Parameters with their paths relative to the folder of the spec file."""
    paths = {name: folder / value for name, value in parameters if folder and isinstance(value, Path)}
    return parameters.model_copy(update=paths) if paths else parameters


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
    section = fault.path[0] if fault.path else "version"
    is_attribute = section in _ATTRIBUTES
    path = fault.path[: 3 if is_attribute else 2]
    if section == "version":
        values["version"] = 1
        return True
    if path in (("quasi_identifiers",), ("sensitive",)):
        return False
    if section in ("identifiers", "insensitive", "undecided"):
        names = values[str(section)] if len(path) == 2 else []
        values[str(section)] = list(takewhile(lambda name: isinstance(name, str), names))
        return _without_selections(values)
    if is_attribute and (len(path) == 2 or path[2] == "type"):
        _put(values, path[:2], {})
        return _without_selections(values)
    parent = values
    for key in path[:-1]:
        parent = _mapping(parent.get(str(key)))
    parent.pop(str(path[-1]), None)
    return True


def _without_selections(values: dict[str, Any]) -> bool:
    """Selections cannot be checked against columns that are in doubt."""
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


def load_queries(spec: Spec, path: str | Path) -> tuple[dict[str, Condition], ...]:
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
    try:
        workload = strictly(Workload, {"selections": [_numbers(spec, each) for each in values]})
    except ValidationError as error:
        wrong = [_name(entry["loc"]) for entry in error.errors(include_url=False, include_input=False)]
        hint = "a condition is {from: NUMBER}, {to: NUMBER}, both, or {in: [VALUE, ...]}"
        raise SpecError(
            [Problem(f"{name}: no condition", str(file), hint=hint) for name in dict.fromkeys(wrong)]
        ) from None
    faults = list(checks.selections(spec.model_copy(update={"workload": workload})))
    if faults:
        raise SpecError([Problem(_plain(fault.message), str(file), hint=fault.hint) for fault in faults])
    return workload.selections


def _numbers(spec: Spec, query: dict[str, Any]) -> dict[str, Any]:
    """A query with the texts of numbers as numbers."""
    kinds = {name: attribute.type for name, attribute in spec.quasi_identifiers.items()}
    return {name: _number(value, kinds.get(name) == "numeric") for name, value in query.items()}


def _number(condition: Any, numeric: bool) -> Any:
    if not isinstance(condition, dict):
        return condition
    return {
        key: [_parsed(each) if numeric else each for each in value]
        if isinstance(value, list)
        else _parsed(value)
        if key in _ENDS
        else value
        for key, value in condition.items()
    }


def _parsed(text: Any) -> Any:
    try:
        return int(text) if str(text).lstrip("+-").isdecimal() else float(text)
    except (TypeError, ValueError):
        return text


def _name(location: tuple[int | str, ...]) -> str:
    """Which query, from 1, and which column."""
    position = next((each for each in location if isinstance(each, int)), 0)
    column = next((str(each) for each in location[2:3]), "")
    return f"query {position + 1}" + (f", `{column}`" if column else "")


def _plain(message: str) -> str:
    """A message about the workload of a spec, as one about a list."""
    return message.replace(dotted(("workload", "selections")), "query")
