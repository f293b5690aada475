"""MinGen: the safe full-domain generalization of least distortion.

What it does. It searches the whole lattice of level vectors for the safe node of least distortion, 1 - Prec: the
weighted mean over all cells of level / height, where every cell of a suppressed row counts 1. Ties go to the node of
least height, then to the first in lexicographic order (the first attribute of the spec generalized least).

What it guarantees. Every class meets every model of the spec within the suppression limit, and no node that does so has
less distortion, whatever the models, because no node is inferred to be safe or unsafe from another. Nodes are visited
in the order of their distortion without suppression, which is never above their own, so the search can end as soon as
that exceeds the best. Nothing is released only if no node is safe.

For the meaning of a node, the suppressed rows and `--mask-minimality`, see `incognito`.

`--time-limit` stops the search earlier, with the best node so far. `gap` in the report's `recoding` block says by how
much the distortion of another one may be lower at most, and `stopped: time` that the time was up, as does a line on the
terminal. With a limit, the search first runs `datafly`, whatever the time, and descends from its node and from the top
of the lattice, always to the safe node of least distortion; if it has found none, it continues until the first safe
node. If interrupted, it prints the best node so far and the gap on the terminal and writes nothing.

Recoding model. Full-domain generalization with suppression of rows.

Cost. In the worst case every node is checked once; their number is the product of (height + 1) over the attributes. The
method is exhaustive, meant for small lattices and comparisons, and refuses lattices of more than 2 million nodes;
`incognito` finds the same node with fewer checks.

Reference. Sweeney: Achieving k-anonymity privacy protection using generalization and suppression, IJUFKS 10(5), 2002;
there, ties are left to the data holder.
"""

from __future__ import annotations

import numpy as np

from anonymize.algorithms import base, lattice, minimality
from anonymize.algorithms.deadline import Deadline, stopped
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.scores import Scorer
from anonymize.algorithms.lattice.search import WALKED_NODES, count_of, descents, time_limit_option
from anonymize.algorithms.minimality.descent import masked
from anonymize.errors import Problem, UsageError
from anonymize.privacy import Requirement
from anonymize.recoding import Levels
from anonymize.records import dataclass
from anonymize.table import Table

ID = "mingen"
NEEDS = base.Needs.of_full_domain("weights")

DIGITS = 10
"""Distortions that are equal in so many decimals are equal: sums of fractions in different order may differ beyond."""


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""

    time_limit: float = time_limit_option(only_with={"mask_minimality": (False,)})
    mask_minimality: bool = minimality.mask_option()


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: base.Context) -> Levels:
    """The safe node of least distortion."""
    if options.mask_minimality:
        return masked(table, requirements, context, lambda checker: _exhausted(checker, Deadline(), context).least)
    checker = Checker(table, requirements, context.suppression_limit, context.progress, context.published)
    exhaustion = _exhausted(checker, Deadline(options.time_limit), context)
    gap = {"gap": exhaustion.gap} if options.time_limit else {}
    distortion = exhaustion.scorer.score(exhaustion.least)[0]
    return checker.recoding(exhaustion.least, {"distortion": distortion, **gap, **stopped(exhaustion.late)})


def _exhausted(checker: Checker, deadline: Deadline, context: base.Context) -> Exhaustion:
    """The search, done. Raises UsageError for a lattice that is too large to go through, and InfeasibleError where no
    node is safe."""
    if checker.total > WALKED_NODES:
        message = f"the lattice has {count_of(checker.total)} nodes, and mingen goes through {WALKED_NODES} at most"
        raise UsageError(Problem(message, hint="incognito --metric precision searches larger ones"))
    exhaustion = Exhaustion(checker, deadline)
    context.best_so_far.describe = exhaustion.described
    exhaustion.run()
    if exhaustion.vector is None:
        raise checker.infeasible()
    return exhaustion


class Exhaustion:
    """All nodes, those first that may be of least distortion; with a deadline, before them some on the way down to it.
    `bound`: no node that is left is of less. `best`: the least so far, with the number of its node. `late`: whether the
    deadline ended the search."""

    def __init__(self, checker: Checker, deadline: Deadline) -> None:
        self.checker, self.deadline = checker, deadline
        self.scorer = Scorer(checker, "precision")
        self.nodes = list(checker.lattice)  # by height, then lexicographically
        self.bound = 0.0
        self.best: tuple[float, int] | None = None
        self.late = False

    def run(self) -> None:
        """Until no node that is left can be better, or the time is up and there is a safe node."""
        if self.deadline.given:
            for vector in descents(self.checker, self.scorer.score, self.deadline):
                self._take(self.nodes.index(vector))
        at_least = np.round(self.scorer.lower_bounds(np.array(self.nodes, np.int16))[:, 0], DIGITS)
        for examined, number in enumerate(np.argsort(at_least, kind="stable").tolist()):
            self.checker.settled(examined)
            self.bound = float(at_least[number])
            if self._over:
                return
            self._take(number)
        self.bound = self.best[0] if self.best is not None else self.bound
        self.checker.settled(len(self.nodes))

    @property
    def _over(self) -> bool:
        if self.best is None:
            return False
        proved = self.bound > self.best[0]
        self.late = self.deadline.passed and not proved
        return proved or self.late

    def _take(self, number: int) -> None:
        """Checks a node, which may be the best."""
        if self.checker.check(self.nodes[number]).safe:
            one = round(self.scorer.score(self.nodes[number])[0], DIGITS), number
            self.best = one if self.best is None else min(self.best, one)

    @property
    def vector(self) -> lattice.Vector | None:
        """The first safe node of least distortion; None where no node is safe."""
        return None if self.best is None else self.nodes[self.best[1]]

    @property
    def least(self) -> lattice.Vector:
        """The least safe node, of a search that has met one."""
        assert self.vector is not None
        return self.vector

    @property
    def gap(self) -> float:
        """By how much at most another safe node may be of less distortion."""
        return 0.0 if self.best is None else max(0.0, self.best[0] - self.bound)

    def described(self) -> str | None:
        """The best so far in a sentence."""
        if self.vector is None or self.best is None:
            return None
        return base.of_levels(self.checker.named(self.vector), f"distortion {self.best[0]:.6g}", self.gap)
