"""The command `init`."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from anonymize.cli.exits import say, say_next
from anonymize.cli.options import FORCE, PATH, QUIET, THREADS, file_option, flag_option, use_threads, with_options

if TYPE_CHECKING:
    from anonymize._init import Init


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
    from anonymize.errors import UsageError

    if interactive and table == "-":
        raise click.UsageError("--interactive asks on standard input: name the table's file.")
    if interactive is None:
        interactive = not (quiet or watching or table == "-") and _on_terminal()
    request = Init(table, output, show_values, hierarchies, force, separator, encoding, header)
    if watching:
        _watched(request, interactive, quiet)
        return
    try:
        road(_with_answers(request) if interactive else request)
    except EOFError:
        raise UsageError("standard input ended before the last answer; nothing was written") from None
    if output != "-" and not quiet:
        say_next("validate", output, *([] if table == "-" else ["-i", table]))


def _on_terminal() -> bool:
    """Whether somebody can be asked: questions are seen, and answers typed."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def _with_answers(request: Init) -> Init:
    from anonymize.cli.conversation import chosen, decided

    return replace(request, decide=decided, choose=chosen)


def _watched(request: Init, interactive: bool, quiet: bool) -> None:
    """Writes the spec now and whenever the table changes. Raises UsageError for what does not go with that, and where
    the spec is no more as it was written."""
    from anonymize.cli.progress import watch
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
        from anonymize._init import init as road
        from anonymize.errors import DataError, UsageError

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
