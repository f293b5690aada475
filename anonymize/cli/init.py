"""The command `init`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.prompt import Confirm, IntPrompt, Prompt

from anonymize.cli.exits import say, say_next
from anonymize.cli.options import FORCE, PATH, QUIET, THREADS, file_option, flag_option, use_threads, with_options
from anonymize.errors import DataError, UsageError, refuse, visible
from anonymize.profiling.roles import ALIKE, Guess, GuessedRole
from anonymize.report.terminal import console as console_on

if TYPE_CHECKING:
    from anonymize._init import Init
    from anonymize.profiling.document import Proposal


# --- the conversation -------------------------------------------------------------------------------------------------
# One column at a time, on standard error. Nothing of it needs the words of the field: what others may know is a
# quasi-identifier, what would harm is sensitive, what is needed as it is passes through, and the rest is left out.
# After it nothing is undecided.

ANSWERS: Mapping[str, GuessedRole] = {
    "known": "quasi-identifier",
    "secret": "sensitive",
    "needed as it is": "insensitive",
    "leave out": "identifier",
}
STEPS = ("why?", "back", "rest")
WORDS: Mapping[GuessedRole, str] = {
    **{role: answer for answer, role in ANSWERS.items()},
    "sampling-weight": "a sampling weight, released in bands",
}
QUESTIONS: Mapping[str, str] = {
    "known": "Could a neighbour or a colleague know this about a person?",
    "secret": "Would its disclosure harm the person?",
    "needed as it is": "Does anybody need it in the release unchanged?",
    "leave out": "Does nobody need it in the release?",
}
EFFECTS: Mapping[str, str] = {
    "known": "generalized, so that several people have the same values",
    "secret": "released as it is, in groups with at least `l` different values",
    "needed as it is": "neither known nor secret; released as it is, without protection",
    "leave out": "not in the release",
}
EXAMPLES = 5


def decided(guesses: Sequence[Guess]) -> list[Guess]:
    """The guesses as the user has decided them, in the order of the table. Raises EOFError where the answers end."""

    def harmlessness(place: int) -> tuple[bool, int, int]:  # what names people first, then what singles out most rows
        guess = guesses[place]
        return guess.role != "identifier", -guess.facts.singles, -guess.facts.distinct

    console, order = _console(), sorted(range(len(guesses)), key=harmlessness)
    _begin(console, len(order))
    values = Confirm.ask(
        "May values of the table be shown on this screen, as examples?", console=console, default=False
    )
    taken, number = list(guesses), 0
    while number < len(order):
        place = order[number]
        answer = _answer(console, taken[place], f"{number + 1} of {len(order)}", values=values)
        if answer == "rest":
            number = len(order)
        elif answer == "back":
            number = max(number - 1, 0)
        else:
            guess = taken[place]
            role = ANSWERS.get(answer, guess.role)
            taken[place] = replace(guess, role=role, reason=guess.reason if role == guess.role else "", decided=True)
            number += 1
        if number == len(order) and not any(guess.role == "quasi-identifier" for guess in taken):
            console.print("A release needs at least one column that others may know. The questions begin again.")
            number = 0
    undecided = "left out, because it was not decided"
    return [
        guess.as_role("identifier", f"{guess.reason}; {undecided}") if guess.role == "undecided" else guess
        for guess in taken
    ]


def _console() -> Console:
    """Where questions stand. Polars lets a read that was interrupted go on, so that Ctrl-C would wait for an answer."""
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)
    return console_on(sys.stderr)


def _begin(console: Console, columns: int) -> None:
    console.print(f"{columns} columns, the most dangerous first. Ask for each:")
    for answer, question in QUESTIONS.items():
        console.print(f"  {question:<58} [b]{answer}[/b]: {EFFECTS[answer]}", soft_wrap=True)
    console.print(
        "The first letter of an answer is enough; Enter accepts the proposal. Ctrl-C quits without writing anything."
    )


def _answer(console: Console, guess: Guess, number: str, *, values: bool) -> str:
    """The answer about one column; "" accepts the proposal."""
    _describe(console, guess, number, values=values)
    proposed = WORDS.get(guess.role, "")
    options = f"{', '.join((*ANSWERS, *STEPS[:2]))}, the rest as proposed"
    while True:
        words = escape(f"  {options}") + (f" [dim](Enter: {proposed})[/dim]" if proposed else "")
        answer = Prompt.ask(words, console=console, default="", show_default=False)
        answer = answer.strip().lower().removeprefix("the ")
        meant = [each for each in (*ANSWERS, *STEPS) if answer and (each.startswith(answer) or answer.startswith(each))]
        if answer == "?" or meant == ["why?"]:
            console.print(f"  why: {escape(visible(guess.reason or 'you said so'))}", soft_wrap=True)
        elif proposed and answer in ("", "y", "yes"):
            return ""
        elif meant:
            return meant[0]
        else:
            console.print(
                "  Answer with one of these, or its first letter"
                + ("." if proposed else "; there is no proposal here.")
            )


def _describe(console: Console, guess: Guess, number: str, *, values: bool) -> None:
    console.print(f"\n[dim]{number}[/dim] [b]{escape(visible(guess.name))}[/b]", soft_wrap=True)
    console.print(f"  {escape('; '.join(_seen(guess)))}", soft_wrap=True)
    if values:
        texts = ", ".join(visible(text[:30]) for text in guess.facts.texts[:EXAMPLES])
        console.print(f"  such as {escape(texts)}", soft_wrap=True)
    for answer, question in QUESTIONS.items():
        if guess.role == "undecided" or WORDS[guess.role] == answer:
            console.print(f"  {question}", soft_wrap=True)


def _seen(guess: Guess) -> Iterator[str]:
    """What there is in a column: counts and forms."""
    facts, shape = guess.facts, guess.shape
    numbers = facts.numbers and ("whole numbers" if facts.numbers.whole else "numbers")
    plain = shape is None or shape.kind in ("text", "digits")
    form = numbers or ("texts" if plain or shape is None else shape.name)
    yield f"{facts.distinct:,} different values in {facts.rows:,} rows: {form}"
    if facts.missing:
        yield f"{facts.missing:,} missing"
    if facts.share_of_values >= ALIKE:
        yield "different in nearly every row"
    elif facts.singles:
        yield f"{facts.singles:,} rows have a unique value"
    if guess.mark == "shared":
        yield "like numbers of people or households, which k then counts, and which are left out"


# --- what the release has to meet -------------------------------------------------------------------------------------


def chosen(proposal: Proposal) -> Proposal:
    """The proposal with the k, the l and the suppression that are typed; Enter takes what is proposed."""
    console = _console()
    for guess in proposal.guesses:
        if guess.mark == "derived":
            console.print(escape(visible(guess.reason)), soft_wrap=True)
    figures = ", ".join(f"{cost.k} loses {cost.gcp:.0%}" for cost in proposal.costs)
    question = "k: the smallest number of rows in a class" + (f" [dim]({figures})[/dim]" if figures else "")
    k = _number(console, question, proposal.k, 1, max(proposal.rows, proposal.k))
    sensitive = [guess.facts.distinct for guess in proposal.guesses if guess.role == "sensitive"]
    diversity = None
    if sensitive:
        question = "l: different values of each sensitive column in a class [dim](1 for no requirement)[/dim]"
        answer = _number(console, question, min(2, max(min(sensitive), 1)), 1, max(min(sensitive), 1))
        diversity = answer if answer > 1 else None
    percent = _number(console, "percentage of rows that may be suppressed", 0, 0, 100)
    share = percent / 100 if percent else None
    return replace(proposal, k=k, diversity=diversity, suppression=share, decided=True)


def _number(console: Console, question: str, default: int, low: int, high: int) -> int:
    """A whole number between two, asked for until it is one."""
    while True:
        answer = IntPrompt.ask(question, console=console, default=default)
        if low <= answer <= high:
            return answer
        console.print(f"Enter a whole number from {low} to {high:,}.")


@click.command()
@with_options(
    click.argument("table", type=PATH),
    file_option("-o", "--output", default="-", help="The spec; - is standard output."),
    click.option(
        "--interactive/--no-ask",
        default=None,
        help="Whether to ask about each column. Left out: on a terminal, unless there is -q.",
    ),
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
    flag_option("--watch", "watching", help="Write the spec again whenever the table changes, until interrupted."),
    FORCE,
    THREADS,
    QUIET,
)
def init(
    table: str,
    output: str,
    interactive: bool | None,
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
    """Profile a table, ask about each column, and write a first spec.

    On a terminal it asks about each column, the most dangerous first: could a neighbour or colleague know this, would
    disclosure harm anybody, does anybody need it? The questions are on standard error, without values of the table
    unless you allow them. Afterwards nothing is undecided. With -q, --no-ask or --watch, and in a pipeline, it does not
    ask, and lists columns that it cannot classify under `undecided`; `others: drop` leaves them out of the release,
    with a warning each time.

    Each column gets a role and the reason for it. Columns that name their rows, or seem to contain names, contact data
    or free text, are left out. Dates, places, ages, codes and columns that single people out are quasi-identifiers.
    Sensitive columns are recognized by words in their names (English, German, French, Spanish, Swedish) and by their
    values. If several rows are about one person or household, identified by a column of numbers, that is the unit, and
    k counts units. Uniqueness is counted over all rows, for single columns and sets of them; formats are recognized in
    a sample. Quasi-identifiers get a hierarchy from a builder. k is the largest of 5, 10 and 20 that costs at most 25 %
    of the precision, or 5.

    Guesses are marked `# decide:`. They cannot know what outsiders know, and no later check detects a wrong role. The
    spec contains no value of the table unless --show-values is given. It may contain texts of fixed lists, for missing
    values (NA) and units (cm), and the widths of intervals reveal the order of magnitude of numbers.

    A first line that looks like those below it, and not like names, is refused: --no-header says that it is a row,
    --header that it is not.

    With --watch the spec is rewritten whenever the table changes. A spec that has been edited is never overwritten, and
    ends the watch.
    """
    use_threads(threads)
    from anonymize._init import Init
    from anonymize._init import init as road

    if interactive and table == "-":
        raise click.UsageError("--interactive asks on standard input: name the table's file.")
    if interactive is None:
        seen = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
        interactive = seen and not (quiet or watching or table == "-")
    request = Init(table, output, show_values, hierarchies, force, separator, encoding, header)
    if watching:
        _watched(request, interactive, quiet)
        return
    try:
        road(replace(request, decide=decided, choose=chosen) if interactive else request)
    except EOFError:
        raise UsageError("standard input ended before the last answer; nothing was written") from None
    if output != "-" and not quiet:
        say_next("validate", output, *([] if table == "-" else ["-i", table]))


def _watched(request: Init, interactive: bool, quiet: bool) -> None:
    """Writes the spec now and whenever the table changes. Raises UsageError for what does not go with that, and where
    the spec is no more as it was written."""
    from anonymize.cli.progress import watch

    reasons = {
        "standard input cannot be read again": request.path == "-",
        "--interactive asks once": interactive,
        "files of --hierarchies are to be edited, and would be overwritten": request.hierarchies is not None,
    }
    refuse(reasons, by="--watch: ")
    watch(WatchedTable(request, quiet).again, [request.path])


class WatchedTable:
    """A spec that follows its table. `request`: how it is made; `quiet`: that it was made is not said."""

    def __init__(self, request: Init, quiet: bool = False) -> None:
        self._request, self._quiet, self._text = request, quiet, ""

    def again(self) -> None:
        """Writes the spec; what is wrong with the table is said, as it may be about to be written. Raises UsageError
        where the spec has been edited."""
        from anonymize._init import init as road

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
    with suppress(FileNotFoundError):
        return Path(path).read_text(encoding="utf-8")
    return ""
