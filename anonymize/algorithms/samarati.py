"""Samarati: a k-minimal generalization, found by binary search on the height of the lattice.

What it does. A node of the lattice is good if at most MaxSup rows, the spec's suppression limit, are in classes that
fail a requirement. The height of a node is the sum of its levels. The lowest height with a good node is found by
bisection: if a height has a good node, the search continues among the lower heights, otherwise among the higher. Then
all nodes of that height are checked, and the good node of highest precision is released: the one with the least
weighted mean of level / height over all cells, where the cells of suppressed rows count 1. Ties go to the first in
lexicographic order.

`--all-minimal` (AllMin) searches the lattice from the bottom up and lists every minimal node (every good node with no
good node below it) in the report's `recoding` block: its levels, height, suppressed rows and classes, and its scores by
the metrics of `incognito` (lower is better). The same node is released.

What it guarantees. Every class meets every model of the spec within the suppression limit. The released node is
minimal, and no good node is lower. It need not have the least loss: a higher one may show more. Bisection assumes that
all nodes above a good node are good. That is true for models that remain met whatever rows join a class (k-anonymity,
distinct l-diversity, squared error diversity), and for all monotone models if no row may be suppressed and the spec has
no `unit`. For others the heights are searched one after the other from the bottom, so that the guarantee is the same.
AllMin does not rely on this assumption.

For the meaning of a node, the suppressed rows and `--mask-minimality`, see `incognito`.

`--time-limit` stops the search earlier. The most precise of the lowest good nodes so far is released, which need not be
minimal; `gap` in the report's `recoding` block says by how many heights another good node may be lower at most,
`minimal` has the nodes found in time, and `stopped: time` says that the time was up, as does a line on the terminal.
With a limit, the search first runs `datafly`, whatever the time, and descends from its node and from the top of the
lattice, always to the good node with the fewest classes; if it has found no good node, it continues until the first. If
interrupted, it prints the best node so far and the gap on the terminal and writes nothing.

Recoding model. Full-domain generalization with suppression of rows.

Cost. The nodes of about log2(height) heights are checked: at a height that has a good node only those up to the first
one, except at the lowest such height. AllMin checks every node that has no good node below it. Lattices of more than 2
million nodes are refused without a `--time-limit`.

Reference. Samarati: Protecting respondents' identities in microdata release, IEEE TKDE 13(6), 2001.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from anonymize.algorithms import base, minimality
from anonymize.algorithms.deadline import Deadline, stopped
from anonymize.algorithms.lattice import Vector, scores, search
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.minimality.descent import masked
from anonymize.privacy import Requirement
from anonymize.recoding import Levels
from anonymize.records import dataclass
from anonymize.table import Table

ID = "samarati"
NEEDS = base.Needs.of_full_domain("weights")

LISTED = ("precision", "loss", "ncp", "discernibility", "c_avg", "entropy")
"""Metrics of the minimal nodes in the report."""
GOES_THROUGH = "samarati goes through whole heights of lattices of"
DIGITS = 10
"""Precisions that are equal in so many decimals are equal."""


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""

    all_minimal: bool = base.option(
        False, "List every minimal node with its metrics in the report.", only_with={"mask_minimality": (False,)}
    )
    time_limit: float = search.time_limit_option(only_with={"mask_minimality": (False,)})
    mask_minimality: bool = minimality.mask_option()


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: base.Context) -> Levels:
    """The most precise of the good nodes of the lowest height that has any."""
    if options.mask_minimality:
        return masked(table, requirements, context, most_precise)
    checker = Checker(table, requirements, context.suppression_limit, context.progress, context.published)
    deadline = Deadline(options.time_limit)
    search.check_enumerable(checker, deadline, GOES_THROUGH)
    heights = Heights(checker, deadline)
    context.best_so_far.describe = heights.described
    heights.begin()
    minimal = heights.listed() if options.all_minimal else heights.lowest()
    best, listed = heights.chosen(minimal or heights.good), {}
    if options.all_minimal:
        listed = {"minimal": [_described(checker, vector) for vector in minimal]}
    gap = {"gap": heights.gap} if options.time_limit else {}
    return checker.recoding(best, {"height": sum(best), **gap, **stopped(heights.late), **listed})


def most_precise(checker: Checker) -> Vector:
    """The most precise of the good nodes of the lowest height. Raises InfeasibleError where no node is good."""
    search.check_enumerable(checker, Deadline(), GOES_THROUGH)
    heights = Heights(checker, Deadline())
    return heights.chosen(heights.lowest())


class Heights:
    """The search through the heights of the lattice. `low`: no node below this height is good. `good`: the nodes that
    were found to be, in the order in which they were met. `late`: whether the deadline ended the search: it does as
    soon as there is a good node.
    """

    def __init__(self, checker: Checker, deadline: Deadline) -> None:
        self.checker, self.deadline = checker, deadline
        self.low, self.good, self.late = 0, list[Vector](), False

    def begin(self) -> None:
        """With a deadline, good nodes to begin with: of two as low, that of fewer classes leaves more room below it."""
        if self.deadline.given:
            worth = lambda vector: self.checker.check(vector).all_classes  # noqa: E731
            self.good += search.descents(self.checker, worth, self.deadline)

    def lowest(self) -> list[Vector]:
        """The good nodes of the lowest height that has any, in lexicographic order; none where no node is good. Late,
        those that are known of the lowest height so far."""
        height = self._bisected() if self.checker.monotone else self._searched()
        nodes = list(self._good(height))
        if self.late:
            lowest = min(map(sum, self.good))
            return sorted({vector for vector in self.good if sum(vector) == lowest})
        return nodes

    def listed(self) -> list[Vector]:
        """Every minimal node, or those that are met in time."""
        nodes: list[Vector] = []
        for vector in all_minimal(self.checker, self._stopped):
            nodes.append(vector)
            self.good.append(vector)
            self.low = sum(nodes[0])
        return nodes

    def chosen(self, among: list[Vector]) -> Vector:
        """The most precise of the lowest nodes, the search being over. Raises InfeasibleError where there is none."""
        if not among:
            raise self.checker.infeasible()
        self.checker.settled(self.checker.total)
        height, scorer = min(map(sum, among)), scores.Scorer(self.checker, "precision")
        return min((round(scorer.score(vector)[0], DIGITS), vector) for vector in among if sum(vector) == height)[1]

    @property
    def gap(self) -> int:
        """How many heights below the best node there may be a good one at the most."""
        return min(map(sum, self.good)) - self.low

    def described(self) -> str | None:
        """The best so far in a sentence."""
        if not self.good:
            return None
        best = min(self.good, key=lambda vector: (sum(vector), vector))
        return base.of_levels(self.checker.named(best), f"height {sum(best)}", self.gap)

    def _stopped(self) -> bool:
        """Whether to stop: it is late, and there is a good node."""
        self.late = self.late or (self.deadline.passed and bool(self.good))
        return self.late

    def _bisected(self) -> int:
        """The lowest height with a good node, or the greatest height, where good nodes have good ones above them."""
        high = min(map(sum, self.good), default=sum(self.checker.lattice.top))
        while self.low < high:
            middle = (self.low + high) // 2
            good = self._has_good(middle)
            if self._stopped():
                break
            self.low, high = (self.low, middle) if good else (middle + 1, high)
        return self.low

    def _searched(self) -> int:
        """The lowest height with a good node, height by height, whatever the models are."""
        highest = sum(self.checker.lattice.top)
        while self.low < highest and not self._has_good(self.low) and not self._stopped():
            self.low += 1
        return self.low

    def _good(self, height: int) -> Iterator[Vector]:
        """The good nodes of a height; checked one by one, as they are asked for; no more of them once it is late."""
        for vector in self.checker.lattice.at_height(height):
            if self._stopped():
                return
            self.checker.settled(self.checker.checked)
            if self.checker.check(vector).safe:
                self.good.append(vector)
                yield vector

    def _has_good(self, height: int) -> bool:
        """Whether a height has a good node; no node is checked after the first."""
        return next(self._good(height), None) is not None


def all_minimal(checker: Checker, stopped: Callable[[], bool]) -> Iterator[Vector]:
    """Every good node without a good node below it, by height, then lexicographically, until it is stopped.

    A node above a good one is not looked at: it is not minimal, and the nodes above it are not either.
    """
    above: set[Vector] = set()
    for height in range(sum(checker.lattice.top) + 1):
        reached: set[Vector] = set()
        for vector in checker.lattice.at_height(height):
            if stopped():
                return
            good = vector not in above and checker.check(vector).safe
            if good:
                yield vector
            if good or vector in above:
                reached.update(checker.lattice.above(vector))
        above = reached
        checker.settled(checker.checked)


def _described(checker: Checker, vector: Vector) -> dict[str, Any]:
    node = checker.check(vector)
    return {
        "levels": checker.named(vector),
        "height": sum(vector),
        "suppressed_rows": node.suppressed,
        "classes": node.classes,
        "scores": {name: scores.Scorer(checker, name).score(vector)[0] for name in LISTED},
    }
