"""Iterated local recoding by several searches, of which the release that loses least weighted NCP is kept.

Rounds are greedy, so no one way of going about them is always the best:

- Where a model is not growing (see `nodes`), a round may take the best node of the first path that has one, or look at
  all nodes that may still be better. The second costs more checks; what it takes is better in this round, and may leave
  rows behind that are worse to release in the next ones. Once it has checked `TIMES` as many nodes as the first, and
  `LEAST`, it goes on as the first does.
- Where rows may be suppressed, rounds that suppress none may lose less all the same.
- So may rounds whose classes have one row more than they need: those of k + 1. With them a release at k loses no more
  than the rounds at k + 1 do. It may still lose more than a release at k + 1 for which k + 2 was better.

All of these searches are made, so that none of them loses less than what is released; a suppressed row loses all. At a
tie the first is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import TypeAlias

import numpy as np

from anonymize.algorithms.deadline import Deadline, stopped
from anonymize.algorithms.lattice.ladders import Ladder
from anonymize.algorithms.lattice.rounds import Rounds
from anonymize.algorithms.lattice.scores import Scorer
from anonymize.privacy import MODELS, Requirement
from anonymize.recoding import Levels
from anonymize.table import Table

TIMES, LEAST = 10, 5_000
"""The nodes that a search looks at all of, at most: by those that the search of first paths checked, and at least."""


Search: TypeAlias = tuple[tuple[Requirement, ...], int, bool]
"""What is asked of classes, how many rows may be suppressed, and whether rounds look at all nodes that may still be
better."""


def searches_of(requirements: tuple[Requirement, ...], growing: bool, limit: int) -> list[Search]:
    """The searches that are made."""
    larger = tuple(map(_larger, requirements))
    required = [requirements] if larger == requirements else [requirements, larger]
    return list(product(required, [limit, 0] if limit else [0], [False] if growing else [False, True]))


def _larger(requirement: Requirement) -> Requirement:
    """A requirement of classes of so many rows as one of classes with one row more; another as it is."""
    sizes = [limit.parameter for limit in MODELS[requirement.model].limits if limit.size]
    parameters = requirement.parameters
    more = {name: getattr(parameters, name) + 1 for name in sizes}
    return replace(requirement, parameters=parameters.model_copy(update=more)) if more else requirement


def iterated(
    scorer_of: Callable[[tuple[Requirement, ...], int], Scorer],
    searches: list[Search],
    share: float,
    deadline: Deadline,
    suppressed: str = "*",
) -> Levels | None:
    """The release of the search that loses least; None where none of them comes to an end.

    `scorer_of`: a scorer of nodes by what is asked and by the rows that may be suppressed. `share` of the rows left
    that each round releases at least; `suppressed`: how a suppressed cell reads.
    """
    best, least, checks, most, late = None, np.inf, 0, LEAST, False
    for requirements, limit, thorough in searches:
        scorer = scorer_of(requirements, limit)
        rounds = Rounds(scorer.checker, scorer, share, deadline, suppressed, most if thorough else 0)
        released = rounds.run()
        late |= rounds.late
        checks, most = checks + rounds.checks, max(LEAST, TIMES * rounds.checks)
        if released is not None:
            lost = loss(scorer.checker.table, scorer.checker.bottom.ladders, released)
            if lost < least:
                best, least = released, lost
    return (
        None
        if best is None
        else replace(best, chosen={**(best.chosen or {}), "nodes_checked": checks, **stopped(late)})
    )


def loss(table: Table, ladders: tuple[Ladder, ...] | list[Ladder], released: Levels) -> float:
    """Weighted NCP, summed over the rows; a suppressed row loses all."""
    first = released.partition.order[released.partition.starts[:-1]]
    sizes, suppressed = released.partition.sizes, len(released.suppressed)
    if table.counts is not None:
        sizes = np.add.reduceat(table.counts[released.partition.order], released.partition.starts[:-1])
        suppressed = int(table.counts[released.suppressed].sum())
    total = suppressed * sum(attribute.weight for attribute in table.attributes)
    for ladder, level in zip(ladders, released.levels.T, strict=True):
        attribute = ladder.attribute
        node = attribute.hierarchy.levels[level, ladder.leaf_of(attribute.codes[first])]
        total += attribute.weight * float(attribute.generalization.ncp[node] @ sizes)
    return float(total)
