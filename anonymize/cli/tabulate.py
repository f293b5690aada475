"""The command that makes tables of counts, shares, sums and means: `tabulate`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from anonymize.cli import exits, options

REFUSED = {
    "--seed": "nothing that a seed could set is drawn; noise under differential privacy is the system's",
    "--engine": "tables are made on this machine; group an extract of the DataFrame",
    "--memory-limit": "the columns that tables are made of are held in memory, and no others",
    "--save-recoding": "tables have no rows, and there is no recoding to apply to others",
    "--save-link": "tables have no rows to link",
    "--save-risk": "tables have no rows; the report says how many groups were unsafe",
    "--start-series": "tables of two runs are not protected together; make all of them in one run",
    "--after": "tables of two runs are not protected together; make all of them in one run",
    "--allow-unsafe": "unsafe tables are not written",
}
"""Options of other release commands, and why this one does not have them."""


def _refuse(context: click.Context, parameter: click.Parameter, value: object) -> None:
    if value is not None and not context.resilient_parsing:
        name = parameter.opts[0]
        raise click.UsageError(f"tabulate has no {name}: {REFUSED[name]}.", context)


REFUSALS = tuple(
    click.option(
        name,
        is_flag=name == "--allow-unsafe",
        default=None,
        hidden=True,
        expose_value=False,
        callback=_refuse,
        help=f"Refused: {reason}.",
    )
    for name, reason in REFUSED.items()
)


@click.command(cls=options.SpecCommand)
@options.with_options(
    options.SPEC,
    options.INPUT,
    options.file_option("-o", "--output", required=True, help="The folder of the tables, which is made, or is empty."),
    options.REPORTS,
    options.file_option("--key", help="The key of cell keys, and of the ledger, a file of `anonymize key make`."),
    options.file_option(
        "--budget",
        help="Charge the tables to this ledger about people, with --key; made if absent, with the spec's `budget` as "
        "its cap. It is private.",
    ),
    options.flag_option("--public-report", "public", help="Make the report from what is published alone."),
    options.flag_option("--dry-run", help="Do everything but write the tables; reports are written."),
    options.flag_option("--force", help="Replace the tables of an earlier run, and reports that exist."),
    *REFUSALS,
    options.THREADS,
    options.QUIET,
    options.VERBOSE,
    options.COLOR,
)
def tabulate(
    spec: str, input_path: str | None, threads: int | None, quiet: bool, verbose: bool, color: str, **given: Any
) -> None:
    """Make protected tables of counts, shares, sums and means by groups.

    The spec's `tabulate` lists the tables, and the mechanism that protects them. Every table has the totals over each
    of its columns, and over every node of their hierarchies. All tables of a run are protected together, as an attacker
    who has one has the others; tables of another run are not.

    Mechanisms. suppression: small and dominated groups are left blank, and enough others that nobody can compute the
    small ones from the totals. cell-keys: counts get noise that is the same wherever the same individuals are
    counted, from record keys under --key or in a column. dp: counts and sums get noise under `privacy.differential`,
    over public domains; totals agree.

    The folder has a CSV for each table and manifest.json, which describes each file. It takes its place as a whole,
    after the tables have been read again, counted anew from the input, and attacked.

    Rows are counted; with a `unit`, several rows of one individual count as one contributor. A missing value is a group
    of its own.
    """
    options.use_threads(threads)
    from anonymize import privacy
    from anonymize import spec as specs
    from anonymize._tabulate import Tabulate
    from anonymize._tabulate import tabulate as walk
    from anonymize.cli.progress import progress

    loaded = specs.load(spec, privacy.PARAMETERS)
    with progress(quiet) as show:
        report = walk(Tabulate(loaded, input=input_path, progress=show, **given))
    if "rehearsal" in report:
        exits.say_charge(report)
    elif not quiet and sys.stderr is not None:
        with exits.reporting():
            _summary(report, color, verbose, _written(**given))


def _written(output: str, reports: Sequence[str], public: bool, dry_run: bool, **rest: Any) -> dict[str, list[str]]:
    """What was written, by who may have it."""
    files = [path for path in reports if path != "-"]
    tables = [] if dry_run else [output]
    return {"publish": [*tables, *files]} if public else {"publish": tables, "keep private": files}


def _summary(report: dict[str, Any], color: str, verbose: bool, files: Mapping[str, Sequence[str]]) -> None:
    from anonymize.report.terminal import console, show, summarize

    out = console(sys.stderr, color)
    if verbose:
        return show(report, out)
    summarize(report, out, files)
