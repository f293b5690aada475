"""Commands that measure tables: `audit`."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from anonymize.cli.options import COLOR, PATH, QUIET, THREADS, use_threads, with_options
from anonymize.formats import AUTO, FORMATS, chosen


def _names(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> list[str]:
    """Column names: the option repeated, or names parted by commas."""
    return [name.strip() for text in value for name in text.split(",") if name.strip()]


def _columns(flag: str, name: str, help: str) -> Any:
    return click.option(flag, name, multiple=True, callback=_names, metavar="A,B,...", help=help)


class _Size(click.ParamType[int]):
    """A number of attributes, or auto (0)."""

    name = "size"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if value == "auto":
            return 0
        if not value.isdecimal() or not int(value):
            self.fail(f"{value!r} is neither a number of attributes from 1 nor auto", parameter, context)
        return int(value)


_SIZE = _Size()


@click.command()
@with_options(
    click.argument("spec", type=PATH, required=False),
    click.option("-i", "--input", "path", type=PATH, help="The table, or - for standard input."),
    _columns("--qi", "quasi_identifiers", "Quasi-identifiers, without a spec."),
    _columns("--sensitive", "sensitive", "Sensitive attributes, without a spec."),
    _columns("--numeric", "numeric", "Those of them that are compared as numbers."),
    click.option("--unit", help="The column that says whom a row is about, without a spec."),
    click.option("--unit-from", type=PATH, help="The table this one was made of, row for row, which has the unit."),
    click.option("-k", type=int, help="k of k-anonymity."),
    click.option("-l", "l", type=int, help="l of distinct l-diversity of every sensitive attribute."),
    click.option("-t", "t", type=float, help="t of every t-closeness model of the spec."),
    click.option("--separator", help="Of a CSV, without a spec.  [default: ,]"),
    click.option("--encoding", help="Of a CSV.  [default: utf8]"),
    click.option("--missing", multiple=True, help="Text that means missing, without a spec; repeatable."),
    click.option("--suppressed", help="Text of a suppressed cell, without a spec.  [default: *]"),
    click.option(
        "--missing-as",
        type=click.Choice(["own-category", "wildcard"]),
        help="What a missing or suppressed cell is: a value, or anything; over the spec's privacy.missing.",
    ),
    click.option("--threshold", type=float, default=0.2, show_default=True, help="A row of higher risk is at risk."),
    click.option(
        "--subsets",
        type=_SIZE,
        metavar="SIZE|auto",
        help="What each subset of at most SIZE quasi-identifiers gives away; auto: all of 10 or fewer, else SIZE 3.",
    ),
    click.option("--sampling-weight", help="The column of sampling weights, without a spec."),
    click.option(
        "--population",
        type=PATH,
        help="A table of the population, for the journalist's risk: who lies under what a class shows.",
    ),
    click.option(
        "--sampling-fraction", "fraction", type=float, help="The table's share of the population it is a sample of."
    ),
    click.option(
        "--require",
        multiple=True,
        metavar="MODEL ...",
        help='A further privacy model: "t-closeness t=0.3 attribute=diagnosis". Repeatable.',
    ),
    click.option("--baseline", type=PATH, help="An earlier JSON report, of a release or an audit, to compare with."),
    click.option("--no-regress", is_flag=True, help="Nothing may be worse than in the baseline."),
    click.option("--previous", type=PATH, help="An earlier release of the same people: what both give away."),
    click.option(
        "--format",
        "form",
        type=click.Choice([AUTO, *FORMATS]),
        default=AUTO,
        show_default=True,
        help="How the result prints; auto is github in GitHub Actions, else text.",
    ),
    click.option("--json", "form", flag_value="json", help="The same as --format json."),
    THREADS,
    QUIET,
    COLOR,
)
def audit(
    spec: str | None,
    path: str | None,
    form: str,
    threads: int | None,
    quiet: bool,
    color: str,
    baseline: str | None,
    no_regress: bool,
    previous: str | None,
    subsets: int | None,
    fraction: float | None,
    population: str | None,
    **options: Any,
) -> None:
    """Measure any table against privacy models, made by this tool or not.

    With SPEC, against the models of its `privacy`; without, against -k and -l on the columns that --qi and --sensitive
    name; with --require, against further ones. Where nothing is required, what the table reaches is measured and
    nothing is judged. The table is compared as text: 01234 is not 1234, a missing quasi-identifier is a value of its
    own unless --missing-as says that it matches anything, a missing sensitive value is none, and suppressed rows are a
    class like any other.

    With --subsets, the risk has what every subset of the quasi-identifiers gives away, and the smallest that single
    people out: of an original table it helps to choose them. With sampling weights it has the individual risks.

    With --previous, the same models are measured on what the classes of both releases have in common. Row n of both is
    taken to be about the same person where they have equally many rows and the spec keeps their order; otherwise the
    report has a bound, from what the classes show, and nothing is judged by it.

    Exit code 1: a model is not met, the table has a direct identifier of the spec, or --no-regress and a figure of
    privacy or risk is worse than in the baseline.
    """
    use_threads(threads)
    from anonymize import audit as rooms
    from anonymize import privacy
    from anonymize.auditing.sample import Deeper
    from anonymize.errors import UnsafeError
    from anonymize.spec import load

    given = {name: value for name, value in options.items() if value not in (None, [], ())}
    against = rooms.Against(baseline, no_regress, previous)
    wanted = Deeper(subsets, fraction, population)
    found = rooms.audit(
        load(spec, privacy.PARAMETERS) if spec else None, path, against=against, wanted_risk=wanted, **given
    )
    if not quiet or form not in (AUTO, "text"):
        FORMATS[chosen(form, os.environ)](found.checked, sys.stdout, color)
    if found.satisfied is False:
        raise UnsafeError(found.problems)
