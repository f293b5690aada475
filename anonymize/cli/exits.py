"""Exit codes, in one place, and how every end of the process comes by its own."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

import click

from anonymize.errors import AnonymizeError

DONE = 0
UNSAFE = 1
USAGE = 2
DATA = 3
INFEASIBLE = 4
BUG = 70
CANNOT_WRITE = 74
INTERRUPTED = 130
BROKEN_PIPE = 141

MEANINGS = {
    DONE: "done, every requirement met",
    UNSAFE: "measured, and a privacy requirement is not met",
    USAGE: "usage or spec error, or an output that exists already",
    DATA: "the data is not what the spec says",
    INFEASIBLE: "no release meets the requirements within the suppression limit",
    BUG: "a bug of the program",
    CANNOT_WRITE: "the output cannot be written",
    INTERRUPTED: "interrupted; nothing partial is left",
    BROKEN_PIPE: "broken pipe; nothing partial is left",
}


def run(command: Callable[[], object]) -> NoReturn:
    """Runs a command and ends the process with the code that its outcome has."""
    signal.signal(signal.SIGTERM, _interrupt)
    sys.exit(outcome(command))


def outcome(command: Callable[[], object]) -> int:
    """The exit code of a command; what went wrong is told on standard error."""
    try:
        command()
        sys.stdout.flush()
        return DONE
    except AnonymizeError as error:
        for problem in error.problems:
            click.echo(f"error: {problem}", err=True)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return USAGE
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted; nothing was written", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return BROKEN_PIPE
    except OSError as error:
        click.echo(f"error: {error.filename or 'input or output'}: {error.strerror or type(error).__name__}", err=True)
        return CANNOT_WRITE
    except Exception as error:
        _tell_bug(error)
        return BUG


def _interrupt(signum: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _silence_stdout() -> None:
    """Keeps the interpreter from flushing into the closed pipe once more."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115


def _tell_bug(error: Exception) -> None:
    """Where it happened, without the message, which may hold a cell value."""
    click.echo(f"error: {type(error).__name__}: this is a bug of anonymize; nothing was written", err=True)
    for frame in traceback.extract_tb(error.__traceback__):
        click.echo(f"  {frame.filename}:{frame.lineno} in {frame.name}", err=True)
