"""pydantic's errors in the project's words: what the models expect at each place of the file, where that is, and
what was found."""

from __future__ import annotations

import difflib
import math
import types
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from anonymize.records import dataclass
from anonymize.spec.base import KeyPath
from anonymize.spec.hierarchy import BUILDERS
from anonymize.spec.model import ModelEntry, Spec
from anonymize.spec.treatments import METHODS

# --- what is expected -------------------------------------------------------------------------------------------------
# Derived from the models' annotations, so that a key is declared once, in `anonymize.spec.model`.

ANY = "*"  # stands for each name of a mapping, or each item of a list


@dataclass
class Shape:
    """What may stand at one place: the keys below it (or `ANY`) and the types of a value there."""

    keys: dict[str, Shape] = field(default_factory=dict)
    leaves: set[type] = field(default_factory=set)
    containers: set[type] = field(default_factory=set)

    @property
    def is_text(self) -> bool:
        """Whether a scalar here is text however it is written."""
        return bool(self.leaves) and self.leaves <= {str, Path}

    @property
    def names(self) -> tuple[str, ...]:
        """The known keys; none where any name will do."""
        return tuple(key for key in self.keys if key != ANY)

    def below(self, key: str | int) -> Shape:
        """The shape below a key or list item; an empty one if nothing is known there."""
        return self.keys.get(str(key)) or self.keys.get(ANY) or Shape()


@cache
def of_spec() -> Shape:
    """The shape of the whole file; the parameters of privacy models are not in it."""
    shape = Shape()
    _add(shape, Spec)
    return shape


def of_parameters(model: type[BaseModel]) -> Shape:
    """The shape of an entry of `privacy.models`: `model`, `attribute` and the parameters of that model."""
    shape = Shape()
    _add(shape, ModelEntry)
    for name in set(ModelEntry.model_fields) - {"model", "attribute"}:
        shape.keys.pop(name, None)
    _add(shape, model)
    return shape


def find(path: KeyPath, root: Shape | None = None) -> Shape:
    """The shape at a path."""
    shape = root or of_spec()
    for key in path:
        shape = shape.below(key)
    return shape


def _add(shape: Shape, annotation: Any) -> None:
    """Adds to a shape what an annotation allows."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        _add(shape, arguments[0])
    elif origin in (Union, types.UnionType):
        for argument in arguments:
            _add(shape, argument)
    elif origin in (tuple, dict):
        shape.containers.add(origin)
        for argument in arguments[1:] if origin is dict else arguments:
            _add(shape.keys.setdefault(ANY, Shape()), argument)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        shape.containers.add(dict)
        for name, info in annotation.model_fields.items():
            _add(shape.keys.setdefault(info.alias or name, Shape()), info.annotation)
    elif isinstance(annotation, type) and annotation is not types.NoneType:
        shape.leaves.add(annotation)
    elif origin is not None:
        shape.leaves.update(type(argument) for argument in arguments)


# --- what is said -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """Something wrong at a place of the values, before line and column are known."""

    path: KeyPath
    message: str
    hint: str | None = None
    at_key: bool = False  # the key is wrong, not its value

    @classmethod
    def of(
        cls, path: KeyPath, said: str, hint: str | None = None, *, key: str | None = None, at_key: bool = False
    ) -> Fault:
        """A fault whose message names a path; it lies at a `key` below that, if one is given."""
        return cls(path if key is None else (*path, key), f"`{dotted(path)}`: {said}", hint, at_key)


def faults(error: ValidationError, values: Any, root: Shape, base: KeyPath = ()) -> list[Fault]:
    """The faults of a failed validation of `values`, whose paths are below `base`."""
    raw = [(_existing(entry["loc"], values), entry) for entry in error.errors(include_url=False)]
    paths = [path for path, _ in raw]
    return [
        _fault(path, entry, root, base)
        for path, entry in raw
        if not (entry["type"] == "too_short" and any(len(p) > len(path) and p[: len(path)] == path for p in paths))
    ]


def dotted(path: KeyPath) -> str:
    """A path as people write it: `privacy.models[0].t`."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return text.removeprefix(".")


def _closest(name: object, names: Iterable[str], likeness: float) -> str | None:
    lower = {each.lower(): each for each in names}
    close = difflib.get_close_matches(str(name).lower(), lower, n=1, cutoff=likeness)
    return lower[close[0]] if close else None


def nearest(name: object, names: Iterable[str]) -> str | None:
    """A hint with the known name that is most like this one, if one is."""
    close = _closest(name, names, 0.6)
    return f"did you mean `{close}`?" if close else None


def misspelt(keys: Iterable[str]) -> dict[str, str]:
    """Keys at the top of the file that are unknown, each with the section that it is surely meant to be.

    What is below such a key is read as that section, so that one letter does not make errors all over the file.
    """
    present, sections = list(keys), of_spec().names
    unknown = (key for key in present if key not in sections)
    meant = {key: close for key in unknown if (close := _closest(key, sections, 0.75)) and close not in present}
    return {key: close for key, close in meant.items() if list(meant.values()).count(close) == 1}


def unknown_key(path: KeyPath, keys: Iterable[str]) -> Fault:
    """A key, the last of the path, that is none of the known ones."""
    hint = _elsewhere(str(path[-1])) or nearest_or_all(path[-1], keys)
    return Fault(path, f"unknown key `{path[-1]}`{_within(path[:-1])}", hint, at_key=True)


def nearest_or_all(name: object, accepted: Iterable[str]) -> str | None:
    """A hint with the nearest known name, or with all of them."""
    names = tuple(accepted)
    return nearest(name, names) or (f"known: {', '.join(names)}" if names else None)


def described(value: object) -> str:
    """What a value is, in words; long texts are cut."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"the number {_figure(value)}"
    if isinstance(value, str):
        return f'the text "{value if len(value) <= 30 else value[:27] + "..."}"'
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        text = ", ".join(str(item) for item in value)
        return f"the list [{text}]" if len(text) <= 30 else "a list"
    return "a mapping" if isinstance(value, dict) else "a list"


def _figure(value: float) -> str:
    if isinstance(value, int):
        return str(value) if abs(value) < 10**30 else "of more than 30 digits"
    return f"{value:g}" if math.isfinite(value) else f".{value}".replace(".-", "-.")


def _existing(loc: KeyPath, values: Any) -> KeyPath:
    """Where an error is in the values: pydantic's location without the names of union members."""
    path: KeyPath = ()
    for position, key in enumerate(loc):
        if isinstance(values, dict) and key in values:
            values = values[str(key)]
        elif isinstance(values, list) and isinstance(key, int) and key < len(values):
            values = values[key]
        elif position < len(loc) - 1 or not isinstance(values, dict):
            continue
        path = (*path, key)
    return path


def _fault(path: KeyPath, entry: Any, root: Shape, base: KeyPath) -> Fault:
    kind, value = entry["type"], entry["input"]
    full = (*base, *path)
    if kind == "missing":
        return Fault(full[:-1], f"`{path[-1]}` is missing{_within(full[:-1])}", at_key=True)
    if kind == "extra_forbidden":
        return unknown_key(full, find(path[:-1], root).names)
    if kind == "hierarchy_kind":
        return _hierarchy(full, value)
    if kind == "method":
        return _method(full, value)
    where = f"`{dotted(full)}`: " if full else ""
    sized = kind in ("too_short", "too_long")
    what = entry["ctx"].get("actual_length", len(value)) if sized else described(value)
    return Fault(full, f"{where}{_expected(entry)}, found {what}", _form_hint(entry))


def _expected(entry: Any) -> str:
    kind, details = entry["type"], entry.get("ctx", {})
    if kind == "value_error":
        return str(details["error"])
    if kind in ("too_short", "too_long"):
        bound, limit = ("at least", "min_length") if kind == "too_short" else ("at most", "max_length")
        return f"expected {bound} {details[limit]} {'entry' if details[limit] == 1 else 'entries'}"
    if kind == "literal_error":
        choices = [choice.lower() if choice in ("True", "False") else choice for choice in _choices(details)]
        return f"expected {choices[0]}" if len(choices) == 1 else f"expected one of {', '.join(choices)}"
    return f"expected {_EXPECTED[kind].format_map(details)}" if kind in _EXPECTED else str(entry["msg"])


def _choices(details: Mapping[str, Any]) -> list[str]:
    return [choice.strip("'") for choice in str(details["expected"]).replace(" or ", ", ").split(", ")]


def _form_hint(entry: Any) -> str | None:
    kind, value = entry["type"], entry["input"]
    if kind == "literal_error" and isinstance(value, str):
        return nearest(value, _choices(entry["ctx"]))
    if kind == "tuple_type" and not isinstance(value, dict):
        return f"a list of one is written [{value}]" if isinstance(value, str) and len(value) <= 30 else "write [...]"
    if kind in ("int_type", "float_type") and isinstance(value, str):
        if value.endswith("%"):
            return "a share is written from 0 to 1: 1 % is 0.01"
        return "numbers are written without quotes" if value.replace(".", "", 1).isdigit() else None
    return None


def _elsewhere(key: str) -> str | None:
    """A hint where a key is at the wrong place: at the top instead of in its section, or in another section."""
    sections = of_spec().keys
    if key in sections:
        return f"`{key}` stands at the top of the file"
    homes = [name for name, section in sections.items() if key in section.names]
    return f"`{key}` stands in `{homes[0]}`" if homes else None


def _within(path: KeyPath) -> str:
    return f" in `{dotted(path)}`" if path else ""


def _hierarchy(path: KeyPath, value: object) -> Fault:
    names = ", ".join(BUILDERS)
    expected = f"`{dotted(path)}`: expected a hierarchy file or one of the builders {names}"
    if not isinstance(value, dict):
        return Fault(path, f"{expected}, found {described(value)}")
    unknown = [key for key in value if key not in BUILDERS]
    if not unknown:
        return Fault(path, f"{expected}, found {len(value)} of them" if value else f"{expected}, found none")
    message = f"unknown builder `{unknown[0]}`{_within(path)}"
    return Fault((*path, unknown[0]), message, nearest_or_all(unknown[0], BUILDERS), at_key=True)


def _method(path: KeyPath, value: object) -> Fault:
    where, known = f"`{dotted(path)}`", f"known: {', '.join(METHODS)}"
    if not isinstance(value, dict):
        return Fault(path, f"{where}: expected a mapping, found {described(value)}")
    if "method" not in value:
        return Fault(path, f"`method` is missing in {where}", known, at_key=True)
    name = value["method"]
    return Fault((*path, "method"), f"unknown method `{name}`{_within(path)}", nearest(name, METHODS) or known)


_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "text",
    "path_type": "a path",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "a number of {ge:g} or more",
    "less_than": "a number below {lt:g}",
    "less_than_equal": "a number of {le:g} or less",
}
"""By the type of pydantic's error, with its details."""
