"""Of several searches in rounds, the release that loses least is kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.deadline import Deadline
from anonymize.algorithms.lattice.iterated import iterated, loss, searches_of
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.rounds import Rounds
from anonymize.algorithms.lattice.scores import METRICS, Scorer
from anonymize.recoding import Levels
from tests.algorithms.lattice.cases import Case, small_cases
from tests.examples import some


def scorer(case: Case, limit: int, metric: str) -> Scorer:
    return Scorer(Checker(case.table, case.wanted, limit), metric, None, 0.5)


def best(case: Case, limit: int, metric: str) -> Levels | None:
    searches = searches_of(case.checker().growing, limit)
    return iterated(lambda each: scorer(case, each, metric), searches, 0.1, Deadline())


def lost(case: Case, released: Levels | None) -> float:
    return np.inf if released is None else loss(case.table, case.checker().bottom.ladders, released)


def slow_loss(case: Case, released: Levels) -> float:
    total = len(released.suppressed) * sum(attribute.weight for attribute in case.table.attributes)
    starts = released.partition.starts
    for number, vector in enumerate(released.levels.tolist()):
        for row in released.partition.order[starts[number] : starts[number + 1]].tolist():
            for attribute, level in zip(case.table.attributes, vector, strict=True):
                leaf = attribute.generalization.leaf_of(attribute.codes[row : row + 1])[0]
                total += attribute.weight * attribute.generalization.ncp[attribute.hierarchy.levels[level, leaf]]
    return total


def test_searches_with_and_without_suppression_and_thorough_only_where_that_matters() -> None:
    assert searches_of(True, 0) == [(0, False)]
    assert searches_of(True, 3) == [(3, False), (0, False)]
    assert searches_of(False, 0) == [(0, False), (0, True)]
    assert searches_of(False, 3) == [(3, False), (3, True), (0, False), (0, True)]


@settings(max_examples=some(60))
@given(small_cases(max_rows=40), st.sampled_from(METRICS))
def test_no_search_loses_less_and_suppression_never_costs(case: Case, metric: str) -> None:
    released = best(case, case.limit, metric)
    least = lost(case, released)
    if released is not None:
        assert least == pytest.approx(slow_loss(case, released))
    for limit in {case.limit, 0}:
        for thorough in (False, True):
            its = scorer(case, limit, metric)
            single = Rounds(its.checker, its, 0.1, Deadline(), thorough=np.inf if thorough else 0).run()
            if not case.checker().growing or not thorough:
                assert least <= lost(case, single) + 1e-9
    assert least <= lost(case, best(case, 0, metric)) + 1e-9
