"""The recipient's command: `reconstruct`."""

from __future__ import annotations

from typing import Any

import click

from anonymize.cli.completing import columns, completing
from anonymize.cli.kinds import PATH, choice_option, file_option, flag_option, share_option
from anonymize.cli.options import METHODS, QUIET, THREADS, use_threads, with_options
from anonymize.names import parted


@click.command()
@with_options(
    click.argument("released", type=PATH),
    file_option("--manifest", "--parameters", help="The release's parameters.  [default: beside it]"),
    click.option(
        "--attributes",
        multiple=True,
        metavar="A,B,...",
        help="Attributes of the joint table.  [default: all]",
        shell_complete=completing(columns, listed=True),
    ),
    click.option("--where", "conditions", multiple=True, help="Count rows that meet a condition; repeatable."),
    choice_option(
        "--method",
        choices=METHODS,
        default="inverse",
        help="inverse is unbiased and may be negative; the others give a distribution.",
    ),
    choice_option(
        "--about",
        choices=["table", "population"],
        default="table",
        help="What standard errors are about: the table that was distorted, or the population it was drawn from.",
    ),
    share_option(
        "--confidence",
        min_open=True,
        max_open=True,
        default=0.95,
        help="Confidence level of the intervals of counts.",
    ),
    click.option("--separator", help="Separator of a CSV.  [default: as the parameters say]"),
    click.option("-o", "--output", default="-", help="The result; - is standard output."),
    choice_option("--format", "form", choices=["csv", "json"], help="Form of the result.  [default: by the suffix]"),
    flag_option("--force", help="Overwrite an output that exists."),
    THREADS,
    QUIET,
)
def reconstruct(released: str, manifest: str | None, threads: int | None, quiet: bool, **given: Any) -> None:
    """Estimate the original distribution from a randomized table.

    With the parameters that `randomize` wrote, the distortion is undone on average: the count of every combination of
    values in the original table, with its standard error. This is an estimate of the table as a whole; it says nothing
    certain about any single row. Counts of the unbiased estimate may be negative: they are zero within their error, and
    sums of them are sound. --where computes such sums: `age in 30-40 and sex = M` is answered with a confidence
    interval.

    Methods. inverse: P^-1 times what is observed. simplex: the distribution nearest to that. clip: the same with
    negative cells set to 0, rescaled. bayes: the likeliest distribution, by iteration. Standard errors and intervals
    are those of inverse, whatever the method. An interval contains every count that the table does not refute: for
    small counts it is not symmetric about the estimate.

    Conditions. Comparisons with =, !=, <, <=, >, >= and in, joined by and: `education in (Masters, Doctorate) and age
    >= 30`. Names and values with spaces or signs stand in quotes. Where values are intervals, a range selects those
    within it, and must not cut one in two.
    """
    use_threads(threads)
    from anonymize import reconstruct as room

    names = parted(*given.pop("attributes"))
    room.reconstruct(room.Reconstruct(released, manifest or _beside(released), names, **given))


def _beside(released: str) -> str:
    """Where `randomize` puts the parameters of a release. Standard input has none."""
    from anonymize.errors import UsageError
    from anonymize.names import parameters_beside

    if released == "-":
        raise UsageError("the parameters of a table on standard input are not known: name them with --parameters")
    return parameters_beside(released)
