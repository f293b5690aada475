"""The progress bar, on a standard error that says that it is a terminal."""

from __future__ import annotations

import io
import re
import sys

import pytest

from anonymize.cli import exits
from anonymize.cli.progress import progress


class Terminal(io.StringIO):
    """Text that is written to a terminal."""

    def isatty(self) -> bool:
        return True

    def stages(self) -> list[tuple[str, str]]:
        """What each line that was drawn is about, with what it counts."""
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue())
        found = re.finditer(r"(\w+)\s+\S*\s+(\S+ (?:rows|passes|bound, cost)) ", plain)
        return [(each[1], each[2]) for each in found]


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error, replaced; in the test itself, for pytest has its own before that."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return stream


def test_the_last_stage_is_shown_with_what_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = terminal(monkeypatch)
    with progress(False) as report:
        report("read", 3, 10)
        report("refine", 2, 0)
        report("refine", 4, 5)
    assert stream.stages()[-1:] == [("refine", "4/5 passes")]
    assert stream.getvalue().endswith("\x1b[1A\x1b[2K")  # the line is taken back


def test_a_stage_beside_another_leaves_that_in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = terminal(monkeypatch)
    with progress(False) as report:
        report("search", 3, 0)
        report("bound", 5, 9)
        report("bound", 6, 8)
    assert stream.stages()[-2:] == [("search", "3/? rows"), ("bound", "6/8 bound, cost")]


@pytest.mark.parametrize(("cost", "gap"), [(8, "25.0%"), (0, "0.0%")])
def test_what_an_interrupted_search_had_found_is_left_on_the_terminal(
    monkeypatch: pytest.MonkeyPatch, cost: int, gap: str
) -> None:
    stream = terminal(monkeypatch)
    bound = cost * 3 // 4
    with pytest.raises(KeyboardInterrupt), progress(False) as report:
        report("bound", 1, 2)
        report("bound", bound, cost)
        raise KeyboardInterrupt
    assert f"best so far: cost {cost}, lower bound {bound}, gap {gap}; it is not written\n" in stream.getvalue()


def test_nothing_is_shown_when_quiet_off_a_terminal_and_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = terminal(monkeypatch)
    with progress(True) as report:
        report("read", 3, 10)
    assert stream.getvalue() == ""
    for other in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", other)
        with progress(False) as report:
            report("read", 3, 10)
        assert other is None or other.getvalue() == ""


@pytest.mark.parametrize("quiet", [True, False])
def test_it_ends_where_a_signal_has_come(monkeypatch: pytest.MonkeyPatch, quiet: bool) -> None:
    terminal(monkeypatch)
    monkeypatch.setattr(exits, "_interrupted", True)
    with pytest.raises(KeyboardInterrupt), progress(quiet) as report:
        report("read", 3, 10)
        raise AssertionError("it went on")


def test_a_stage_takes_the_place_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = terminal(monkeypatch)
    with progress(False) as report:
        report("read", 3, 10)
        begun = len(stream.getvalue())
        report("refine", 2, 5)
    assert "refine" in stream.getvalue()[begun:] and "read" not in stream.getvalue()[begun:]
