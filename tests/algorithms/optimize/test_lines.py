"""The best cut through one attribute: equal to every cut, and as a bound below every set."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations
from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from anonymize.algorithms.optimize.lines import BIG, Line
from anonymize.table import Table
from tests.algorithms.splits import KINDS, SMALL, problem_of, target
from tests.algorithms.tables import k_anonymity, seeds


@given(SMALL, seeds, st.sampled_from(KINDS), st.sampled_from([0, 40]))
def test_a_line_is_the_best_cut_through_an_attribute(table: Table, rng: Any, kind: str, limit: int) -> None:
    assume(table.rows >= 3 and sum(len(np.unique(attribute.codes)) - 1 for attribute in table.attributes) <= 8)
    table = replace(table, units=None, targets=(target(rng.integers(0, 3, table.rows)),))
    problem = problem_of(table, (k_anonymity(3),), limit, kind)
    assert problem.sized is not None
    head = rng.random(problem.splits.count) < 0.2
    allset = head | (rng.random(problem.splits.count) < 0.7)
    number = int(rng.integers(len(table.attributes)))
    own = problem.splits.attribute == number
    line = Line.of(problem.rules, problem.sized.joined(allset)[0], head, number)
    assert line is not None

    def least(open_: Any) -> int:
        """The least cost of the head with any of the open splits."""
        choices = np.flatnonzero(open_)
        sets = chain.from_iterable(combinations(choices.tolist(), size) for size in range(len(choices) + 1))
        costs = []
        for chosen in sets:
            mask = head.copy()
            mask[list(chosen)] = True
            view = problem.full(mask, mask)
            if limit or not view.suppressed:
                costs.append(view.cost)
        return min(costs, default=BIG)

    cost, chosen = line.best()
    assert cost == least(allset & own & ~head)
    if cost < BIG:
        mask = head & ~own
        mask[chosen] = True
        assert problem.full(mask, mask).cost == cost and (mask | ~head)[own].all()
    assert line.bound() <= least(allset & ~head)
