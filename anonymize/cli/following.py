"""The command to run next, on standard error: after a success, and after what a user can mend. Never with -q."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from anonymize.cli.exits import reporting, say
from anonymize.errors import AnonymizeError, DataError, InfeasibleError, OwnNote, SpecError, UnsafeError
from anonymize.places import masked

PREFIX = "next: "


def say_next(*command: str) -> None:
    """A line with the command that follows; passwords in it are masked."""
    if sys.stderr is not None:
        with reporting():
            say(f"{PREFIX}anonymize {shlex.join(map(masked, command))}")


def beside(given: Mapping[str, Any]) -> list[str]:
    """The options with which other commands find what is beside a release, of those that were `given`."""
    flags = {"input": "-i", "st": "--st", "group": "--group", "manifest": "--manifest", "link": "--link"}
    present = {flag: given[name] for name, flag in flags.items() if given.get(name) is not None}
    return [word for flag, value in present.items() for word in (flag, str(value))]


def note_next(error: AnonymizeError, arguments: Sequence[str]) -> None:
    """Adds to an error what to run next, unless the command line was quiet or nothing in particular helps."""
    if {"-q", "--quiet"}.intersection(arguments) or not arguments:
        return
    if isinstance(error, UnsafeError | InfeasibleError | DataError):
        error.add_note(OwnNote(f"{PREFIX}anonymize explain {error.exit_code}"))
    elif isinstance(error, SpecError) and arguments[0] != "validate":
        specs = [argument for argument in arguments if argument.endswith((".yaml", ".yml"))][:1]
        if specs:
            error.add_note(OwnNote(f"{PREFIX}anonymize {shlex.join(['validate', *specs])}"))
