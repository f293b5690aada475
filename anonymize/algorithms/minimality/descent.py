"""Full-domain generalization under `--mask-minimality`: down from the top of the lattice, until a step is refused.

Where to is what the algorithm itself finds if it is asked for classes of enough rows, and nothing about sensitive
values. The rows that this node suppresses stay out, and are not published. On the way there the attribute goes down
whose step loses least by the metric `loss`, the first of several. So the whole way follows from the quasi-identifiers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from anonymize.algorithms import base, feasibility, minimality
from anonymize.algorithms.lattice import FrequencySet, Vector
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.scores import Scorer
from anonymize.classes import Bools, Ints, Partition
from anonymize.errors import InfeasibleError, Problem
from anonymize.judging import Judge
from anonymize.privacy import Requirement
from anonymize.recoding import Levels
from anonymize.table import Table

Search = Callable[[Checker], Vector]
"""The node that an algorithm finds. Raises InfeasibleError where there is none."""


def masked(table: Table, requirements: tuple[Requirement, ...], context: base.Context, search: Search) -> Levels:
    """The last node that is reached. Raises InfeasibleError where the top does not meet the requirements."""
    minimality.check_maskable(table, requirements)
    feasibility.rows_to_suppress(table, requirements, replace(context, suppression_limit=0))
    checker = Checker(table, minimality.by_rows(requirements), context.suppression_limit, context.progress)
    target = search(checker)
    passing = ~checker.failed(target)[checker.distinct_of]
    descent = Descent(table, requirements, Scorer(checker, "loss"), passing)
    vector, labels = descent.run(target)
    partition = Partition.of_labels(labels).renumbered(descent.rows)
    levels = np.tile(np.array(vector, np.int16), (partition.count, 1))
    cost = _cost(table, requirements, context, search, descent, vector, target)
    chosen = {"levels": checker.named(vector), "minimality": cost}
    return Levels(partition, levels, np.flatnonzero(~passing).astype(np.uint32), chosen, withheld=True)


class Descent:
    """The way down. `rows`: those that are released."""

    def __init__(self, table: Table, requirements: tuple[Requirement, ...], scorer: Scorer, passing: Bools) -> None:
        self.scorer, self.rows = scorer, np.flatnonzero(passing).astype(np.uint32)
        self.bottom, self.distinct_of = FrequencySet.with_classes(table, requirements, self.rows)
        columns = Judge(table, requirements, self.rows).columns
        self.codes = [column.codes[self.rows] for column in columns]
        self.refusals = minimality.Refusals.of(requirements, columns)

    def run(self, target: Vector) -> tuple[Vector, Ints]:
        """The lowest node before a step that is refused, and (rows,) the class of each row there."""
        vector = self.scorer.checker.lattice.top
        labels = self._labels(vector)
        if labels is None:
            message = "the rows that are left, once rare combinations are suppressed, do not meet the requirements"
            raise InfeasibleError(Problem(message, hint="suppress fewer rows, or lower the requirements"))
        while (lower := self._next(vector, target, labels)) is not None:
            finer = self._labels(lower)
            if finer is None or not self.refusals.clear(self._step(lower, labels), self.codes).all():
                break
            vector, labels = lower, finer
        return vector, labels

    def _labels(self, vector: Vector) -> Ints | None:
        """(rows,) the class of each row at a node; None where one does not meet the requirements."""
        frequency, group = self.bottom.rolled(vector)
        return np.asarray(group[self.distinct_of]) if frequency.safe.all() else None

    def _step(self, lower: Vector, labels: Ints) -> minimality.RefinedParts:
        finer = self.bottom.rolled(lower)[1][self.distinct_of]
        whole = np.zeros(int(finer.max()) + 1, np.int64)
        whole[finer] = labels
        return minimality.RefinedParts(finer, whole)

    def _next(self, vector: Vector, target: Vector, labels: Ints) -> Vector | None:
        """The step towards the target that may be tried and loses least afterwards, by what is known before it."""
        lattice = self.scorer.checker.lattice
        steps = [lower for lower in lattice.below(vector) if all(a >= b for a, b in zip(lower, target, strict=True))]
        steps.sort(key=lambda lower: self.scorer.lower_bound(lower, suppressed=0))
        return next((each for each in steps if self.refusals.worth(self._step(each, labels), self.codes).all()), None)


def _cost(
    table: Table,
    requirements: tuple[Requirement, ...],
    context: base.Context,
    search: Search,
    descent: Descent,
    vector: Vector,
    target: Vector,
) -> dict[str, Any]:
    """What the report says: by the metric `ncp`, with the option and without it, and whether the way ended early."""
    checker = descent.scorer.checker
    suppressed = checker.rows - int(descent.bottom.counts.sum())
    released = Scorer(Checker.over(table, descent.bottom, requirements, 0), "ncp").lower_bound(vector, suppressed=0)[0]
    gcp = (released * (checker.rows - suppressed) + suppressed) / checker.rows
    weights = [attribute.weight for attribute in table.attributes]
    scale = len(weights) * max(weights) / (sum(weights) or 1.0)  # the metric has weights over the largest
    free = Checker(table, requirements, context.suppression_limit)
    try:
        without = Scorer(free, "ncp").score(search(free))[0]
    except InfeasibleError:
        without = None
    return {"refused": vector != target, "gcp": gcp * scale, "gcp_without": without and without * scale}
