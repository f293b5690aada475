"""A spec with something in its place: values and privacy models of the command line, and the columns of a table
where it names them by patterns."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from pydantic import BaseModel, ValidationError

from anonymize.errors import DataError, Problem, SpecError, UsageError
from anonymize.places import is_uri
from anonymize.spec import base, checks, document, messages, patterns
from anonymize.spec.load import Models, parameters_of, strictly
from anonymize.spec.model import ModelEntry, Passing, Privacy, Spec

# --- values of the command line ---------------------------------------------------------------------------------------

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
    changed = spec.model_copy(update={"privacy": _privacy(spec.privacy, given, problems)})
    if "path" in given:
        changed = changed.reading(path=given["path"] if is_uri(given["path"]) else Path(given["path"]))
    replaced = {("input" if name == "path" else "privacy", name) for name in given}
    places = {path: place for path, place in spec._places.items() if path not in replaced}
    changed = changed.located(spec.path, places, spec.overridden | given.keys())
    problems += [Problem(fault.message, hint=fault.hint) for fault in checks.check(changed)]
    if problems:
        raise UsageError(problems)
    return changed


def _privacy(privacy: Privacy, given: dict[str, Any], problems: list[Problem]) -> Privacy:
    thresholds = {name: value for name, value in given.items() if name in ("k", "l", "suppression")}
    fresh = _validated(Privacy, thresholds, problems)
    update: dict[str, Any] = {name: getattr(fresh, name) for name in thresholds} if fresh is not None else {}
    if "t" in given:
        update["models"] = _with_t(privacy.models, given["t"], problems)
    return privacy.model_copy(update=update)


def _with_t(entries: tuple[ModelEntry, ...], t: float, problems: list[Problem]) -> tuple[ModelEntry, ...]:
    """The entries, with `t` as the distance that they bound, where they bound one."""
    changed = list(entries)
    for place, entry in enumerate(entries):
        if (name := entry.parameters.name_of(base.Means.DISTANCE)) is not None:
            values = entry.parameters.model_dump(mode="json") | {name: t}
            parameters = _validated(type(entry.parameters), values, problems) or entry.parameters
            changed[place] = entry.model_copy(update={"parameters": parameters})
    if not any(entry.parameters.name_of(base.Means.DISTANCE) for entry in entries):
        problems.append(Problem("-t: the spec has no t-closeness model", hint="add one under `privacy.models`"))
    return tuple(changed)


def _validated(model: type[BaseModel], values: dict[str, Any], problems: list[Problem]) -> Any:
    try:
        return strictly(model, values)
    except ValidationError as error:
        for fault in messages.faults(error, values, messages.Shape()):
            option = OPTIONS.get(str(fault.path[0]) if fault.path else "t", "-t")
            message = fault.message.partition(": ")[2] or fault.message
            problem = Problem(f"{option}: {message}", hint=fault.hint)
            if problem not in problems:
                problems.append(problem)
        return None


# --- privacy models of the command line -------------------------------------------------------------------------------

PASSING = "passing"
"""In place of a model: what `privacy.passing` bounds."""
FORM = "MODEL [PARAMETER=VALUE ...] [attribute=NAME]"


def require(spec: Spec, texts: Sequence[str], models: Models) -> Spec:
    """The spec with further entries of `privacy.models`, each written as a line of words: `t-closeness t=0.3`.

    Words are parted as a shell parts them, so that a name with a space can be quoted; a value is read as a spec file
    has it: `t=1e-3`, `frequency-l-diversity l=2 "values=[positive, not known]"`. `passing uniques=0.01 below_k=0.05` is
    the `privacy.passing` of a spec; of two the stricter holds.
    `models` is as in `load`. Raises UsageError, with all problems.
    """
    problems: list[Problem] = []
    bounds = [text for text in texts if text.split()[:1] == [PASSING]]
    entries = [entry for text in texts if text not in bounds and (entry := _entry(text, models, problems)) is not None]
    passing = [bound for text in bounds if (bound := _passing(text, problems)) is not None]
    passing += [spec.privacy.passing] if spec.privacy.passing else []
    update = {"models": (*spec.privacy.models, *entries), "passing": _strictest(passing)}
    changed = spec.model_copy(update={"privacy": spec.privacy.model_copy(update=update)})
    changed = changed.located(spec.path, spec._places, spec.overridden)
    if not problems:
        problems = [Problem(f"--require: {each.message}", hint=each.hint) for each in checks.check(changed)]
    if problems:
        raise UsageError(problems)
    return changed


def _passing(text: str, problems: list[Problem]) -> Passing | None:
    """What columns that pass through may single out."""
    try:
        made = Passing.model_validate(dict(_pair(word, Passing) for word in shlex.split(text)[1:]))
        if made == Passing():
            raise ValueError(text)
        return made
    except (ValueError, SpecError):  # of a word that is not a pair, and of pydantic
        expected = f"{PASSING} uniques=SHARE below_k=SHARE (one or both, shares from 0 to 1) accept_derived=[COLUMN]"
        problems.append(Problem(f'--require "{text}": expected {expected}'))
        return None


def _strictest(bounds: Sequence[Passing]) -> Passing | None:
    """The smallest share of each, and the columns that any of them accepts; None of none."""
    if not bounds:
        return None
    shares: dict[str, float] = {}
    for name, share in (pair for each in bounds for pair in each.bounds.items()):
        shares[name] = min(share, shares.get(name, share))
    accepted = dict.fromkeys(name for each in bounds for name in each.accept_derived)
    return Passing(**shares, accept_derived=tuple(accepted))


def _entry(text: str, models: Models, problems: list[Problem]) -> ModelEntry | None:
    try:
        name, *words = shlex.split(text)
        pairs = [_pair(word, models.get(name, ModelEntry)) for word in words]
    except (ValueError, SpecError):
        problems.append(Problem(f'--require "{text}": expected {FORM}'))
        return None
    values = dict(pairs)
    if len(values) < len(pairs):
        problems.append(Problem(f'--require "{text}": a parameter is given twice'))
        return None
    attribute = values.pop("attribute", None)
    parameters, wrong = parameters_of(name, values, models)
    problems += [Problem(f'--require "{text}": {each.message}', hint=each.hint) for each in wrong]
    return ModelEntry(model=name, attribute=None if attribute is None else str(attribute), parameters=parameters)


def _pair(word: str, model: type[BaseModel]) -> tuple[str, Any]:
    """PARAMETER=VALUE, of a model's parameters. Raises ValueError for a word that is not such a pair, SpecError for a
    value that is none."""
    name, sign, value = word.partition("=")
    if not (name and sign and value):
        raise ValueError(word)
    return name, document.value_of(value, name, messages.of_parameters(model).below(name))


# --- columns of a table -----------------------------------------------------------------------------------------------


def resolve(spec: Spec, columns: Sequence[str]) -> Spec:
    """The spec with a name in place of every pattern, and every column in a section that `others` speaks of.

    A spec without patterns and `others` is returned as it is, and so is one that has been resolved. Raises DataError
    for columns that patterns give two roles; SpecError, with all problems, for what is wrong between the keys of the
    spec once its columns are known.
    """
    expanded = patterns.expand(spec, columns)
    if expanded is not spec:
        problems = [expanded.problem(fault.path, fault.message, fault.hint) for fault in checks.check(expanded)]
        if problems:
            steps = (name for step in spec.treatments for name in (*step.treated, *step.read))
            path = spec.input.path
            check_separator(columns, [*steps, *spec.roles()], spec.input.separator, None if path is None else str(path))
            raise SpecError(problems)
    return expanded


def check_separator(columns: Sequence[str], names: Iterable[str], separator: str, file: str | None) -> None:
    """Raises DataError for a header, none of whose columns has one of the names that are looked for, that another
    separator would part into some of these."""
    names = list(names)
    if not set(names).isdisjoint(columns):
        return
    wanted = {name.strip().casefold() for name in names}
    for mark in ",;\t|":
        parts = [part for column in columns if mark in column for part in column.split(mark)]
        if not wanted.isdisjoint(part.strip().casefold() for part in parts):
            many = "one column" if len(columns) == 1 else f"{len(columns)} columns"
            message = f"the header is {many} when {separator!r} is the separator"
            written = mark.replace("\t", r"\t")
            raise DataError(Problem(message, file, line=1, hint=f'set input.separator: "{written}"'))


def with_meaning(spec: Spec, missing_as: str | None) -> Spec:
    """The spec with another meaning of missing."""
    if missing_as is None:
        return spec
    return spec.model_copy(update={"privacy": spec.privacy.model_copy(update={"missing": missing_as})})


def with_populations(spec: Spec, population: str | Path | None) -> Spec:
    """The spec with a population for the journalist's risk, where it bounds that and names none."""
    if population is None:
        return spec
    models = list(spec.privacy.models)
    for place, entry in enumerate(models):
        given: Any = entry.parameters
        if entry.model == "risk" and given.journalist_max is not None and given.population is None:
            parameters = given.model_copy(update={"population": Path(population)})
            models[place] = entry.model_copy(update={"parameters": parameters})
    return spec.model_copy(update={"privacy": spec.privacy.model_copy(update={"models": tuple(models)})})
