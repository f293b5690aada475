"""MinGen: the safe node of least distortion, against all nodes by brute force."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import mingen
from anonymize.algorithms.base import Context
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.search import climbed
from anonymize.errors import InfeasibleError, UsageError
from anonymize.privacy import Requirement
from anonymize.recoding import Levels
from anonymize.table import Table
from tests.algorithms.full_domain import check_node, distortion, leveled, patients, safe_nodes, sweeney
from tests.algorithms.tables import k_anonymity, requirement, table_of, tables, units_or_not
from tests.algorithms.test_mondrian import requirements
from tests.examples import some

SMALL = tables(max_rows=25, max_attributes=3, sensitive_columns=2)


def run(table: Table, wanted: Sequence[Requirement], limit: int = 0) -> Levels:
    return mingen.run(table, tuple(wanted), mingen.Options(), Context(limit))


@settings(max_examples=some(60))
@given(units_or_not(SMALL), requirements, st.sampled_from([0.0, 0.1, 0.5]))
def test_no_safe_node_is_of_less_distortion(table: Table, wanted: list[Requirement], suppression: float) -> None:
    limit = int(suppression * table.rows)
    safe = safe_nodes(table, wanted, limit)
    if not safe:
        with pytest.raises(InfeasibleError):
            run(table, wanted, limit)
        return
    found = run(table, wanted, limit)
    ranked = sorted(safe, key=lambda node: (round(distortion(table, node, wanted), 9), sum(node), node))
    check_node(table, found, ranked[0], wanted)
    assert found.summary()["distortion"] == pytest.approx(distortion(table, ranked[0], wanted), abs=1e-9)


def test_the_patients_of_incognito() -> None:
    # Minimal are (1, 1, 0), (1, 0, 2) and (0, 1, 2), of distortion 2/3 each; the first is the lowest.
    found = run(patients(), [k_anonymity(2)])
    assert found.vector == (1, 1, 0) and found.summary()["distortion"] == pytest.approx(2 / 3)


def test_sweeneys_table_generalizes_less_than_datafly_where_nothing_is_suppressed() -> None:
    table, wanted = sweeney(), [k_anonymity(2)]
    found = run(table, wanted)
    assert found.vector in safe_nodes(table, wanted, 0)
    assert distortion(table, found.vector or (), wanted) < distortion(table, (1, 2, 0, 1), wanted)


def test_ties_go_to_the_lower_node_then_to_the_lexicographically_first() -> None:
    table = table_of(leveled("a", ["1", "2"]), leveled("b", ["1", "2"]))
    assert run(table, [k_anonymity(1)]).vector == (0, 0)
    values, halves = ["1", "1", "2", "2"], ["1", "2", "1", "2"]
    table = table_of(leveled("a", values), leveled("b", halves))
    assert run(table, [k_anonymity(2)]).vector == (0, 1)
    # Both flat, or a to the root alone in two steps: the same distortion, and one step less.
    table = table_of(leveled("a", values, lambda value: value), leveled("b", halves))
    assert run(table, [k_anonymity(2)]).vector == (0, 1)


def test_suppressed_rows_count_as_cells_at_the_top() -> None:
    # Without the last row nothing need be generalized: 1 of 5 rows suppressed is less than one of two levels.
    table = table_of(leveled("a", ["1", "1", "2", "2", "3"], lambda value: "low" if value < "3" else "high"))
    wanted = [k_anonymity(2)]
    found = run(table, wanted, 1)
    assert found.vector == (0,) and found.suppressed.tolist() == [4]
    assert found.summary()["distortion"] == pytest.approx(0.2)
    assert run(table, wanted, 0).vector == (2,)


def test_nodes_that_cannot_be_better_are_not_checked() -> None:
    figures = run(sweeney(), [k_anonymity(1)]).summary()
    assert figures["nodes_checked"] == 1 and figures["nodes_total"] == 48


def test_infeasible_names_the_requirement() -> None:
    with pytest.raises(InfeasibleError, match="distinct-l-diversity"):
        run(sweeney(), [requirement("distinct-l-diversity", "problem", l=11)], 12)


def test_lattices_too_large_to_go_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mingen, "WALKED_NODES", 11)
    with pytest.raises(UsageError, match="12 nodes, and mingen goes through 11 at most"):
        run(patients(), [k_anonymity(2)])


@settings(max_examples=some(30))
@given(units_or_not(SMALL), requirements, st.sampled_from([0.0, 0.1]))
def test_a_late_search_knows_how_far_off_it_is(table: Table, wanted: list[Requirement], suppression: float) -> None:
    limit = int(suppression * table.rows)
    safe = safe_nodes(table, wanted, limit)
    context = Context(suppression_limit=limit)
    try:
        found = mingen.run(table, tuple(wanted), mingen.Options(time_limit=1e-9), context)
    except InfeasibleError:
        assert not safe
        return
    told, least = found.chosen or {}, min(distortion(table, vector, wanted) for vector in safe)
    assert tuple(told["levels"].values()) in safe
    assert told["distortion"] - told["gap"] - 1e-9 <= least <= told["distortion"] + 1e-9
    assert "gap" in (context.best_so_far.describe() or "")
    greedy = climbed(Checker(table, tuple(wanted), limit))
    assert greedy is None or told["distortion"] <= distortion(table, greedy, wanted) + 1e-9
    assert told.get("stopped", "time") == "time" and (told["gap"] == 0 or "stopped" in told)
