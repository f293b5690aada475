"""What is left on the terminal where a search with a bound is interrupted."""

from __future__ import annotations

import sys
from io import StringIO

import pytest

from anonymize.cli.progress import progress


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
