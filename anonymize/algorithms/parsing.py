"""An algorithm's options from texts, as `evaluate --option` and `compare --algorithms` take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anonymize.errors import Problem, UsageError


def parse_options(algorithm: Any, pairs: Sequence[str]) -> Any:
    """An algorithm's Options from texts NAME=VALUE. Raises UsageError for names and values that there are not."""
    fields = {each.name: each for each in algorithm.Options.__dataclass_fields__.values()}
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for pair in pairs:
        name, equals, text = pair.partition("=")
        each = fields.get(name.strip().replace("-", "_"))
        if each is None or not equals:
            hint = f"NAME=VALUE, of {', '.join(fields)}" if fields else f"{algorithm.ID} has none"
            problems.append(Problem(f"{pair}: is not an option of {algorithm.ID}", hint=hint))
            continue
        try:
            values[each.name] = _value(each, text.strip())
        except ValueError as error:
            problems.append(Problem(f"{pair}: {error}"))
    if problems:
        raise UsageError(problems)
    return algorithm.Options(**values)


def _value(each: Any, text: str) -> Any:
    choices = each.metadata["choices"]
    if isinstance(each.default, bool):
        if text.lower() not in ("true", "false", "yes", "no"):
            raise ValueError("expected true or false")
        return text.lower() in ("true", "yes")
    number = float if each.metadata["range"] else None
    if choices and (text in choices or number is None):
        if text not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return text
    kind = number if choices and number else type(each.default)
    try:
        return kind(text)
    except (TypeError, ValueError):
        raise ValueError(f"expected a value such as {each.default}") from None
