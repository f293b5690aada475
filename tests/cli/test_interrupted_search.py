"""A search that is interrupted, or whose time is up: what is released, and what is left on the terminal."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from io import StringIO
from random import Random

import pytest

from anonymize.algorithms import ALGORITHMS
from anonymize.algorithms.deadline import INTERRUPTED, Deadline, ended_by, ends_early, interruptible
from anonymize.cli.progress import progress
from tests.cli.conftest import Call, Desk


class Terminal(StringIO):
    """Standard error as a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stage", "line"), [("bound", "cost 200, lower bound 150, gap 25.0%"), ("refine", "")])
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


@pytest.fixture
def slow(desk: Desk) -> Desk:
    """A table whose release is refined for some seconds."""
    rng, names = Random(1), [f"q{number}" for number in range(6)]
    lines = [",".join(str(rng.randrange(1000)) for _ in names) for _ in range(6_000)]
    spec = "version: 1\ninput: {path: table.csv}\nquasi_identifiers:\n"
    spec += "".join(f"  {name}: {{type: numeric}}\n" for name in names)
    desk.fill("\n".join([",".join(names), *lines]) + "\n", spec + "privacy: {k: 5}\n")
    return desk


def interrupted(desk: Desk, *arguments: object, times: int = 1) -> tuple[int, bytes]:
    """Exit code and standard error, a terminal, of a release that is interrupted as soon as it has been refined once,
    and so many times at once."""
    outer, inner = pty.openpty()
    told = b""
    with desk.start("release", "spec.yaml", *arguments, stdout=subprocess.PIPE, stderr=inner) as process:
        os.close(inner)
        while b"refine" not in told:
            told += os.read(outer, 1 << 16)
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            while times > 1 and b"ending the search" not in told:
                told += os.read(outer, 1 << 16)
        try:
            while more := os.read(outer, 1 << 16):
                told += more
        except OSError:  # nobody writes to the terminal any more
            pass
        process.communicate(timeout=60)
    os.close(outer)
    return process.returncode, told


def test_on_a_terminal_an_interrupt_ends_the_search_with_the_best_so_far(slow: Desk) -> None:
    code, told = interrupted(slow, "-o", "out.csv", "-r", "r.json")
    assert code == 0 and b"ending the search: the best so far is verified and written" in told
    assert b"the search was interrupted: this is the best release that it found" in told
    report = json.loads((slow.folder / "r.json").read_text())
    assert report["recoding"]["stopped"] == "interrupted" and report["privacy"]["satisfied"]
    assert 1 <= report["recoding"]["refinement"]["passes"] <= 2
    assert not report["recoding"]["refinement"]["stopped_by_time"]
    assert (slow.folder / "out.csv").read_text().count("\n") == 6_001


@pytest.mark.parametrize(("output", "times"), [("-", 1), ("out.csv", 2)])
def test_into_a_pipe_and_the_second_time_an_interrupt_ends_the_command(slow: Desk, output: str, times: int) -> None:
    before = slow.files()
    code, told = interrupted(slow, "-o", output, "-r", "r.json", times=times)
    assert code == 130 and b"interrupted; nothing was written" in told
    assert slow.files() == before


@pytest.mark.parametrize(
    ("algorithm", "options", "ends"),
    [
        ("release", {}, True),
        ("mondrian", {}, False),
        ("mondrian", {"refine": True}, True),
        ("samarati", {}, True),
        ("datafly", {}, False),
    ],
)
def test_which_searches_end_with_the_best_so_far(algorithm: str, options: dict[str, bool], ends: bool) -> None:
    assert ends_early(ALGORITHMS[algorithm].Options(**options)) == ends


def test_only_deadlines_of_searches_that_may_end_early_pass_where_they_are_told_to() -> None:
    early, never = Deadline(0.0), Deadline()
    with interruptible() as tell:
        assert not early.passed
        tell()
        assert (early.passed, never.passed, ended_by()) == (True, False, INTERRUPTED)
    assert not early.passed and ended_by() == "time"


@pytest.mark.parametrize("command", ["samarati", "mingen", "k-optimize", "incognito"])
def test_what_other_searches_say_of_an_interrupt(desk: Desk, call: Call, command: str) -> None:
    with interruptible() as tell:
        tell()
        ended = call(command, "spec.yaml", "-o", "late.csv", "-r", "late.json")
    assert ended.code == 0
    assert json.loads((desk.folder / "late.json").read_text())["recoding"]["stopped"] == "interrupted"
