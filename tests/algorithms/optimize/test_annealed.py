"""Annealing with one attribute set aside: what it offers, and where a search by single splits is caught."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.optimize.costs import BestSplits
from anonymize.algorithms.optimize.lines import Line, SetAside
from anonymize.algorithms.optimize.local import Annealed, Local
from anonymize.algorithms.optimize.tree import SplitTree, explore
from anonymize.table import Table
from tests.algorithms.splits import KINDS, SMALL, problem_of, target
from tests.algorithms.tables import k_anonymity, numeric, seeds, table_of


@given(SMALL, seeds, st.sampled_from(KINDS), st.sampled_from([0, 40]))
def test_an_attribute_set_aside_has_the_same_best_cut_as_its_line(
    table: Table, rng: Any, kind: str, limit: int
) -> None:
    table = replace(table, units=None, targets=(target(rng.integers(0, 3, table.rows)),))
    problem = problem_of(table, (k_anonymity(3),), limit, kind)
    assert problem.sized is not None
    allset = rng.random(problem.splits.count) < 0.8
    cells, number = problem.sized.joined(allset)[0], int(rng.integers(len(table.attributes)))
    mask = allset & (rng.random(len(allset)) < 0.4)
    line = Line.of(problem.rules, cells, mask & (problem.splits.attribute != number), number)
    arcs = SetAside(problem.rules, cells, number).arcs(mask)
    assert line is not None and arcs is not None
    (one, splits), (other, same) = line.best(), arcs.best()
    assert one == other and splits.tolist() == same.tolist()


@settings(max_examples=10)
@given(SMALL, seeds, st.sampled_from(KINDS), st.sampled_from([0, 4, 40]))
def test_annealing_offers_what_may_be_released(table: Table, rng: Any, kind: str, limit: int) -> None:
    table = replace(table, units=None, targets=(target(rng.integers(0, 3, table.rows)),))
    problem = problem_of(table, (k_anonymity(3),), limit, kind)
    walks = [Annealed(problem, BestSplits(), np.ones(problem.splits.count, np.bool_)) for _ in range(2)]
    for walk in walks:
        while not walk.settled:
            walk.step()
    best, again = walks[0].best, walks[1].best
    assert (best.cost, best.work) == (again.cost, again.work)
    if best.mask is not None:
        view = problem.full(best.mask, best.mask)
        assert view.cost == best.cost and view.suppressed <= problem.allowed


def test_annealing_leaves_a_hollow_in_which_single_splits_are_caught() -> None:
    """Of two groupings of the second attribute that differ in every split the better one is beyond worse ones."""
    rng = np.random.default_rng(4)
    table = table_of(numeric(rng.integers(0, 24, 900).tolist(), "x"), numeric(rng.integers(0, 12, 900).tolist(), "y"))
    problem = problem_of(table, (k_anonymity(70),), 0, "discernibility")
    allset = np.ones(problem.splits.count, np.bool_)
    single, annealed = (kind(problem, BestSplits(), allset) for kind in (Local, Annealed))
    while not annealed.settled:
        annealed.step()
    while not single.stuck:
        single.step()
    tree = SplitTree(allset, BestSplits())
    while not tree.finished:
        tree.round(lambda tasks: [explore(problem, task) for task in tasks])
    assert annealed.best.cost == tree.best.cost
    assert single.best.cost is not None and tree.best.cost is not None and tree.best.cost < single.best.cost
