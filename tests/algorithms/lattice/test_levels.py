"""Levels between a lowest and a highest: the lattice is the part of the whole one that is left."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import ALGORITHMS, Context
from anonymize.algorithms.deadline import Deadline
from anonymize.algorithms.lattice import Lattice
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.scores import Scorer
from anonymize.algorithms.lattice.search import BestFirst, Walk, find, safe_nodes
from anonymize.errors import InfeasibleError
from anonymize.recoding import Levels
from tests.algorithms.full_domain import heights, patients
from tests.algorithms.lattice.cases import Case, Vector, small_cases
from tests.algorithms.tables import k_anonymity
from tests.examples import some


@st.composite
def bounded(draw: st.DrawFn) -> tuple[Case, list[Vector]]:
    """A case whose attributes have ends, and the nodes between them."""
    case = draw(small_cases(max_rows=16, max_nodes=60))
    ends = [tuple(sorted(draw(st.tuples(*[st.integers(0, height)] * 2)))) for height in heights(case.table)]
    attributes = zip(case.table.attributes, ends, strict=True)
    table = replace(case.table, attributes=tuple(replace(a, lowest=low, highest=high) for a, (low, high) in attributes))
    return replace(case, table=table), list(product(*(range(low, high + 1) for low, high in ends)))


@settings(max_examples=some(60))
@given(bounded(), st.sampled_from(["loss", "discernibility", "precision"]))
def test_the_best_of_what_is_left(pair: tuple[Case, list[Vector]], metric: str) -> None:
    case, nodes = pair
    scorer, safe = Scorer(case.checker(), metric), case.safe()
    scores = [scorer.score(node) for node in nodes if node in safe]
    searches = [
        Walk(Scorer(case.checker(), metric), Deadline()).run(),
        BestFirst(Scorer(case.checker(), metric), Deadline()).run(),
        Walk(scorer, Deadline(), safe_nodes(scorer.checker)).run(),
    ]
    for best in searches:
        assert (best is None) == (not scores)
        if best is not None:
            assert best.vector in nodes and best.score == min(scores)


@settings(max_examples=some(30))
@given(bounded())
def test_a_lattice_lists_its_nodes(pair: tuple[Case, list[Vector]]) -> None:
    case, nodes = pair
    lattice = Lattice.between(case.table.attributes)
    assert sorted(lattice) == nodes and lattice.size == len(nodes)
    for node in nodes:
        assert set(lattice.above(node)) | set(lattice.below(node)) <= set(nodes)


@settings(max_examples=some(20))
@given(bounded())
def test_every_method_keeps_to_them(pair: tuple[Case, list[Vector]]) -> None:
    case, nodes = pair
    for name in ("datafly", "samarati", "mingen", "incognito", "research-value"):
        algorithm = ALGORITHMS[name]
        try:
            recoding = algorithm.run(case.table, case.wanted, algorithm.Options(), Context(case.limit))
        except InfeasibleError:
            continue
        assert isinstance(recoding, Levels) and recoding.vector in nodes


def test_where_no_node_that_is_left_is_safe_the_levels_are_named() -> None:
    table = patients()
    low = tuple(replace(attribute, highest=0) for attribute in table.attributes)
    checker = Checker(replace(table, attributes=low), (k_anonymity(2),))
    assert find(Scorer(checker)) is None
    assert "levels" in str(checker.infeasible())
