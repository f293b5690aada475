"""Commands that use what a release left behind: `recode`."""

from __future__ import annotations

import sys
from typing import Any

import click

from anonymize.cli.engine import ENGINE, check_engine, recode_there
from anonymize.cli.exits import reporting
from anonymize.cli.kinds import PATH, count_option, file_option
from anonymize.cli.options import (
    COLOR,
    FORCE,
    OUTPUT,
    OUTPUT_FORMAT,
    QUIET,
    REPORTS,
    THREADS,
    use_threads,
    with_options,
)


@click.command()
@with_options(
    click.argument("recoding", type=PATH),
    file_option("-i", "--input", required=True, help="The table, or - for standard input; of a database, its URI."),
    OUTPUT,
    OUTPUT_FORMAT,
    REPORTS,
    count_option("--seed", help="Seed of the shuffle, if the release was shuffled."),
    FORCE,
    *ENGINE,
    THREADS,
    QUIET,
    COLOR,
)
def recode(quiet: bool, threads: int | None, color: str, engine: str, master: str | None, **given: Any) -> None:
    """Apply a saved recoding to rows that it has not seen: a test set, next month's table.

    RECODING is what a release command wrote with --save-recoding. Every row shows what the release shows for the class
    that it falls into; direct identifiers are left out, all other columns pass through. The table has the columns of
    the one that was released; those that are not quasi-identifiers may be absent.

    A row falls outside where the recoding has no answer for it, or one that was made without such rows: a value that
    the recoding does not know, a number beyond all that it was made from, a class that was suppressed, a value that its
    class does not span, a combination that no class has. Rows of the first and the third kind are released suppressed.
    All of them are counted, and the exit code is still 0.

    Nothing is measured. The guarantees of the release hold for the rows that it was made from: `audit` says whether the
    new table is safe to publish.
    """
    check_engine(engine, threads=threads, master=master)
    use_threads(threads)
    from anonymize._recode import Recode
    from anonymize._recode import recode as walk
    from anonymize.cli.progress import progress

    with progress(quiet) as report_progress:
        there = engine == "spark"
        report = recode_there(master, given) if there else walk(Recode(**given, progress=report_progress))
    if not quiet and sys.stderr is not None:
        from anonymize.report.terminal import console, show

        with reporting():
            show(report, console(sys.stderr, color))
