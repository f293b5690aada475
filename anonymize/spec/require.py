"""Privacy models of the command line beside those of a spec."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from anonymize.errors import Problem, SpecError, UsageError
from anonymize.spec import checks
from anonymize.spec.document import value_of
from anonymize.spec.load import Models, parameters_of
from anonymize.spec.model import ModelEntry, Passing, Spec
from anonymize.spec.shape import of_parameters

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
    strictest = _strictest(passing)
    privacy = spec.privacy.model_copy(update={"models": (*spec.privacy.models, *entries), "passing": strictest})
    changed = spec.model_copy(update={"privacy": privacy})
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
    shares = {
        name: min((share for each in bounds if (share := getattr(each, name)) is not None), default=None)
        for name in ("uniques", "below_k")
    }
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
    return name, value_of(value, name, of_parameters(model).below(name))
