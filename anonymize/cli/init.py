"""The command `init`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from anonymize.cli.exits import say
from anonymize.cli.following import say_next
from anonymize.cli.kinds import PATH, file_option, flag_option
from anonymize.cli.options import FORCE, QUIET, THREADS, use_threads, with_options
from anonymize.errors import visible

if TYPE_CHECKING:
    from rich.console import Console

    from anonymize.init import Init
    from anonymize.profiling.document import Proposal
    from anonymize.profiling.roles import Guess


@click.command()
@with_options(
    click.argument("table", type=PATH),
    file_option("-o", "--output", default="-", help="The spec; - is standard output."),
    flag_option("--interactive", help="Ask for roles, k, l and suppression; Enter takes the guess."),
    flag_option(
        "--show-values",
        help="Some values of each column in its comment. The spec is private then, and of mode 0600.",
    ),
    file_option(
        "--hierarchies",
        metavar="FOLDER",
        help="Also write the hierarchies of categories as files, to be edited. They hold values, and have mode 0600.",
    ),
    click.option("--separator", help="Separator of a CSV; else that of its header."),
    click.option("--encoding", help="Encoding of a CSV; else UTF-8 or, where it is not that, cp1252."),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line of a CSV names its columns; without names they are column_1, column_2, ...",
    ),
    flag_option("--watch", "watching", help="Write the spec anew whenever the table changes, until interrupted."),
    FORCE,
    THREADS,
    QUIET,
)
def init(
    table: str,
    output: str,
    interactive: bool,
    show_values: bool,
    hierarchies: str | None,
    separator: str | None,
    encoding: str | None,
    header: bool | None,
    watching: bool,
    force: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Profile a table and write a first spec for it, which runs as it is.

    Each column has a role and the reason for it: what names its rows, or seems to be names, contact data or free text,
    is left out; dates, places, ages, codes and what singles people out are quasi-identifiers; a few words in names tell
    what people would keep to themselves. Where several rows are about one person, by a column of numbers of persons,
    that is the unit, and k counts persons. Uniqueness is counted over all rows, of columns by themselves and of sets of
    them; forms of values are recognized in a sample. Quasi-identifiers get a hierarchy from a builder. k is the largest
    of 5, 10 and 20 that costs at most 25 % of the precision, or 5.

    Guesses are marked `# decide:`. None of them knows what people outside can know: a wrong role is a leak that no
    later check finds. No value of the table is in the spec unless --show-values asks for it; but texts of a fixed list
    that mean missing, such as NA, are in it where they occur, and widths of intervals tell the order of magnitude of
    numbers.

    A first line that looks like those below it, and not like names, is refused: --no-header says that it is a row,
    --header that it is not.

    With --watch the spec follows the table as long as nobody has touched it: one that has been edited is never
    overwritten, and ends the watch.
    """
    use_threads(threads)
    from anonymize.errors import UsageError
    from anonymize.init import Init
    from anonymize.init import init as road

    if interactive and table == "-":
        raise click.UsageError("--interactive asks on standard input: name the table's file.")
    request = Init(table, output, show_values, hierarchies, force, separator, encoding, header)
    if watching:
        _watched(request, interactive, quiet)
        return
    try:
        road(replace(request, decide=_with_typed_roles, choose=_chosen) if interactive else request)
    except EOFError:
        raise UsageError("--interactive: standard input ended before the last answer; nothing was written") from None
    if output != "-" and not quiet:
        say_next("validate", output, *([] if table == "-" else ["-i", table]))


def _watched(request: Init, interactive: bool, quiet: bool) -> None:
    """Writes the spec now and whenever the table changes. Raises UsageError for what does not go with that, and where
    the spec is no more as it was written."""
    from anonymize.cli.validating import watch
    from anonymize.errors import UsageError

    refused = {
        "standard input cannot be read again": request.path == "-",
        "--interactive asks once": interactive,
        "files of --hierarchies are to be edited, and would be overwritten": request.hierarchies is not None,
    }
    problems = [f"--watch: {reason}" for reason, holds in refused.items() if holds]
    if problems:
        raise UsageError(problems)
    watch(WatchedTable(request, quiet).again, [request.path])


class WatchedTable:
    """A spec that follows its table. `request`: how it is made; `quiet`: that it was made is not said."""

    def __init__(self, request: Init, quiet: bool = False) -> None:
        self._request, self._quiet, self._text = request, quiet, ""

    def again(self) -> None:
        """Writes the spec; what is wrong with the table is said, as it may be about to be written. Raises UsageError
        where the spec has been edited."""
        from anonymize.errors import DataError, UsageError
        from anonymize.init import init as road

        request, before = self._request, self._text
        if before and request.output != "-" and _content(request.output) not in (before, ""):
            raise UsageError(f"{request.output}: has been edited since it was written, and is left as it is")
        try:
            self._text = road(replace(request, force=request.force or bool(before)))
        except DataError as error:
            for problem in error.problems:
                say(f"error: {problem}")
            return
        if request.output != "-" and not self._quiet:
            say(f"{'wrote' if not before else 'changed'} {request.output}")


def _content(path: str) -> str:
    """A text; "" where there is no such file any more."""
    from contextlib import suppress
    from pathlib import Path

    with suppress(FileNotFoundError):
        return Path(path).read_text(encoding="utf-8")
    return ""


def _with_typed_roles(guesses: Sequence[Guess]) -> Sequence[Guess]:
    """The guesses with the roles that are typed; Enter takes what is guessed."""
    from rich.markup import escape
    from rich.prompt import Prompt

    from anonymize.profiling.roles import ROLES
    from anonymize.report.terminal import console as console_on

    console = console_on(sys.stderr)
    letters = {{"insensitive": "n", "sampling-weight": "w"}.get(role, role[0]): role for role in ROLES}
    legend = ", ".join(f"{letter}: {role}" for letter, role in letters.items())
    console.print(f"{legend}; Enter takes the guess")
    decided = []
    for guess in guesses:
        letter = next(key for key, role in letters.items() if role == guess.role)
        question = f"{escape(visible(guess.name))} [dim]({escape(guess.reason)})[/dim]"
        answer = Prompt.ask(question, console=console, choices=list(letters), default=letter)
        role = letters[answer]
        decided.append(guess if role == guess.role else guess.as_role(role, "decided"))
    return decided


def _chosen(proposal: Proposal) -> Proposal:
    """The proposal with the k, the l and the suppression that are typed; Enter takes what is proposed."""
    from anonymize.report.terminal import console as console_on

    console = console_on(sys.stderr)
    figures = ", ".join(f"{cost.k} loses {cost.gcp:.0%}" for cost in proposal.costs)
    k = _number(
        console, f"k: rows that read alike [dim]({figures})[/dim]", proposal.k, 1, max(proposal.rows, proposal.k)
    )
    sensitive = [guess.facts.distinct for guess in proposal.guesses if guess.role == "sensitive"]
    diversity = None
    if sensitive:
        question = "l: values of each sensitive column among them [dim](1 asks for nothing)[/dim]"
        answer = _number(console, question, 1, 1, max(min(sensitive), 1))
        diversity = answer if answer > 1 else None
    percent = _number(console, "rows that may be suppressed, in %", 0, 0, 100)
    share = percent / 100 if percent else None
    return replace(proposal, k=k, diversity=diversity, suppression=share)


def _number(console: Console, question: str, default: int, low: int, high: int) -> int:
    """A whole number between two, asked for until it is one."""
    from rich.prompt import IntPrompt

    while True:
        answer = IntPrompt.ask(question, console=console, default=default)
        if low <= answer <= high:
            return answer
        console.print(f"a whole number from {low} to {high:,}")
