"""How a command ends, whatever is raised."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import click
import pytest

from anonymize.cli.exits import outcome, reporting
from anonymize.errors import DataError, OwnNote


def raising(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def broken_by_rich() -> SystemExit:
    """What rich makes of a broken pipe: an exit with a code of its own."""
    error = SystemExit(1)
    error.__context__ = BrokenPipeError()
    return error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), DataError("out of order")])
def test_what_a_library_notes_of_an_error_is_not_shown(error: BaseException, capfd: pytest.CaptureFixture[str]) -> None:
    error.add_note("while processing 'secret'")
    error.add_note(OwnNote("the best so far"))

    assert outcome(raising(error)) != 0
    lines = capfd.readouterr().err.splitlines()
    assert lines[1:] == ["the best so far"]


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (click.exceptions.Exit(4), 4, None),
        (click.UsageError("no such option"), 2, "Error: no such option"),
        (click.Abort(), 130, "interrupted; nothing was written"),
        (MemoryError(), 71, "error: the memory did not suffice; nothing was written"),
        (RuntimeError("Cannot allocate memory for a"), 71, "error: the memory did not suffice; nothing was written"),
        (OSError(28, "No space left", "out.csv"), 74, "error: out.csv: No space left"),
        (OSError(), 74, "error: input or output: OSError"),
        (BrokenPipeError(), 141, None),
        (broken_by_rich(), 141, None),
        (ValueError("CANARY"), 70, "error: ValueError: this is a bug of anonymize; nothing was written"),
    ],
    ids=repr,
)
def test_every_error_has_its_code_and_its_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    line: str | None,
) -> None:
    own = sys.stdout
    monkeypatch.setattr(sys, "stdout", own)  # what cannot be written to is replaced; here, until the test ends
    assert outcome(raising(error)) == code
    assert (sys.stdout is not own) is (code in (74, 141))
    if sys.stdout is not own:
        sys.stdout.close()
    lines = capsys.readouterr().err.splitlines()
    assert lines[:1] == ([] if line is None else [line]) and "CANARY" not in "".join(lines)


class Closed(io.StringIO):
    """A standard output whose reader has gone away."""

    def flush(self) -> None:
        raise BrokenPipeError


def test_what_is_written_last_may_meet_a_closed_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Closed())
    assert outcome(lambda: None) == 141
    sys.stdout.flush()  # as the interpreter does at its end
    sys.stdout.close()


def test_a_process_may_have_no_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert outcome(lambda: None) == 0


def test_a_bug_is_told_with_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(raising(KeyError("CANARY"))) == 70
    *_, last = capsys.readouterr().err.splitlines()
    assert last.endswith(" in fail") and __file__ in last


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(5, "Input/output error"), broken_by_rich()])
def test_a_message_that_cannot_be_written_changes_no_outcome(error: BaseException) -> None:
    with reporting():
        raise error


@pytest.mark.parametrize("error", [SystemExit(3), ValueError("x")])
def test_anything_else_that_happens_while_a_message_is_written_is_raised(error: BaseException) -> None:
    with pytest.raises(type(error)), reporting():
        raise error
