"""The progress bar, on a standard error that says that it is a terminal."""

from __future__ import annotations

import io
import re
import sys

import polars as pl
import pytest

from anonymize.cli import exits
from anonymize.cli.progress import check_engine, progress
from anonymize.errors import UsageError
from tests.cli.conftest import Call, Desk


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


# --- engine -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "given", "message"),
    [
        ("local", {"threads": None, "master": "local[2]", "checkpoint": None}, "--master: goes with --engine spark"),
        ("local", {"threads": 2, "checkpoint": "folder"}, "--checkpoint: goes with --engine spark"),
        ("spark", {"threads": 2, "master": "local[2]"}, "--threads: has no effect with --engine spark"),
    ],
)
def test_an_option_of_elsewhere_is_refused(engine: str, given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        check_engine(engine, **given)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("engine", "given"),
    [("local", {"threads": 2, "master": None}), ("spark", {"threads": None, "master": "local[2]", "checkpoint": "f"})],
)
def test_an_option_that_has_an_effect_is_not(engine: str, given: dict[str, object]) -> None:
    check_engine(engine, **given)


@pytest.mark.parametrize("command", ["mondrian spec.yaml", "audit spec.yaml", "recode spec.yaml -i table.csv"])
def test_every_command_that_has_engines_refuses_what_goes_with_another(call: Call, command: str) -> None:
    ended = call(*command.split(), "--master", "local[2]")
    assert (ended.code, ended.out) == (2, b"") and "--master: goes with --engine spark" in ended.err


def test_an_engine_whose_libraries_are_not_there_says_which(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    ended = call("audit", "--qi", "age", "-i", "table.parquet", "--engine", "spark")
    assert (ended.code, ended.out) == (2, b"") and "pip install 'anonymize-toolkit[spark]'" in ended.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "no session"),
        (("-k", 2, "-l", 2, "--threshold", 0.3, "-r", "r.json", "--force"), "no session"),
        (("-r", "r.json"), "r.json: exists already"),
    ],
)
def test_what_an_engine_takes_goes_to_it(call: Call, desk: Desk, options: tuple[object, ...], told: str) -> None:
    """There is none at this address, which is found out when all else has been found good."""
    pytest.importorskip("pyspark.sql", reason="needs the extra `sail`", exc_type=ImportError)
    pl.read_csv(desk.folder / "table.csv").write_parquet(desk.folder / "table.parquet")
    (desk.folder / "r.json").write_text("mine")
    there = ("--engine", "spark", "--master", "sc://localhost:1")
    ended = call("audit", "spec.yaml", "-i", "table.parquet", *options, *there)
    assert ended.code == 2 and told in ended.err


@pytest.mark.parametrize(
    ("command", "flag"),
    [
        ("audit spec.yaml -i table.parquet --by-position", "--by-position"),
        ("recode r.json -i t.csv --seed 1", "--seed"),
    ],
)
def test_an_option_that_no_engine_has_is_refused_before_there_is_a_session(call: Call, command: str, flag: str) -> None:
    pytest.importorskip("pyspark.sql", reason="needs the extra `sail`", exc_type=ImportError)
    ended = call(*command.split(), "--engine", "spark", "--master", "sc://127.0.0.1:1")
    assert (ended.code, ended.out) == (2, b"") and f"{flag}: " in ended.err and "on one machine" in ended.err
