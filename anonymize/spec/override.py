"""A spec with values of the command line in place of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict, Unpack

from pydantic import BaseModel, ValidationError

from anonymize.errors import Problem, UsageError
from anonymize.places import is_uri
from anonymize.spec import checks
from anonymize.spec.base import Means
from anonymize.spec.load import strictly
from anonymize.spec.messages import faults
from anonymize.spec.model import ModelEntry, Privacy, Spec
from anonymize.spec.shape import Shape

OPTIONS = {"k": "-k", "l": "-l", "t": "-t", "suppression": "--suppression", "path": "--input"}


class Overrides(TypedDict, total=False):
    """What the command line may replace; None leaves the spec's own."""

    k: int | None
    l: int | None  # noqa: E741
    t: float | None
    suppression: float | None
    path: str | Path | None


def override(spec: Spec, **values: Unpack[Overrides]) -> Spec:
    """A new spec with the given values in place of its own.

    `t` becomes the bound of every entry of `privacy.models` that bounds a distance from the whole table; `path` (the
    input's) is taken as it is, relative to the working directory. Raises UsageError, with all problems, for a value out
    of bounds, a `t` without such an entry, and an `l` without a sensitive attribute.
    """
    given: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    if unknown := given.keys() - OPTIONS.keys():
        raise TypeError(f"cannot override {', '.join(sorted(unknown))}")
    problems: list[Problem] = []
    privacy = _privacy(spec.privacy, given, problems)
    source = spec.input.model_copy(update={"path": _place(given["path"])}) if "path" in given else spec.input
    changed = spec.model_copy(update={"privacy": privacy, "input": source})
    places = {path: place for path, place in spec._places.items() if path not in _replaced(given)}
    changed = changed.located(spec.path, places, spec.overridden | given.keys())
    problems += [Problem(fault.message, hint=fault.hint) for fault in checks.check(changed)]
    if problems:
        raise UsageError(problems)
    return changed


def _place(path: str | Path) -> str | Path:
    return path if is_uri(path) else Path(path)


def _replaced(given: dict[str, Any]) -> set[tuple[str, str]]:
    return {("input" if name == "path" else "privacy", name) for name in given}


def _privacy(privacy: Privacy, given: dict[str, Any], problems: list[Problem]) -> Privacy:
    thresholds = {name: value for name, value in given.items() if name in ("k", "l", "suppression")}
    fresh = _validated(Privacy, thresholds, problems)
    update: dict[str, Any] = {name: getattr(fresh, name) for name in thresholds} if fresh is not None else {}
    if "t" in given:
        update["models"] = _with_t(privacy.models, given["t"], problems)
    return privacy.model_copy(update=update)


def _with_t(entries: tuple[ModelEntry, ...], t: float, problems: list[Problem]) -> tuple[ModelEntry, ...]:
    """The entries, with `t` as the distance that they bound, where they bound one."""
    if not any(entry.parameters.name_of(Means.DISTANCE) for entry in entries):
        problems.append(Problem("-t: the spec has no t-closeness model", hint="add one under `privacy.models`"))
    return tuple(_entry_with_t(entry, t, problems) for entry in entries)


def _entry_with_t(entry: ModelEntry, t: float, problems: list[Problem]) -> ModelEntry:
    name = entry.parameters.name_of(Means.DISTANCE)
    if name is None:
        return entry
    values = entry.parameters.model_dump(mode="json") | {name: t}
    parameters = _validated(type(entry.parameters), values, problems)
    return entry if parameters is None else entry.model_copy(update={"parameters": parameters})


def _validated(model: type[BaseModel], values: dict[str, Any], problems: list[Problem]) -> Any:
    try:
        return strictly(model, values)
    except ValidationError as error:
        for fault in faults(error, values, Shape()):
            option = OPTIONS.get(str(fault.path[0]) if fault.path else "t", "-t")
            message = fault.message.partition(": ")[2] or fault.message
            problem = Problem(f"{option}: {message}", hint=fault.hint)
            if problem not in problems:
                problems.append(problem)
        return None
