"""Commands that measure tables: `audit`."""

from __future__ import annotations

import sys
from typing import Any

import click

from anonymize.cli.options import COLOR, PATH, QUIET, THREADS, use_threads, with_options


def _names(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> list[str]:
    """Column names: the option repeated, or names parted by commas."""
    return [name.strip() for text in value for name in text.split(",") if name.strip()]


def _columns(flag: str, name: str, help: str) -> Any:
    return click.option(flag, name, multiple=True, callback=_names, metavar="A,B,...", help=help)


@click.command()
@with_options(
    click.argument("spec", type=PATH, required=False),
    click.option("-i", "--input", "path", type=PATH, help="The table, or - for standard input."),
    _columns("--qi", "quasi_identifiers", "Quasi-identifiers, without a spec."),
    _columns("--sensitive", "sensitive", "Sensitive attributes, without a spec."),
    _columns("--numeric", "numeric", "Those of them that are compared as numbers."),
    click.option("-k", type=int, help="k of k-anonymity."),
    click.option("-l", "l", type=int, help="l of distinct l-diversity of every sensitive attribute."),
    click.option("-t", "t", type=float, help="t of every t-closeness model of the spec."),
    click.option("--separator", help="Of a CSV, without a spec.  [default: ,]"),
    click.option("--encoding", help="Of a CSV.  [default: utf8]"),
    click.option("--missing", multiple=True, help="Text that means missing, without a spec; repeatable."),
    click.option("--suppressed", help="Text of a suppressed cell, without a spec.  [default: *]"),
    click.option("--st", type=PATH, help="Of a bucketized release, the ST.  [default: beside a table called .qit]"),
    click.option("--group", help="Of a bucketized release, the column of groups.  [default: group, with an ST]"),
    click.option("--threshold", type=float, default=0.2, show_default=True, help="A row of higher risk is at risk."),
    click.option(
        "--format", "form", type=click.Choice(["text", "json"]), default="text", help="How the result prints."
    ),
    click.option("--json", "form", flag_value="json", help="The same as --format json."),
    THREADS,
    QUIET,
    COLOR,
)
def audit(
    spec: str | None, path: str | None, form: str, threads: int | None, quiet: bool, color: str, **options: Any
) -> None:
    """Measure any table against privacy models, made by this tool or not.

    With SPEC, against the models of its `privacy`; without, against -k and -l on the columns that --qi and --sensitive
    name. Where nothing is required, what the table reaches is measured and nothing is judged. The table is compared as
    text: 01234 is not 1234, a missing quasi-identifier is a value of its own, a missing sensitive value is none, and
    suppressed rows are a class like any other.

    A bucketized release is measured by its groups: of two files name the QIT, of one the column with --group. A
    randomized table cannot be audited, as its risk depends on the original.

    Exit code 1: a model is not met, or the table has a direct identifier of the spec.
    """
    use_threads(threads)
    from anonymize import audit as rooms
    from anonymize import privacy
    from anonymize.errors import UnsafeError
    from anonymize.spec import load

    given = {name: value for name, value in options.items() if value not in (None, [], ())}
    found = rooms.audit(load(spec, privacy.PARAMETERS) if spec else None, path, **given)
    if form == "json":
        _json(found.report)
    elif not quiet:
        _text(found.report, color)
    if found.satisfied is False:
        raise UnsafeError(found.problems)


def _json(report: dict[str, Any]) -> None:
    from anonymize.report import as_json

    click.echo(as_json(report), nl=False)


def _text(report: dict[str, Any], color: str) -> None:
    from anonymize.report.terminal import console, show

    show(report, console(sys.stdout, color))
