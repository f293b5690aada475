"""Exit codes, in one place, and how every end of the process comes by its own."""

from __future__ import annotations

import io
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import IO, Any, NoReturn

import click

from anonymize import errors, files
from anonymize.cli import early
from anonymize.places import masked

OUT_OF_MEMORY = re.compile(r"(?i)out of memory|memory allocation|cannot allocate memory|bad_alloc|CapacityOverflow")
"""How libraries say that memory was refused, in errors of other types."""

EARLY = b"ending the search: the best so far is verified and written; once more, and nothing is\n"
"""What is said where an interruption does not end the command."""

_interrupted = False
_sooner: Callable[[], object] | None = None
"""What an interruption does in place of ending the command, once."""


def run(command: Callable[[], object]) -> NoReturn:
    """Runs a command and ends the process with the code that its outcome has."""
    early.handle(_interrupt)
    sys.unraisablehook = _unraisable
    code = outcome(command)
    _ignore_signals()
    files.remove_all()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, AttributeError):
            stream.flush()
    # Not sys.exit: Python would end itself by SIGINT where a library's own code was run when the signal came.
    os._exit(code)


def outcome(command: Callable[[], object]) -> int:
    """The exit code of a command; what went wrong is written to standard error."""
    files.PUBLISHED.clear()
    try:
        command()
        if sys.stdout is not None:
            sys.stdout.flush()
        return errors.DONE
    except BaseException as error:  # a panic of polars is not an Exception
        return _failed(error)


def _failed(error: BaseException) -> int:
    """Writes what went wrong to standard error; returns its exit code."""
    if _is_broken_pipe(error):
        _silence_stdout()
        return errors.BROKEN_PIPE
    if isinstance(error, click.exceptions.Exit):  # after --help
        return error.exit_code
    if isinstance(error, click.ClickException):
        message = io.StringIO()
        error.show(message)
        with reporting():
            say(message.getvalue().rstrip("\n"), lines=True)
        return errors.USAGE
    code, lines = _described(error)
    with reporting():
        for line in lines:
            say(line)
    return code


def say(text: str, *, lines: bool = False) -> None:
    """Prints a message to standard error: all of them come through here, without passwords and without what a name in
    it would do to a terminal. `lines`: it has several."""
    click.echo(errors.visible(masked(text), lines=lines), err=True)


def say_charge(report: Mapping[str, Any]) -> None:
    """What a dry run of what is private would be charged: it draws nothing, and has nothing else to say."""
    for each in report["warnings"]:
        say(each)


def put(text: str, *, lines: bool = False) -> None:
    """Prints a result that is no table to standard output, in the same way."""
    click.echo(errors.visible(text, lines=lines))


def put_json(content: Any) -> None:
    """Prints what is no report as JSON."""
    import json

    put(json.dumps(content, indent=2, ensure_ascii=False), lines=True)


def show_report(report: dict[str, Any], color: str, stream: IO[str] | None = None) -> None:
    """Prints a report for people, to standard output unless another stream is given."""
    from anonymize.report.terminal import console, show

    show(report, console(stream or sys.stdout, color))


@contextmanager
def reporting() -> Iterator[None]:
    """For messages on standard error: failing to write one does not change the outcome of a command."""
    try:
        yield
    except (OSError, SystemExit) as error:
        if isinstance(error, SystemExit) and not _is_broken_pipe(error):
            raise


def _left() -> str:
    """What is there of a command that has ended before its end: nothing, mostly."""
    there = sorted(str(each) for each in files.PUBLISHED if each.exists())
    return f"by then these were written: {', '.join(there)}" if there else early.NOTHING


def _described(error: BaseException) -> tuple[int, list[str]]:
    """The exit code of an error, and the lines that describe it."""
    notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, errors.OwnNote)]
    # `_interrupted`: whatever a library, in whose code the signal was raised, has made of it
    if _interrupted or isinstance(error, KeyboardInterrupt | click.Abort):
        return errors.INTERRUPTED, [f"{early.INTERRUPTION}; {_left()}", *notes]
    if isinstance(error, errors.AnonymizeError):
        return error.exit_code, [*(f"error: {problem}" for problem in error.problems), *notes]
    if isinstance(error, MemoryError) or OUT_OF_MEMORY.search(str(error)):
        return errors.NO_MEMORY, [f"error: there was not enough memory; {_left()}"]
    if isinstance(error, OSError):
        _silence_stdout()
        where = error.filename or "input or output"
        return errors.CANNOT_WRITE, [f"error: {where}: {error.strerror or type(error).__name__}"]
    first, *where = errors.ProgramError.of(error).problems
    return errors.BUG, [f"error: {first}", *map(str, where)]


def on_interrupt(sooner: Callable[[], object] | None) -> None:
    """What the next interrupt (SIGINT alone) does in place of ending the command; None: it ends the command."""
    global _sooner
    _sooner = sooner


def _interrupt(signum: int, frame: FrameType | None) -> None:
    """Once: what is cleaned up after the first signal is not left half-way by a second one. Where there is nothing to
    clean up, that is the end. An interrupt of a search that has something already only ends the search."""
    if signum == signal.SIGINT and _sooner is not None:
        end_search = _sooner
        on_interrupt(None)
        end_search()
        with suppress(OSError):
            os.write(2, EARLY)
        return
    if not files.used():
        early.end(signum, frame)
    global _interrupted
    _interrupted = True
    _ignore_signals()
    raise KeyboardInterrupt


def raise_interruption() -> None:
    """Raises KeyboardInterrupt if a signal has come: once more, since a library may have swallowed the first."""
    if _interrupted:
        raise KeyboardInterrupt


def _unraisable(error: sys.UnraisableHookArgs) -> None:
    """Python would print the traceback of an interruption that came where nothing can be raised, as in code that a
    library calls back: it is raised once more by `raise_interruption`."""
    if not (_interrupted and isinstance(error.exc_value, KeyboardInterrupt)):
        sys.__unraisablehook__(error)


def _ignore_signals() -> None:
    early.handle(signal.SIG_IGN)


def _is_broken_pipe(error: BaseException) -> bool:
    """Also where rich made an exit of it, with a code that means something else here."""
    return isinstance(error.__context__ if isinstance(error, SystemExit) else error, BrokenPipeError)


def _silence_stdout() -> None:
    """Keeps the interpreter from flushing once more what cannot be written."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115


# --- the next command -------------------------------------------------------------------------------------------------
# Said on standard error, after a success and after what a user can mend. Never with -q.

PREFIX = "next: "


def say_next(*command: str) -> None:
    """A line with the command that follows; passwords in it are masked."""
    if sys.stderr is not None:
        with reporting():
            say(f"{PREFIX}anonymize {shlex.join(map(masked, command))}")


def beside(given: Mapping[str, Any]) -> list[str]:
    """The options with which other commands find the files next to a release, of those that were `given`."""
    flags = {"input": "-i", "st": "--st", "group": "--group", "manifest": "--manifest", "link": "--link"}
    present = {flag: given[name] for name, flag in flags.items() if given.get(name) is not None}
    return [word for flag, value in present.items() for word in (flag, str(value))]


def note_next(error: errors.AnonymizeError, arguments: Sequence[str]) -> None:
    """Adds to an error what to run next, unless the command line was quiet or nothing in particular helps."""
    if {"-q", "--quiet"}.intersection(arguments) or not arguments:
        return
    if isinstance(error, errors.UnsafeError | errors.InfeasibleError | errors.DataError):
        error.add_note(errors.OwnNote(f"{PREFIX}anonymize explain {error.exit_code}"))
    elif isinstance(error, errors.SpecError) and arguments[0] != "validate":
        specs = [argument for argument in arguments if argument.endswith((".yaml", ".yml"))][:1]
        if specs:
            error.add_note(errors.OwnNote(f"{PREFIX}anonymize {shlex.join(['validate', *specs])}"))
