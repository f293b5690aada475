from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.errors import InfeasibleError
from tests.algorithms.full_domain import check_node, classes, failing, shown
from tests.algorithms.lattice.cases import Case, below, small_cases
from tests.algorithms.tables import categorical, requirement, sensitive, table_of, taxonomy


@given(small_cases())
def test_a_check_is_what_the_rows_say(case: Case) -> None:
    checker, safe = case.checker(), case.safe()
    for vector in case.nodes:
        checked = checker.check(vector)
        lost = failing(case.table, vector, case.wanted)
        kept = [rows for rows in classes(shown(case.table, vector)) if rows[0] not in lost]
        assert checked.safe == (vector in safe)
        assert checked.suppressed == len(lost)
        assert checked.classes == len(kept)
        assert checked.squares == sum(len(rows) ** 2 for rows in kept)
        assert checked.failing_squares + checked.squares == sum(
            len(rows) ** 2 for rows in classes(shown(case.table, vector))
        )
    assert checker.counters == {
        "nodes_checked": len(case.nodes),
        "nodes_skipped": 0,
        "nodes_total": len(case.nodes),
    }


@given(small_cases())
def test_tags_are_true(case: Case) -> None:
    checker, safe = case.checker(), case.safe()
    for vector in case.nodes:
        if checker.monotone and vector in safe:
            assert all(other in safe for other in case.nodes if below(vector, other))
        if checker.check(vector).ruled_out:
            assert not any(other in safe for other in case.nodes if below(other, vector))


@given(small_cases(), st.data())
def test_a_recoding_is_the_release_of_its_node(case: Case, data: st.DataObject) -> None:
    vector = data.draw(st.sampled_from(case.nodes))
    if len(failing(case.table, vector, case.wanted)) < case.table.rows:
        found = case.checker().recoding(vector)
        check_node(case.table, found, vector, case.wanted)
        assert found.summary()["levels"] == dict(zip([a.name for a in case.table.attributes], vector, strict=True))


def test_progress_is_told_once_for_every_row() -> None:
    told: list[int] = []
    table = table_of(categorical("abab", taxonomy("a *", "b *")))
    checker = Case(table, (), 0).checker()
    checker._progress = told.append
    for settled in (0, 1, 1, 2, 5):
        checker.settled(settled)
    assert sum(told) == 4 and all(told)


def test_entropy_says_nothing_about_nodes_above_where_rows_may_be_suppressed() -> None:
    wanted = (requirement("entropy-l-diversity", "s", l=2),)
    domain = taxonomy("a A *", "b A *")
    table = table_of(categorical(list("aabbbbbb"), domain), sensitive=[sensitive(list("xyxxxxxx"))])
    checker = Case(table, wanted, 6).checker()
    assert not checker.monotone
    assert checker.check((0,)).safe
    assert not checker.check((1,)).safe and not checker.check((1,)).ruled_out


def test_frequency_says_nothing_about_nodes_above_where_a_unit_may_be_in_several_classes() -> None:
    """Whoever has y is in both classes below, and counts once in the one above."""
    wanted = (requirement("frequency-l-diversity", "s", l=2),)
    table = table_of(categorical(list("aabb"), taxonomy("a A *", "b A *")), sensitive=[sensitive(list("xyxy"))])
    assert Case(table, wanted, 0).checker().monotone
    checker = Case(replace(table, units=np.array([1, 2, 3, 2], np.uint8)), wanted, 0).checker()
    assert not checker.monotone
    assert checker.check((0,)).safe
    assert not checker.check((1,)).safe and not checker.check((1,)).ruled_out


def test_what_binds_is_named_where_only_whole_classes_can_go() -> None:
    wanted = (requirement("frequency-l-diversity", "s", l=2),)
    table = table_of(categorical("aaaa", taxonomy("a *")), sensitive=[sensitive(list("xxxy"))])
    error = Case(table, wanted, 2).checker().infeasible()
    assert isinstance(error, InfeasibleError)
    assert "frequency-l-diversity (l=2) of s" in str(error)
    with pytest.raises(InfeasibleError, match="4 rows"):
        raise Case(table, (requirement("k-anonymity", k=5),), 0).checker().infeasible()
