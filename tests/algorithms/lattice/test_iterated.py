"""Of several searches in rounds, the release that loses least is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.deadline import Deadline
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.rounds import Rounds, iterated, loss, searches_of
from anonymize.algorithms.lattice.scores import METRICS, PAYOUT, Scorer
from anonymize.privacy import Requirement
from anonymize.recoding import Levels
from tests.algorithms.lattice.cases import Case, small_cases
from tests.algorithms.tables import k_anonymity, requirement
from tests.examples import some


def scorer(case: Case, limit: int, metric: str, wanted: tuple[Requirement, ...] | None = None) -> Scorer:
    return Scorer(Checker(case.table, wanted or case.wanted, limit), metric, None, 0.5)


def best(case: Case, limit: int, metric: str) -> Levels | None:
    searches = searches_of(case.wanted, case.checker().growing, limit)
    return iterated(lambda wanted, each: scorer(case, each, metric, wanted), searches, 0.1, Deadline())


def lost(case: Case, released: Levels | None) -> float:
    return np.inf if released is None else loss(case.table, case.checker().bottom.hierarchies, released)


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
    values, k, more = (
        (each,) for each in (requirement("distinct-l-diversity", "s", l=2), k_anonymity(4), k_anonymity(5))
    )
    assert searches_of(values, True, 0) == [(values, 0, False)]
    assert searches_of(values, True, 3) == [(values, 3, False), (values, 0, False)]
    assert searches_of(values, False, 0) == [(values, 0, False), (values, 0, True)]
    assert searches_of(values, False, 3) == [
        (values, 3, False),
        (values, 3, True),
        (values, 0, False),
        (values, 0, True),
    ]
    assert searches_of(k, True, 3) == [(k, 3, False), (k, 0, False), (more, 3, False), (more, 0, False)]
    assert searches_of(k + values, True, 0) == [(k + values, 0, False), (more + values, 0, False)]
    alpha, larger = (requirement("alpha-k-anonymity", "s", alpha=0.5, k=size) for size in (2, 3))
    assert searches_of((alpha,), True, 0) == [((alpha,), 0, False), ((larger,), 0, False)]


@settings(max_examples=some(60))
@given(small_cases(max_rows=40), st.sampled_from(sorted({*METRICS} - {PAYOUT})))
def test_no_search_loses_less_and_suppression_never_costs(case: Case, metric: str) -> None:
    released = best(case, case.limit, metric)
    least = lost(case, released)
    if released is not None:
        assert least == pytest.approx(slow_loss(case, released))
    for limit in {case.limit, 0}:
        for thorough in (False, True):
            its = scorer(case, limit, metric)
            single = Rounds(its, 0.1, Deadline(), thorough=np.inf if thorough else 0).run()
            if not case.checker().growing or not thorough:
                assert least <= lost(case, single) + 1e-9
    assert least <= lost(case, best(case, 0, metric)) + 1e-9


@settings(max_examples=some(100))
@given(small_cases(max_rows=24), st.integers(2, 4))
def test_a_release_loses_no_more_than_the_rounds_at_a_larger_k(case: Case, k: int) -> None:
    case, larger = (replace(case, wanted=(k_anonymity(size),)) for size in (k, k + 1))
    its = scorer(larger, larger.limit, "loss")
    assert lost(case, best(case, case.limit, "loss")) <= lost(larger, Rounds(its, 0.1, Deadline()).run())
