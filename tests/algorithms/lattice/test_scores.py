from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.lattice import AGGREGATES, aggregate, below, larger, least
from anonymize.algorithms.lattice.scores import METRICS, Scorer
from tests.algorithms.lattice.cases import Case, small_cases
from tests.algorithms.lattice.cases import below as under
from tests.algorithms.lattice.slow import score
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


@pytest.mark.parametrize("metric", METRICS)
def test_scores_are_those_of_the_book(metric: str) -> None:
    @settings(max_examples=some(40))
    @given(small_cases(max_rows=16, max_nodes=40), aggregates, factors)
    def check(case: Case, aggregate: str | None, gs: float) -> None:
        scorer = Scorer(case.checker(), metric, aggregate, gs)
        for vector in case.nodes[::3]:
            assert scorer.score(vector) == pytest.approx(score(case, vector, metric, aggregate, gs), rel=1e-9, abs=2e-9)

    check()


@pytest.mark.parametrize("metric", METRICS)
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


@pytest.mark.parametrize("metric", METRICS)
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
