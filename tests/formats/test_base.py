"""What findings come to."""

from __future__ import annotations

import pytest

from anonymize.claims import State
from anonymize.formats.base import LEVELS, Checked, Concluded, Finding, privacy_block, state_of

UNMET = Finding("k-anonymity", "k-anonymity (k=2)", "not met", "error", "s.yaml", 4)
UNKNOWN = Finding("k-map", "k-map (k=2)", "nobody looked", "error", known=False)
WARNING = Finding("warning", "warning", "look at this", "warning")
MET = Finding("k-anonymity", "k-anonymity (k=1)", "met", "pass")
REPORT = {"input": {"path": "t.csv"}, "tool": {"name": "anonymize", "version": "9"}}


@pytest.mark.parametrize(
    ("errors", "required", "state"),
    [
        ([], True, State.MET),
        ([], False, State.NOTHING_REQUIRED),
        ([UNKNOWN], True, State.UNKNOWN),
        ([UNKNOWN], False, State.UNKNOWN),
        ([UNKNOWN, UNMET], True, State.UNMET),
    ],
)
def test_findings_clear_only_where_something_is_required_and_nothing_is_wrong(
    errors: list[Finding], required: bool, state: State
) -> None:
    assert state_of(errors, required=required) is state


def test_what_keeps_a_table_back_is_an_error() -> None:
    assert {state for state, level in LEVELS.items() if level == "error"} == {each for each in State if each.fails}


def test_the_block_names_what_could_not_be_shown() -> None:
    block = privacy_block([UNMET, UNKNOWN, WARNING], State.UNMET)
    assert block == {"satisfied": False, "state": "unmet", "unknown": ["nobody looked"]}
    assert privacy_block([MET], State.MET) == {"satisfied": True, "state": "met"}


def test_problems_are_errors_with_their_lines() -> None:
    checked = Checked(REPORT, (UNMET, WARNING, MET, UNKNOWN))
    assert [(each.message, each.file, each.line) for each in checked.problems] == [
        ("not met", "s.yaml", 4),
        ("nobody looked", None, None),
    ]
    assert checked.table == "t.csv" and checked.of_levels("warning", "pass") == [WARNING, MET]
    concluded = Concluded(State.UNKNOWN, checked)
    assert concluded.satisfied is None and concluded.report is REPORT
