"""Samarati: a k-minimal generalization, found by binary search on the height of the lattice.

What it does. A node of the lattice is good when the rows in classes that fail a requirement are at most MaxSup, the
spec's suppression limit. The height of a node is the sum of its levels. The lowest height at which any node is good is
found by bisection: where a height has a good node, the search goes on among the lower heights, otherwise among the
higher. Then all nodes of that height are checked, and the good node of highest precision is released (the one for which
the mean over all cells of level / height is least, where the cells of suppressed rows count 1 and attributes count by
their weights). Ties go to the first in lexicographic order.

`--all-minimal` (AllMin) walks the lattice from the bottom up and lists every minimal node, that is every good node with
no good node below it, in the report's `recoding` block: its levels, height, suppressed rows and classes, and what it
scores by the metrics that `incognito` has (lower is better). The same node is released.

What it guarantees. Every class meets every model of the spec within the suppression limit. What is released is minimal,
and no good node is lower. It is not the node of least loss: a higher one may show more. Bisection takes for granted
that above a good node there are good nodes only. That holds for models that stay met however many rows join a class
(k-anonymity, distinct l-diversity, squared error diversity), and for all monotone models when no row may be suppressed
and the spec has no `unit`. For others the heights are searched one after the other from the bottom, so that what is
said here holds for them too.
AllMin never takes it for granted.

What a node stands for, and which of its rows are suppressed: as in `incognito`.

Recoding model. Full-domain generalization with suppression of rows.

Cost. The nodes of about log2(height) heights are checked: at a height that has a good node only those up to the first
one, except at the lowest such height. AllMin checks every node that has no good node below it.

Reference. Samarati: Protecting respondents' identities in microdata release, IEEE TKDE 13(6), 2001.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from anonymize.algorithms.base import Context, Needs, option
from anonymize.algorithms.lattice.lattice import Vector
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.scores import Scorer
from anonymize.privacy import Requirement
from anonymize.recoding import Levels
from anonymize.table import Table

ID = "samarati"
NEEDS = Needs(family="full-domain", uses=frozenset({"levels", "weights"}), units=True)

LISTED = ("precision", "loss", "ncp", "discernibility", "c_avg", "entropy")
"""Metrics of the minimal nodes in the report."""
DIGITS = 10
"""Precisions that are equal in so many decimals are equal."""


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""

    all_minimal: bool = option(False, "List every minimal node with its metrics in the report.")


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Levels:
    """The most precise of the good nodes of the lowest height that has any."""
    checker = Checker(table, requirements, context.suppression_limit, context.progress, context.published)
    minimal = list(all_minimal(checker)) if options.all_minimal else lowest(checker)
    if not minimal:
        raise checker.infeasible()
    checker.settled(checker.total)
    height, scorer = min(map(sum, minimal)), Scorer(checker, "precision")
    best = min((round(scorer.score(vector)[0], DIGITS), vector) for vector in minimal if sum(vector) == height)[1]
    listed = {"minimal": [_described(checker, vector) for vector in minimal]} if options.all_minimal else {}
    return checker.recoding(best, {"height": height, **listed})


def lowest(checker: Checker) -> list[Vector]:
    """The good nodes of the lowest height that has any, in lexicographic order; none where no node is good."""
    height = _bisected(checker) if checker.monotone else _searched(checker)
    return list(_good(checker, height))


def _bisected(checker: Checker) -> int:
    """The lowest height with a good node, or the greatest height, where good nodes have good ones above them."""
    low, high = 0, sum(checker.lattice.top)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _has_good(checker, middle) else (middle + 1, high)
        checker.settled(checker.checked)
    return low


def _searched(checker: Checker) -> int:
    """The same, whatever the models."""
    heights = range(sum(checker.lattice.top) + 1)
    return next((height for height in heights if _has_good(checker, height)), heights[-1])


def _good(checker: Checker, height: int) -> Iterator[Vector]:
    """The good nodes of a height; checked one by one, as they are asked for."""
    return (vector for vector in checker.lattice.at_height(height) if checker.check(vector).safe)


def _has_good(checker: Checker, height: int) -> bool:
    """Whether a height has a good node; no node is checked after the first."""
    return next(_good(checker, height), None) is not None


def all_minimal(checker: Checker) -> Iterator[Vector]:
    """Every good node without a good node below it, by height, then lexicographically.

    A node above a good one is not looked at: it is not minimal, and the nodes above it are not either.
    """
    above: set[Vector] = set()
    for height in range(sum(checker.lattice.top) + 1):
        reached: set[Vector] = set()
        for vector in checker.lattice.at_height(height):
            good = vector not in above and checker.check(vector).safe
            if good:
                yield vector
            if good or vector in above:
                reached.update(checker.lattice.above(vector))
        above = reached
        checker.settled(checker.checked)


def _described(checker: Checker, vector: Vector) -> dict[str, Any]:
    """A minimal node as the report has it."""
    node = checker.check(vector)
    names = [attribute.name for attribute in checker.table.attributes]
    return {
        "levels": dict(zip(names, vector, strict=True)),
        "height": sum(vector),
        "suppressed_rows": node.suppressed,
        "classes": node.classes,
        "scores": {name: Scorer(checker, name).score(vector)[0] for name in LISTED},
    }
