"""MinGen: of all full-domain generalizations that are safe, the one of least distortion.

What it does. Goes through the whole lattice of level vectors and keeps the safe node of least distortion, 1 - Prec: the
mean over all cells of level / height, where every cell of a suppressed row counts 1 and attributes count by their
weights. Ties go to the node of least height, then to the first in lexicographic order (the first attribute of the spec
generalized least).

What it guarantees. Every class meets every model of the spec within the suppression limit, and no node that does so is
of less distortion, whatever the models: nothing is concluded from one node for another. Nodes are visited by the
distortion that they would have without any suppression, which is never above their own, so the search ends as soon as
that exceeds the best; the nodes that this leaves out cannot be better. Nothing is released only where no node is safe.

What a node stands for, and which of its rows are suppressed: as in `incognito`.

Recoding model. Full-domain generalization with suppression of rows.

Cost. In the worst case every node is checked once; their number is the product of (height + 1) over the attributes: the
method is exhaustive, for small lattices and as a yardstick, and refuses those of more than 2 million nodes; `incognito`
finds the same node with fewer checks.

Reference. Sweeney: Achieving k-anonymity privacy protection using generalization and suppression, IJUFKS 10(5), 2002;
there, ties are left to the data holder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anonymize.algorithms.base import Context, Needs
from anonymize.algorithms.lattice.lattice import Vector
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.scores import Scorer
from anonymize.algorithms.lattice.search import MOST
from anonymize.errors import Problem, UsageError
from anonymize.privacy import Requirement
from anonymize.recoding import Levels
from anonymize.table import Table

ID = "mingen"
NEEDS = Needs(family="full-domain", uses=frozenset({"levels", "weights"}), units=True)

DIGITS = 10
"""Distortions that are equal in so many decimals are equal: sums of fractions in different order may differ beyond."""


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Levels:
    """The safe node of least distortion."""
    checker = Checker(table, requirements, context.suppression_limit, context.progress, context.published)
    if checker.total > MOST:
        message = f"the lattice has {checker.total} nodes, and mingen goes through {MOST} at most"
        raise UsageError(Problem(message, hint="incognito --metric precision searches larger ones"))
    vector = least_distorted(checker)
    if vector is None:
        raise checker.infeasible()
    return checker.recoding(vector, {"distortion": Scorer(checker, "precision").score(vector)[0]})


def least_distorted(checker: Checker) -> Vector | None:
    """The first safe node of least distortion; None where no node is safe."""
    scorer = Scorer(checker, "precision")
    nodes = list(checker.lattice)  # by height, then lexicographically
    at_least = np.round(scorer.lower_bounds(np.array(nodes, np.int16))[:, 0], DIGITS)
    best: tuple[float, int] | None = None
    for done, number in enumerate(np.argsort(at_least, kind="stable").tolist()):
        checker.settled(done)
        if best is not None and at_least[number] > best[0]:
            break
        if checker.check(nodes[number]).safe:
            one = round(scorer.score(nodes[number])[0], DIGITS), number
            best = one if best is None else min(best, one)
    checker.settled(len(nodes))
    return None if best is None else nodes[best[1]]
