from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import samarati
from anonymize.algorithms.base import Context
from anonymize.algorithms.deadline import Deadline
from anonymize.algorithms.lattice import AGGREGATES
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.scores import METRICS, PAYOUT, Scorer
from anonymize.algorithms.lattice.search import BestFirst, BestNode, Walk, check_enumerable, find, safe_nodes
from anonymize.errors import InfeasibleError, UsageError
from tests.algorithms.lattice.cases import Case, small_cases
from tests.algorithms.tables import categorical, k_anonymity, table_of, taxonomy
from tests.examples import some

Search = Callable[[Scorer, Deadline], BestNode | None]

SEARCHES: dict[str, Search] = {
    "walk": lambda scorer, deadline: Walk(scorer, deadline).run(),
    "best first": lambda scorer, deadline: BestFirst(scorer, deadline).run(),
    "subsets": lambda scorer, deadline: Walk(scorer, deadline, safe_nodes(scorer.checker)).run(),
}

GENERAL = [metric for metric in METRICS if metric != PAYOUT]
"""Those that need no game of publisher and attacker in the spec; test_scores has that one."""


@pytest.mark.parametrize("metric", GENERAL)
@pytest.mark.parametrize("search", SEARCHES)
def test_the_best_node_is_that_of_brute_force(search: str, metric: str) -> None:
    @settings(max_examples=some(25))
    @given(small_cases(), st.sampled_from([None, *AGGREGATES]), st.sampled_from([0.5, 0.5, 0.0, 0.8, 1.0]))
    def check(case: Case, aggregate: str | None, gs: float) -> None:
        scorer = Scorer(case.checker(), metric, aggregate, gs)
        found = SEARCHES[search](scorer, Deadline())
        everywhere = Scorer(case.checker(), metric, aggregate, gs)
        scores = {vector: everywhere.score(vector) for vector in case.safe()}
        if found is None:
            assert not scores
        else:
            assert found.vector in scores
            assert found.score == scores[found.vector] == min(scores.values())
            assert found.gap == 0

    check()


@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=some(40))
@given(case=small_cases(), metric=st.sampled_from(GENERAL), stops=st.integers(0, 6))
def test_a_search_that_has_to_end_knows_how_far_it_is(search: str, case: Case, metric: str, stops: int) -> None:
    class Countdown(Deadline):
        left = stops

        @property
        def passed(self) -> bool:
            self.left -= 1
            return self.left < 0

    found = SEARCHES[search](Scorer(case.checker(), metric), Countdown())
    best = find(Scorer(case.checker(), metric))
    assert (found is None) == (best is None)
    if found and best:
        assert found.vector in case.safe()
        assert found.score[0] - found.gap <= best.score[0] + 1e-9 * (1 + abs(best.score[0]))


@given(small_cases())
def test_no_node_is_checked_twice_and_few_are_where_safety_is_monotone(case: Case) -> None:
    scorer = Scorer(case.checker(), "loss")
    find(scorer)
    assert scorer.checker.checked <= scorer.checker.total == len(case.nodes)


@settings(max_examples=some(40))
@given(case=small_cases(), metric=st.sampled_from(GENERAL), nodes=st.integers(0, 9))
def test_a_search_whose_budget_is_spent_knows_how_far_it_is(case: Case, metric: str, nodes: int) -> None:
    scorer = Scorer(case.checker(), metric)
    best = find(Scorer(case.checker(), metric))
    try:
        reached = BestFirst(scorer, Deadline(), nodes).run()
    except InfeasibleError:
        assert not case.checker().check(scorer.checker.lattice.top).safe
        return
    assert (reached is None) == (best is None)
    if reached and best:
        assert reached.vector in case.safe()
        assert reached.score[0] - reached.gap <= best.score[0] + 1e-9 * (1 + abs(best.score[0]))


def test_a_lattice_of_too_many_nodes_is_refused_where_they_are_gone_through() -> None:
    leaves = ("a A *", "b A *", "c B *", "d B *")
    wide = table_of(*(categorical(list("abcd"), taxonomy(*leaves, name=f"c{n}")) for n in range(20)))
    checker = Checker(wide, (k_anonymity(2),))
    with pytest.raises(UsageError, match=r"20 quasi-identifiers has 3486784401 nodes.*--time-limit"):
        check_enumerable(checker, Deadline(), "this goes through")
    check_enumerable(checker, Deadline(1), "this goes through")
    with pytest.raises(UsageError, match="3486784401"):
        samarati.run(wide, (k_anonymity(2),), samarati.Options(), Context())


def test_a_large_lattice_is_searched_as_far_as_the_budget_goes() -> None:
    """No two rows agree in any column: only the top is safe, and 3 ** 60 nodes are not gone through."""
    leaves = ("a A *", "b B *", "c C *", "d D *")
    wide = table_of(*(categorical(list("abcd"), taxonomy(*leaves, name=f"c{n}")) for n in range(60)))
    scorer = Scorer(Checker(wide, (k_anonymity(2),)), "loss")
    reached = BestFirst(scorer, Deadline(), 50).run()
    assert reached is not None and reached.vector == (2,) * 60 and 0 < reached.gap <= reached.score[0]
