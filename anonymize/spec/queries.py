"""A file of COUNT queries: a YAML or JSON list of conditions, each as a selection of the spec's workload.

    - {age: {from: 40, to: 49}, sex: {in: [F]}}
    - {zipcode: {in: ["02138"]}}

Scalars are the texts that are written; of a numeric quasi-identifier they are read as numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from anonymize.errors import Problem, SpecError
from anonymize.opening import content_of
from anonymize.spec import checks
from anonymize.spec.document import MOST
from anonymize.spec.load import strictly
from anonymize.spec.messages import dotted
from anonymize.spec.model import Spec
from anonymize.spec.workload import Condition, Workload

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_ENDS = ("from", "to")


def load(spec: Spec, path: str | Path) -> tuple[dict[str, Condition], ...]:
    """The queries of a file. Raises SpecError for what is not a list of conditions on quasi-identifiers."""
    file = Path(path)
    try:
        values = yaml.load(content_of(file, MOST).decode(), Loader=_LOADER)
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
