"""The examples of a model's manual: a class that passes, and one that fails."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import yaml

from anonymize.privacy import Model

FORM = re.compile(
    r"\nExample: with (?P<given>.+?)(?:, in the table \((?P<table>.+?)\))?, "
    r"the class \((?P<passing>.+?)\) passes(?: with (?P<many>\d+) people under it)?,? "
    r"and the class \((?P<failing>.+?)\) fails(?: with (?P<few>\d+) people under it)?[.:]"
)


@dataclass(frozen=True)
class Example:
    """A class by its values, and the rows of the table that are in another class, if the manual names a table."""

    given: dict[str, Any]
    values: list[str]
    others: list[str]
    people: int | None
    passes: bool


def examples(model: Model) -> list[Example]:
    """Both classes of each example. AssertionError for a manual without."""
    matches = list(FORM.finditer(re.sub(r"(?<=\S)\n(?=\S)", " ", model.manual)))
    assert matches, f"{model.id}: its manual has no example of the form {FORM.pattern}"
    return [each for match in matches for each in _pair(match)]


def _pair(match: re.Match[str]) -> list[Example]:
    given = yaml.safe_load(f"{{{match['given']}}}")
    pairs = ((match["passing"], match["many"], True), (match["failing"], match["few"], False))
    return [_example(given, match["table"], *each) for each in pairs]


def _example(given: dict[str, Any], table: str | None, values: str, people: str | None, passes: bool) -> Example:
    rows = values.split(", ")
    others = Counter(table.split(", ")) - Counter(rows) if table else Counter[str]()
    assert not table or len(table.split(", ")) == len(rows) + others.total(), "the class is not a part of the table"
    return Example(given, rows, list(others.elements()), None if people is None else int(people), passes)
