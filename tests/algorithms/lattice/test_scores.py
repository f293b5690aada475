from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.lattice import AGGREGATES, aggregate, below, larger, least
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.scores import METRICS, PAYOUT, Scorer
from anonymize.errors import UsageError
from tests.algorithms.lattice.cases import Case, small_cases
from tests.algorithms.lattice.cases import below as under
from tests.algorithms.lattice.slow import score
from tests.algorithms.tables import k_anonymity, numeric, requirement, table_of
from tests.examples import some

aggregates = st.sampled_from([None, *AGGREGATES])
factors = st.sampled_from([0.5, 0.5, 0.0, 0.2, 0.8, 1.0])
SLACK = 1e-9


def not_above(bound: tuple[float, ...], found: tuple[float, ...]) -> bool:
    """Whether a bound is no later than a score, rounding apart."""
    for low, high in zip(bound, found, strict=True):
        if abs(low - high) > SLACK * (1 + abs(high)):
            return low < high
    return True


@pytest.mark.parametrize("metric", sorted({*METRICS} - {PAYOUT}))
def test_scores_are_those_of_the_book(metric: str) -> None:
    @settings(max_examples=some(40))
    @given(small_cases(max_rows=16, max_nodes=40), aggregates, factors)
    def check(case: Case, aggregate: str | None, gs: float) -> None:
        scorer = Scorer(case.checker(), metric, aggregate, gs)
        for vector in case.nodes[::3]:
            assert scorer.score(vector) == pytest.approx(score(case, vector, metric, aggregate, gs), rel=1e-9, abs=2e-9)

    check()


GAME = {"attacker_gain": 300, "publisher_benefit": 100.0, "publisher_loss": 90.0}


@settings(max_examples=some(60))
@given(small_cases(max_rows=16, max_nodes=40), factors, st.sampled_from([70, 150, 400]), st.booleans())
def test_what_a_publisher_gives_up_row_by_row_and_its_bounds(case: Case, gs: float, cost: float, allowed: bool) -> None:
    game = requirement("profitability", attacker_cost=cost, allow_attack=allowed, **GAME)
    if case.table.units is not None:
        return  # classes have units there, which `slow` does not count
    case = Case(case.table, (game,), case.limit)
    scorer = Scorer(case.checker(), PAYOUT, None, gs)
    for vector in case.nodes:
        failing = scorer.checker.failing(vector)
        rows, lost = scorer.checker.frequency_set(vector), 0.0
        for index in range(rows.size):
            size, kept = int(rows.counts[index]), 1 - float(rows.lost()[index])
            payout = 100 * kept - (90 / size if 300 / size > cost else 0)
            afford = 300 / size <= cost or (allowed and 90 / size <= 100 * kept + 1e-9)
            assert failing[index] == (not afford)
            lost += size * (min(2 * gs, 1) * 100 if failing[index] else min(1, 2 - 2 * gs) * (100 - payout))
        assert scorer.score(vector) == pytest.approx((lost,), abs=1e-6)
        if scorer.checker.check(vector).safe:
            assert not_above(scorer.lower_bound(vector), scorer.score(vector))


def test_a_payout_needs_a_game() -> None:
    with pytest.raises(UsageError, match="no game with a publisher_benefit"):
        Scorer(Checker(table_of(numeric([0, 1])), (k_anonymity(1),)), PAYOUT).score((0,))


@pytest.mark.parametrize("metric", sorted({*METRICS} - {PAYOUT}))
def test_no_safe_node_has_a_score_below_its_bounds(metric: str) -> None:
    @settings(max_examples=some(40))
    @given(small_cases(max_rows=16, max_nodes=40), aggregates, factors)
    def check(case: Case, aggregate: str | None, gs: float) -> None:
        scorer = Scorer(case.checker(), metric, aggregate, gs)
        scores = {vector: scorer.score(vector) for vector in case.safe()}
        for vector, found in scores.items():
            assert not_above(scorer.lower_bound(vector), found)
        for vector in case.nodes:
            checked = scorer.checker.check(vector)
            above, lower = scorer.bounds_above(checked), scorer.bounds_below(checked)
            for other, found in scores.items():
                if above is not None and under(vector, other):
                    assert not_above(above, found)
                if lower is not None and under(other, vector):
                    assert not_above(tuple(lower(np.array([other]))[0].tolist()), found)

    check()


@pytest.mark.parametrize("metric", sorted({*METRICS} - {PAYOUT}))
def test_bounds_of_a_node_are_not_above_those_of_nodes_above_it(metric: str) -> None:
    @settings(max_examples=some(30))
    @given(small_cases(max_nodes=40), aggregates, factors)
    def check(case: Case, aggregate: str | None, gs: float) -> None:
        scorer = Scorer(case.checker(), metric, aggregate, gs)
        for vector in case.nodes:
            for other in scorer.checker.lattice.above(vector):
                assert not_above(scorer.lower_bound(vector), scorer.lower_bound(other))

    check()


vectors = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1)


@given(vectors, vectors.map(lambda rows: rows[0]))
def test_scores_of_several_figures_are_compared_in_order(rows: list[tuple[int, int]], bound: tuple[int, int]) -> None:
    scores = np.array(rows, np.float64)
    assert below(scores, bound).tolist() == [row < bound for row in rows]
    assert rows[least(scores)] == min(rows)
    assert larger(scores, np.array([bound], np.float64)).tolist() == [list(max(row, bound)) for row in rows]


def test_aggregates() -> None:
    figures = [np.array([0.5, 0.0]), np.array([0.2, 1.0])]
    assert aggregate("mean", figures).tolist() == [[0.35], [0.5]]
    assert aggregate("sum", figures).tolist() == [[0.7], [1.0]]
    assert aggregate("max", figures).tolist() == [[0.5], [1.0]]
    assert aggregate("rank", figures).tolist() == [[0.5, 0.2], [1.0, 0.0]]
    assert aggregate("geometric", figures)[:, 0].tolist() == pytest.approx([1.8**0.5 - 1, 2**0.5 - 1])
