"""What is asked of a table, what was found, and how it is said."""

from __future__ import annotations

from typing import Any

import pytest

from anonymize.claims import Basis, Result, State, said
from anonymize.privacy import PARAMETERS, requirements
from anonymize.spec import make
from anonymize.verify.kept import PassingFigures, RowShares
from anonymize.verify.verdict import (
    BLANK,
    BY_ORDER,
    NOTHING_ASKED,
    THRESHOLD,
    Check,
    NarrowedAttribute,
    OrderVerdict,
    Verdict,
    checks_of,
)


def result(state: State, **more: Any) -> Result:
    counts = more.pop("classes", 1), more.pop("rows", 1)
    return Result("k-anonymity", None, {"k": 2}, {"k": 1}, state, *counts, **{"basis": Basis.MEASURED, **more})


def verdict(*states: State, **more: Any) -> Verdict:
    return Verdict(rows=10, suppressed_rows=0, results=tuple(map(result, states)), classes={}, risk={}, **more)


def passing(share: float, most: float | None, **more: Any) -> PassingFigures:
    bounds = {} if most is None else {"uniques": most}
    return PassingFigures(("ward",), 10, RowShares(0.1, share, 0.9), bounds=bounds, **more)


@pytest.mark.parametrize(
    ("values", "protects"), [(None, ()), (["a"], ("a",)), (("a", "b"), ("a", "b")), ({"a": 2}, ()), ("a", ())]
)
def test_a_check_protects_the_values_of_a_list(values: Any, protects: tuple[str, ...]) -> None:
    assert Check("m", "s", {} if values is None else {"values": values}).protects == protects


@pytest.mark.parametrize(
    ("distance", "numeric", "needs"),
    [
        ("hierarchical", False, True),
        ("hierarchical", True, True),
        ("ordered", False, True),
        ("ordered", True, False),
        ("equal", False, False),
        (None, False, False),
    ],
)
def test_a_distance_by_a_hierarchy_needs_one(distance: str | None, numeric: bool, needs: bool) -> None:
    given = {} if distance is None else {"distance": distance}
    assert Check("t-closeness", "s", given, numeric).needs_tree is needs


def test_checks_are_those_of_the_requirements_by_the_kind_of_their_attribute() -> None:
    content = {"version": 1, "quasi_identifiers": {"age": {}}, "sensitive": {"pay": {"type": "numeric"}, "ill": {}}}
    spec = make({**content, "privacy": {"k": 3, "l": 2}}, PARAMETERS)
    assert checks_of(spec, requirements(spec)) == [
        Check("k-anonymity", None, {"k": 3}),
        Check("distinct-l-diversity", "pay", {"l": 2}, numeric=True),
        Check("distinct-l-diversity", "ill", {"l": 2}, alike=True),
    ]
    assert not Check("m", None, {}).numeric


def test_a_record_is_at_risk_above_a_fifth() -> None:
    assert THRESHOLD == 0.2


def test_figures_read_short() -> None:
    assert [said(each) for each in (None, 3, 1 / 3, "x", ["a", "b"])] == ["none", "3", "0.333333", "x", "[a, b]"]


@pytest.mark.parametrize(
    ("rows", "classes", "text"),
    [(1, 1, "1 row in 1 class fails"), (4, 1, "4 rows in 1 class fail"), (4, 2, "4 rows in 2 classes fail")],
)
def test_what_is_not_met_says_what_fails(rows: int, classes: int, text: str) -> None:
    assert str(result(State.UNMET, rows=rows, classes=classes)) == f"k-anonymity (k=2) is not met: k=1; {text}"


def test_what_could_not_be_shown_says_why() -> None:
    unshown = result(State.MET).unshown("nobody looked")
    assert (unshown.state, unshown.basis, unshown.satisfied) == (State.UNKNOWN, Basis.UNKNOWN, None)
    assert str(unshown) == "k-anonymity (k=2) could not be shown: nobody looked"
    assert unshown.as_dict()["unknown"] == "nobody looked" and "unknown" not in result(State.MET).as_dict()


@pytest.mark.parametrize(
    ("states", "state", "unmet"),
    [
        ((State.MET,), State.MET, 0),
        ((State.MET, State.UNMET, State.UNKNOWN), State.UNMET, 2),
        ((State.MET, State.UNKNOWN), State.UNKNOWN, 1),
        ((State.NOTHING_REQUIRED, State.MET), State.MET, 0),
        ((State.NOTHING_REQUIRED,), State.NOTHING_REQUIRED, 0),
        ((), State.NOTHING_REQUIRED, 0),
    ],
)
def test_a_verdict_clears_by_what_is_known_alone(states: tuple[State, ...], state: State, unmet: int) -> None:
    found = verdict(*states)
    assert found.state is state and len(found.unmet) == unmet
    assert (NOTHING_ASKED in found.cautions) is (state is State.NOTHING_REQUIRED)


@pytest.mark.parametrize(("judged", "state"), [(True, State.UNKNOWN), (False, State.MET)])
def test_the_order_counts_where_the_table_is_judged_by_it(judged: bool, state: State) -> None:
    order = OrderVerdict(False, judged, results=(result(State.MET), result(State.MET).unshown("why")))
    found = verdict(State.MET, order=order)
    assert found.state is state
    assert found.unmet == ([f"k-anonymity (k=2) could not be shown: why{BY_ORDER}"] if judged else [])


@pytest.mark.parametrize(
    ("share", "most", "state", "failing"),
    [
        (0.3, 0.2, State.UNMET, 3),
        (0.2, 0.2, State.MET, 0),
        (0.2, None, None, 0),
        (0.0, 0.0, State.MET, 0),
        (0.1, 0.0, State.UNMET, 1),
        (0.7, 0.6, State.UNMET, 7),
        (0.6, 0.7, State.MET, 0),
        (1.0, 0.9, State.UNMET, 10),
        (1.0, 1.0, State.MET, 0),
    ],
)
def test_what_passes_through_is_bounded_by_its_share(
    share: float, most: float | None, state: State | None, failing: int
) -> None:
    found = passing(share, most).results
    assert [each.state for each in found] == ([] if state is None else [state])
    assert all((each.failing_rows, each.achieved["uniques"]) == (failing, share) for each in found)
    whole = verdict(State.MET, passing=passing(share, most))
    assert whole.state is (State.UNMET if state is State.UNMET else State.MET)
    assert len(whole.unmet) == (state is State.UNMET)
    if state is State.UNMET:
        words = f"passing (uniques={most:g}) is not met: {100 * share:.3g} % of the rows are alone"
        assert whole.unmet[0].startswith(words) and "(ward)" in whole.unmet[0]


def test_columns_that_pass_through_are_named_up_to_five() -> None:
    shares = RowShares(0.1, 0.2, 0.3)
    many = PassingFigures(tuple("abcdefg"), 10, shares)
    (said_of_many,) = many.cautions
    assert "(a, b, c, d, e and 2 more) single out 10 % of the rows by themselves, 20 % together" in said_of_many
    for count, named in ((5, "(a, b, c, d, e) single"), (6, "(a, b, c, d, e and 1 more) single")):
        assert named in PassingFigures(tuple("abcdefg"[:count]), 10, shares).cautions[0]
    assert "(ward)" in passing(0.2, None).cautions[0] and passing(0.0, None).cautions == []


def test_a_table_of_suppressed_rows_tells_nothing() -> None:
    assert verdict(State.MET, blank=True).cautions == [BLANK]


def test_what_the_order_narrows_is_a_caution() -> None:
    narrowed = NarrowedAttribute("age", "ascending", None, 0.1, 0.25)
    order = OrderVerdict(False, False, (narrowed,), rows=10, singled_out=4, singled_out_as_shown=1)
    (caution,) = verdict(State.MET, order=order).cautions
    assert "age (25.0% of cells exact); by it 4 of 10 rows are singled out, and 1 by what they show" in caution
    assert verdict(State.MET, order=OrderVerdict(True, True)).cautions == []
