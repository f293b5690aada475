"""How the process ends, tried in one that goes on: signals, what is tidied up, what is still to be written."""

from __future__ import annotations

import gc
import importlib.util
import io
import os
import signal
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from anonymize import files
from anonymize.cli import early, exits
from anonymize.cli.main import COMPLETE
from anonymize.errors import DataError

Ending = Callable[[Callable[[], object]], int]
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


class Gone(BaseException):
    """The process would be gone."""


@pytest.fixture
def events() -> list[str]:
    """What happened, in its order; `gone` is the end of the process."""
    return []


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch, handlers: None, events: list[str]) -> Ending:
    """Runs what ends the process; returns the exit code."""
    codes: list[int] = []

    def gone(code: int) -> None:
        codes.append(code)
        events.append("gone")
        raise Gone

    def ended(work: Callable[[], object]) -> int:
        with pytest.raises(Gone):
            work()
        return codes[0]

    monkeypatch.setattr(os, "_exit", gone)
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    monkeypatch.setattr(exits, "_interrupted", False)
    monkeypatch.setattr(files, "_used", False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return ended


def fail() -> None:
    raise DataError("out of order")


def test_the_code_is_that_of_the_outcome(ending: Ending) -> None:
    assert ending(lambda: exits.run(fail)) == 3


def test_what_was_printed_before_an_error_is_written(ending: Ending, monkeypatch: pytest.MonkeyPatch) -> None:
    written = {name: io.BytesIO() for name in ("stdout", "stderr")}
    for name, file in written.items():
        monkeypatch.setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(file), write_through=False))

    def command() -> None:
        print("so far")
        print("a note", file=sys.stderr)
        fail()

    assert ending(lambda: exits.run(command)) == 3
    assert written["stdout"].getvalue() == b"so far\n"
    assert written["stderr"].getvalue().startswith(b"a note\nerror: ")


def test_temporary_files_are_gone_and_signals_do_not_disturb_that(ending: Ending) -> None:
    made = []
    assert ending(lambda: exits.run(lambda: made.append(files.create("copy")))) == 0
    assert not made[0].exists()
    assert {signal.getsignal(number) for number in SIGNALS} == {signal.SIG_IGN}


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("used", [True, False], ids=["something to tidy up", "nothing"])
def test_a_signal_lets_a_command_tidy_up_where_it_has_to(
    ending: Ending, events: list[str], capfd: pytest.CaptureFixture[str], number: signal.Signals, used: bool
) -> None:
    def command() -> None:
        try:
            if used:
                files.use()
            signal.raise_signal(number)
        finally:
            events.append("tidying")
            if used:
                signal.raise_signal(number)  # which an impatient second one does not cut short
            events.append("tidied")

    assert ending(lambda: exits.run(command)) == 130
    assert events[:3] == (["tidying", "tidied", "gone"] if used else ["gone", "tidying", "tidied"])
    assert capfd.readouterr().err.startswith("interrupted; nothing was written\n")


def test_what_a_library_makes_of_an_interruption_is_one(ending: Ending, capfd: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        files.use()
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise ValueError("panicked") from None

    assert ending(lambda: exits.run(command)) == 130
    assert capfd.readouterr().err == "interrupted; nothing was written\n"


def test_an_interrupt_that_is_ignored_stays_so(ending: Ending, events: list[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def command() -> None:
        signal.raise_signal(signal.SIGINT)
        events.append("done")

    assert ending(lambda: exits.run(command)) == 0
    assert events == ["done", "gone"]


class Calling:
    """What is called where nothing can be raised."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.call = call

    def __del__(self) -> None:
        self.call()


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def interrupted_by_a_library() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("calls", "code", "shown"),
    [
        ([interrupt], 130, []),
        ([interrupted_by_a_library], 0, ["KeyboardInterrupt"]),
        ([interrupt, fail], 130, ["DataError"]),
    ],
    ids=["a signal", "no signal", "an error after a signal"],
)
def test_an_interruption_where_nothing_can_be_raised_is_raised_later(
    ending: Ending,
    capfd: pytest.CaptureFixture[str],
    calls: list[Callable[[], None]],
    code: int,
    shown: list[str],
) -> None:
    def command() -> None:
        files.use()
        for call in calls:
            Calling(call)
        exits.raise_interruption()

    assert ending(lambda: exits.run(command)) == code
    told = capfd.readouterr().err
    assert [name for name in ("KeyboardInterrupt", "DataError") if name in told] == shown


# --- the console script -----------------------------------------------------------------------------------------------


def called(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """Runs the console script, by whose name the package has the module `main` once that is imported."""
    monkeypatch.setattr(sys, "argv", ["anonymize", *arguments])
    spec = importlib.util.find_spec("anonymize.cli")
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    threshold = gc.get_threshold()
    try:
        package.main()
    finally:
        gc.set_threshold(*threshold)


def test_the_console_script_runs_a_command(
    ending: Ending, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {**os.environ})
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert ending(lambda: called(monkeypatch, "hierarchy", "check", "none.csv")) == 2
    assert "none.csv" in capfd.readouterr().err
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"


def test_a_shell_that_asks_for_completions_is_answered(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, handlers: None
) -> None:
    monkeypatch.setenv(COMPLETE, "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "anonymize explai")
    monkeypatch.setenv("COMP_CWORD", "1")
    with pytest.raises(SystemExit) as ended:
        called(monkeypatch)
    assert ended.value.code == 0 and capfd.readouterr().out == "plain,explain\n"


def test_signals_are_taken_care_of_before_the_commands_are_imported(
    monkeypatch: pytest.MonkeyPatch, handlers: None
) -> None:
    found = []

    def noted() -> None:
        found.append((signal.getsignal(signal.SIGTERM), gc.get_threshold()[0] >= 100_000))

    monkeypatch.setitem(sys.modules, "anonymize.cli.main", SimpleNamespace(main=noted))
    called(monkeypatch)
    assert found == [(early.end, True)]
