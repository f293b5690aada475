"""Which combinations of attributes mu-Argus tests, how much work that would be, which is known before it begins, and
which value each unsafe one loses."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heapreplace
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


Value: TypeAlias = tuple[int, int]
"""Number of an attribute, and which of the nodes of its level."""


def lost_values(unsafe: Sequence[tuple[Value, ...]]) -> list[int]:
    """The attribute that each combination loses: greedily that of the value in most combinations which are left.

    Ties: the lowest attribute, then the lowest value.
    """
    within: dict[Value, list[int]] = defaultdict(list)
    for number, values in enumerate(unsafe):
        for value in values:
            within[value].append(number)
    left = {value: len(numbers) for value, numbers in within.items()}
    lost = [-1] * len(unsafe)
    heap = [(-count, value) for value, count in left.items()]
    heapify(heap)
    while heap:
        count, value = heap[0]
        if left[value] and -count > left[value]:
            heapreplace(heap, (-left[value], value))
            continue
        heappop(heap)
        for number in within[value] if left[value] else ():
            if lost[number] < 0:
                lost[number] = value[0]
                for each in unsafe[number]:
                    left[each] -= 1
    return lost
