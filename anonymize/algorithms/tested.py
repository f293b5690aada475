"""Which combinations of attributes mu-Argus tests, and how much work that would be: known before it begins."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TypeAlias

from anonymize.errors import Problem, UsageError

TESTED = (
    ("more", "yes"),
    ("most", "yes"),
    ("more", "most"),
    ("most", "most"),
    ("more", "most", "yes"),
    ("most", "most", "yes"),
    ("more", "most", "most"),
    ("most", "most", "most"),
)
"""How identifying the attributes of the tested combinations are, each in alphabetical order."""
TESTED_ROWS = 1 << 36
"""Rows that are grouped at most, in all tests of all steps; a test of few rows counts as one of `A_TEST`."""
A_TEST = 1 << 14

Subset: TypeAlias = tuple[int, ...]
"""Numbers of attributes, ascending."""


def tested(identifying: Iterable[str]) -> list[Subset]:
    """The pairs and triples of attributes that are tested, given how identifying each is."""
    classes = list(identifying)
    subsets = [subset for size in (2, 3) for subset in combinations(range(len(classes)), size)]
    if len(set(classes)) == 1:
        return subsets
    return [subset for subset in subsets if tuple(sorted(classes[index] for index in subset)) in TESTED]


def tested_count(identifying: Iterable[str]) -> int:
    """How many these are, without making them."""
    classes = Counter(identifying)
    if len(classes) == 1:
        return sum(math.comb(classes.total(), size) for size in (2, 3))
    return sum(math.prod(math.comb(classes[name], each.count(name)) for name in set(each)) for each in TESTED)


def check_tests(identifying: Sequence[str], steps: int, rows: int, most: int = TESTED_ROWS) -> None:
    """Raises UsageError where tests in each of so many steps, of that many distinct rows, would group more than `most`
    rows."""
    count = tested_count(identifying)
    if count * (steps + 1) * max(rows, A_TEST) > most:
        message = (
            f"{len(identifying)} quasi-identifiers have {count} pairs and triples to be tested, up to {steps + 1} times"
            f" in {rows} distinct rows, which is too much"
        )
        hint = (
            "name fewer quasi-identifiers, or say which are `identifying: most` or `more`, so that only combinations"
            " with these are tested; datafly looks at whole rows"
        )
        raise UsageError(Problem(message, hint=hint))
