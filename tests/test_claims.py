"""What several requirements come to together."""

from __future__ import annotations

from itertools import product

import pytest

from anonymize.claims import State, overall


@pytest.mark.parametrize("states", [each for count in range(4) for each in product(State, repeat=count)])
def test_only_what_is_known_to_be_met_clears(states: tuple[State, ...]) -> None:
    state, required = overall(states), set(states) - {State.NOTHING_REQUIRED}
    assert (state is State.MET) == (required == {State.MET})
    assert (state is State.UNMET) == (State.UNMET in required)
    assert (state is State.NOTHING_REQUIRED) == (not required)
    assert state.fails == bool(required - {State.MET})


def test_reports_have_true_false_or_null() -> None:
    assert [each.satisfied for each in State] == [True, False, None, None]
    assert [State.of(each) for each in (True, False)] == [State.MET, State.UNMET]
