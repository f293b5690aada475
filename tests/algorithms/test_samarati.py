"""Samarati: the lowest height with a good node, and every minimal node, against all nodes by brute force."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import samarati
from anonymize.algorithms.base import Context
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.search import climbed
from anonymize.errors import InfeasibleError
from anonymize.privacy import Requirement
from anonymize.recoding import Levels
from anonymize.table import Table
from tests.algorithms.full_domain import (
    Vector,
    check_node,
    distortion,
    failing,
    leveled,
    masked,
    patients,
    safe_nodes,
    sweeney,
)
from tests.algorithms.tables import k_anonymity, requirement, sensitive, table_of, tables, units_or_not
from tests.algorithms.test_mondrian import requirements
from tests.examples import some

SMALL = tables(max_rows=25, max_attributes=3, sensitive_columns=2)


def run(table: Table, wanted: Sequence[Requirement], limit: int = 0, all_minimal: bool = False) -> Levels:
    return samarati.run(table, tuple(wanted), samarati.Options(all_minimal), Context(limit))


def minimal_nodes(table: Table, wanted: Sequence[Requirement], limit: int) -> list[Vector]:
    """The good nodes without a good one below, by height, then lexicographically."""
    good = safe_nodes(table, wanted, limit)

    def below(low: Vector, high: Vector) -> bool:
        return low != high and all(a <= b for a, b in zip(low, high, strict=True))

    return sorted((v for v in good if not any(below(u, v) for u in good)), key=lambda v: (sum(v), v))


def listed(found: Levels) -> list[Vector]:
    return [tuple(node["levels"].values()) for node in found.summary()["minimal"]]


def race_and_zip() -> Table:
    """Three races at four ZIP codes, once each, and the hierarchies of Samarati's and Sweeney's examples."""
    pairs = product(["asian", "black", "white"], ["94138", "94139", "94141", "94142"])
    race, code = zip(*pairs, strict=True)
    return table_of(leveled("race", race), leveled("zip", code, masked(1)))


@pytest.mark.parametrize(
    ("k", "minimal"),
    [(1, [(0, 0)]), (2, [(0, 1), (1, 0)]), (3, [(1, 0), (0, 2)]), (4, [(0, 2), (1, 1)]), (7, [(1, 2)])],
)
def test_minimal_nodes_of_race_and_zip(k: int, minimal: list[Vector]) -> None:
    found = run(race_and_zip(), [k_anonymity(k)], all_minimal=True)
    assert listed(found) == minimal
    assert sum(found.vector or ()) == min(map(sum, minimal))


def test_the_patients_of_incognito() -> None:
    """The paper's figure 5: two attributes are not enough at <S0, Z0>, and three nodes are minimal for all three."""
    found = run(patients(), [k_anonymity(2)], all_minimal=True)
    assert listed(found) == [(1, 1, 0), (0, 1, 2), (1, 0, 2)]
    assert found.vector == (1, 1, 0)
    assert run(patients(), [k_anonymity(2)]).vector == (1, 1, 0)


def test_suppression_lowers_the_height() -> None:
    table = sweeney()
    assert run(table, [k_anonymity(2)], 2).vector == (0, 1, 0, 0)
    assert run(table, [k_anonymity(2)], 2).suppressed.tolist() == [6, 7]
    assert run(table, [k_anonymity(2)], 1).summary()["height"] > 1


@settings(max_examples=some(60))
@given(units_or_not(SMALL), requirements, st.sampled_from([0.0, 0.1, 0.5]))
def test_against_all_nodes(table: Table, wanted: list[Requirement], suppression: float) -> None:
    limit = int(suppression * table.rows)
    expected = minimal_nodes(table, wanted, limit)
    if not expected:
        for every in (True, False):
            with pytest.raises(InfeasibleError):
                run(table, wanted, limit, every)
        return
    lowest = [vector for vector in expected if sum(vector) == sum(expected[0])]
    best = min(lowest, key=lambda vector: (round(distortion(table, vector, wanted), 9), vector))
    check_node(table, run(table, wanted, limit), best, wanted)
    found = run(table, wanted, limit, all_minimal=True)
    check_node(table, found, best, wanted)
    assert listed(found) == expected
    for node in found.summary()["minimal"]:
        vector = tuple(node["levels"].values())
        assert node["height"] == sum(vector)
        assert node["suppressed_rows"] == len(failing(table, vector, wanted))
        assert node["scores"]["precision"] == pytest.approx(distortion(table, vector, wanted), abs=1e-9)


def test_a_model_that_a_further_row_can_break_is_not_bisected() -> None:
    """Of entropy l-diversity with suppression: the bottom is good, the nodes above it are not, the top is."""
    spread = [*"aabb", *"aaaaa", *"bbbbb", *"ab" * 8]
    table = table_of(
        leveled("q", ["1"] * 4 + ["2"] * 5 + ["3"] * 5 + ["4"] * 16, lambda value: "low" if value < "3" else "high"),
        sensitive=[sensitive(spread)],
    )
    wanted = (requirement("entropy-l-diversity", "s", l=1.95),)
    assert not Checker(table, wanted, 10).monotone
    assert safe_nodes(table, wanted, 10) == [(0,), (2,)]
    assert run(table, wanted, 10).vector == (0,)
    assert safe_nodes(table, wanted, 9) == [(2,)] and run(table, wanted, 9).vector == (2,)


def test_bisection_checks_fewer_nodes_than_there_are() -> None:
    table = table_of(*(leveled(name, [f"{n:03}" for n in range(30)], masked(1), masked(2)) for name in "abcd"))
    figures = run(table, [k_anonymity(30)]).summary()
    assert figures["height"] == 8 and figures["nodes_checked"] < figures["nodes_total"] / 2


def test_infeasible_names_the_requirement() -> None:
    for every in (True, False):
        with pytest.raises(InfeasibleError, match="k-anonymity"):
            run(sweeney(), [k_anonymity(13)], all_minimal=every)


@settings(max_examples=some(30))
@given(units_or_not(SMALL), requirements, st.sampled_from([0.0, 0.1]))
def test_a_late_search_knows_how_far_off_it_is(table: Table, wanted: list[Requirement], suppression: float) -> None:
    limit = int(suppression * table.rows)
    lowest = min(map(sum, safe_nodes(table, wanted, limit)), default=None)
    for options in (samarati.Options(time_limit=1e-9), samarati.Options(all_minimal=True, time_limit=1e-9)):
        context = Context(suppression_limit=limit)
        try:
            found = samarati.run(table, tuple(wanted), options, context)
        except InfeasibleError:
            assert lowest is None
            continue
        told = found.chosen or {}
        vector = tuple(told["levels"].values())
        assert vector in safe_nodes(table, wanted, limit) and lowest is not None
        assert told["height"] - told["gap"] <= lowest <= told["height"] == sum(vector)
        assert f"height {told['height']}; gap {told['gap']}" in (context.best_so_far.describe() or "")
        greedy = climbed(Checker(table, tuple(wanted), limit))
        assert greedy is None or told["height"] <= sum(greedy)
        assert told.get("stopped", "time") == "time" and (told["gap"] == 0 or "stopped" in told)
