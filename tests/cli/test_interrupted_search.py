"""What is left on the terminal where a search with a bound is interrupted, or its time is up."""

from __future__ import annotations

import json
import sys
from io import StringIO

import pytest

from anonymize.cli.progress import progress
from tests.cli.conftest import Call, Desk


class Terminal(StringIO):
    """Standard error as a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stage, line", [("bound", "cost 200, lower bound 150, gap 25.0%"), ("refine", "")])
def test_bound_cost_and_gap_stay_on_the_terminal(monkeypatch: pytest.MonkeyPatch, stage: str, line: str) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(KeyboardInterrupt), progress(quiet=False) as show:
        show("search", 0, 10)
        show(stage, 100, 300)
        show(stage, 150, 200)
        raise KeyboardInterrupt
    assert ("best so far: " + line if line else "") in terminal.getvalue()
    assert ("best so far" in terminal.getvalue()) == bool(line)


@pytest.mark.parametrize("command", ["samarati", "mingen", "k-optimize"])
def test_that_the_time_was_up_is_said_with_the_gap(desk: Desk, call: Call, command: str) -> None:
    ended = call(command, "spec.yaml", "-o", "late.csv", "-r", "late.json", "--time-limit", "0.0000001")
    assert ended.code == 0 and "warning: the time of the search was up" in ended.err and "(gap" in ended.err
    report = json.loads((desk.folder / "late.json").read_text())
    assert report["recoding"]["stopped"] == "time" and report["recoding"]["gap"] > 0


def test_late_searches_release_no_more_general_a_node_than_datafly(desk: Desk, call: Call) -> None:
    heights = {}
    for command, more in (("datafly", ()), ("samarati", ("--time-limit", "0.0000001"))):
        ended = call(command, "spec.yaml", "-o", f"{command}.csv", "-r", f"{command}.json", *more)
        assert ended.code == 0 and ("time of the search" in ended.err) == bool(more)
        report = json.loads((desk.folder / f"{command}.json").read_text())
        heights[command] = sum(report["recoding"]["levels"].values())
    assert heights["samarati"] <= heights["datafly"] < 8
