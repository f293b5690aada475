"""Algorithms: from a table and its requirements to a recoding. One algorithm, one file, one line in `ALGORITHMS`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anonymize.algorithms.base import (
    Algorithm,
    Context,
    Needs,
    Registry,
    draws,
    files_of,
    reads_workload,
    to_be_reusable,
    why_not_reusable,
    without_effect,
    wrong_values,
)
from anonymize.errors import Problem, UsageError

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Context",
    "Needs",
    "draws",
    "files_of",
    "parse_options",
    "reads_workload",
    "to_be_reusable",
    "why_not_reusable",
    "without_effect",
    "wrong_values",
]

ALGORITHMS: Registry[Algorithm] = Registry(
    __name__,
    {
        "release": "recommended",
        "mondrian": "mondrian",
        "top-down": "top_down",
        "bottom-up": "bottom_up",
        "datafly": "datafly",
        "mu-argus": "mu_argus",
        "samarati": "samarati",
        "mingen": "mingen",
        "incognito": "incognito",
        "research-value": "research_value",
        "tds": "tds",
        "bug": "bug",
        "k-optimize": "k_optimize",
        "anatomy": "anatomy",
        "randomize": "randomize",
        "perturb": "perturb",
        "synthesize": "synthesize",
        "safepub": "safepub",
    },
)
"""By ID, and the module of each, which is imported when it is first asked for."""


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
    if choices and text in choices:
        return text
    if choices and not each.metadata["range"]:
        raise ValueError(f"expected one of {', '.join(choices)}")
    try:
        return float(text) if choices else type(each.default)(text)
    except (TypeError, ValueError):
        expected = f"one of {', '.join(choices)} or a number" if choices else f"a value such as {each.default}"
        raise ValueError(f"expected {expected}") from None
