"""What can go wrong, by whose fault it is, and the exit code each kind ends the process with.

A user's mistake is an `AnonymizeError`: a list of problems, each with the place it was found and what would mend it.
Any other exception is a bug of the program. No message holds a cell value of the input: names of columns, counts and
line numbers only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar

from anonymize.places import masked
from anonymize.records import dataclass

# --- exit codes -------------------------------------------------------------------------------------------------------
# Exit codes, what each means, and what to do then.

DONE = 0
UNSAFE = 1
USAGE = 2
DATA = 3
INFEASIBLE = 4
BUG = 70
NO_MEMORY = 71
CANNOT_WRITE = 74
INTERRUPTED = 130
BROKEN_PIPE = 141

MEANINGS = {
    DONE: "done, every requirement met",
    UNSAFE: "measured, and a privacy requirement is not met or could not be shown",
    USAGE: "usage or spec error, or an output that exists already",
    DATA: "the data is not what the spec says",
    INFEASIBLE: "no release meets the requirements within the suppression limit",
    BUG: "a bug of the program",
    NO_MEMORY: "not enough memory",
    CANNOT_WRITE: "the output cannot be written",
    INTERRUPTED: "interrupted; nothing partial is left",
    BROKEN_PIPE: "broken pipe; nothing partial is left",
}

ADVICE = {
    DONE: "",
    UNSAFE: "Nothing was written. After an `audit`: do not publish the table. `--allow-unsafe` writes a release all "
    "the same, with `satisfied: false` in its report and exit code 0. A requirement that could not be shown has "
    "`satisfied: null`: the [report](report.md#what-could-not-be-shown) lists the cases.",
    USAGE: "The message names the option, or line and column of the spec. `--force` overwrites outputs.",
    DATA: "A file that cannot be read, a column that is missing or has no role, a value outside its hierarchy, a "
    "value that is not a number. The message names columns, counts and lines, never values.",
    INFEASIBLE: "The message names the requirement that binds, and the nearest one that is feasible.",
    BUG: "Please report it. The message says where in the program it happened and shows no value of the table.",
    NO_MEMORY: "The message says how much the table takes and how much there is: a limit of the shell or the "
    "container, or what the machine has free.",
    CANNOT_WRITE: "The disk is full, or permission is missing.",
    INTERRUPTED: "Ctrl-C, a SIGTERM, or a SIGHUP, as when the terminal is closed. In the search of a release on a "
    "terminal, with neither `-i -` nor `-o -`, the first Ctrl-C ends the search alone, where a `--time-limit` could: "
    "the best release so far is verified and written, with exit code 0 and `stopped: interrupted` in its report.",
    BROKEN_PIPE: "The reader of standard output went away.",
}
"""What to do, as the pages say it. Links are those of docs/."""


# --- errors -----------------------------------------------------------------------------------------------------------

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters of a terminal, marks that turn the direction of what follows, and halves of characters."""


def visible(text: str, *, lines: bool = False) -> str:
    """A text as a terminal may be given it: what would move its cursor, clear it or turn it around is spelled out, as
    JSON does. `lines`: with its line ends and tabs, for what is more than one line.

    >>> visible("\x1b[2Jage")
    '\\\\u001b[2Jage'
    """
    return _UNSEEN.sub(lambda mark: mark[0] if lines and mark[0] in "\n\t" else f"\\u{ord(mark[0]):04x}", text)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, where it is (1-based line and column), and what would fix it."""

    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    hint: str | None = None

    def __post_init__(self) -> None:
        # Wherever the URI of a database comes from, its password goes no further than here; and so with what a name
        # tells a terminal to do.
        for part in ("message", "file", "hint"):
            text = getattr(self, part)
            object.__setattr__(self, part, None if text is None else visible(masked(text)))

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        text = f"{place}: {self.message}" if place else self.message
        return f"{text} ({self.hint})" if self.hint else text


class Caution(str):
    """A warning of a report: what there is to know, and what to do about it, a line of the spec or a command.

    It is one text, so that JSON has it as such and whoever has read it back can part it again.
    """

    _BETWEEN: ClassVar[str] = ". Remedy: "

    @classmethod
    def of(cls, text: str, remedy: str) -> Caution:
        """`remedy`: what is to be typed stands between backquotes.

        >>> Caution.of("rows are in the input's order", "`output: {row_order: sorted}`").remedy
        '`output: {row_order: sorted}`'
        """
        return cls(f"{text}{cls._BETWEEN}{remedy}")

    @property
    def text(self) -> str:
        """What there is to know."""
        return self.rpartition(self._BETWEEN)[0] or str(self)

    @property
    def remedy(self) -> str:
        """What to do about it; empty where nothing is said of that."""
        return self.rpartition(self._BETWEEN)[2] if self._BETWEEN in self else ""


class OwnNote(str):
    """A line that is added to an exception (`add_note`) for the terminal. Libraries add notes as well, which are not
    shown: who knows what is in them."""


class AnonymizeError(Exception):
    """A mistake that the user can mend. Carries every problem found, not only the first."""

    exit_code: ClassVar[int] = 2

    def __init__(self, problems: Problem | str | Iterable[Problem | str]) -> None:
        if isinstance(problems, (Problem, str)):
            problems = [problems]
        self.problems = tuple(Problem(p) if isinstance(p, str) else p for p in problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UsageError(AnonymizeError):
    """The command line asks for something that cannot be done: exit code 2."""


def refuse(reasons: Mapping[str, object], by: str = "", hint: str | None = None) -> None:
    """Raises UsageError for what is not to be had. `reasons`: by option or key with the reason, whether it was given;
    `by`: what stands before each; `hint`: what would mend each.

    >>> refuse({"--seed: the noise is the system's": None})
    """
    if wrong := [Problem(f"{by}{reason}", hint=hint) for reason, given in reasons.items() if given]:
        raise UsageError(wrong)


class SpecError(AnonymizeError):
    """The spec, or a hierarchy that it names, is wrong: exit code 2."""


class DataError(AnonymizeError):
    """The data is not what the spec says: exit code 3."""

    exit_code = 3


class ValuesError(DataError):
    """Some of a column's different values are not what the spec says. `places`: which ones of those that were given."""

    def __init__(self, problem: Problem | str, places: Sequence[int]) -> None:
        super().__init__(problem)
        self.places = places


class RowsError(DataError):
    """Some rows of a table are not what the spec says. `row`: the first of them, from 0."""

    def __init__(self, problem: Problem | str, row: int) -> None:
        super().__init__(problem)
        self.row = row


class InfeasibleError(AnonymizeError):
    """No release meets the requirements within the suppression limit: exit code 4."""

    exit_code = 4


class UnsafeError(AnonymizeError):
    """Measured, and a privacy requirement is not met, or could not be shown to be: exit code 1."""

    exit_code = 1


class MemoryShortage(AnonymizeError):
    """There is less memory than the table takes: exit code 71."""

    exit_code = 71


class WriteError(AnonymizeError):
    """The output cannot be written (disk full, no permission): exit code 74."""

    exit_code = 74


class ProgramError(AnonymizeError):
    """A bug of the program: exit code 70."""

    exit_code = 70

    @classmethod
    def of(cls, error: BaseException) -> ProgramError:
        """What is said of an exception that nobody expected: its type and where it came from, and not its message,
        which may hold a cell value."""
        import traceback

        frames = traceback.extract_tb(error.__traceback__)
        where = [f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
        return cls([f"{type(error).__name__}: this is a bug of anonymize; nothing was written", *where])


@contextmanager
def of_file(name: str) -> Iterator[None]:
    """What the block finds wrong with data, said of the file of this name."""
    try:
        yield
    except DataError as error:
        raise DataError([replace(problem, file=name) for problem in error.problems]) from None


def counted(count: int, noun: str, several: str | None = None) -> str:
    """So many of a thing: 1 row, 2,000 rows. `several`: the plural, where it is not with an s."""
    return f"1 {noun}" if count == 1 else f"{count:,} {several or noun + 's'}"


def have(names: Sequence[str]) -> str:
    """Columns as the subject of a sentence that says what they have."""
    return f"{', '.join(names)} {'has' if len(names) == 1 else 'have'}"
