"""Commands of those who have a release and not the original: `attack`, which measures what attackers learn, and
`reconstruct`, which estimates what the original was like."""

from __future__ import annotations

from typing import Any

import click

from anonymize.cli import audit, exits, options
from anonymize.cli.completing import attackers as known_attackers
from anonymize.cli.completing import columns, completing
from anonymize.files import parted

# --- attack -----------------------------------------------------------------------------------------------------------

COMMON_OPTIONS = (
    "--input", "--link", "--attackers", "--max-excess", "--remake", "--control", "--series", "--format",
    "--json", "--report", "--quiet",
)  # fmt: skip
"""What most people need; help has the others with --help-all."""


@click.command(cls=options.BriefSpecCommand, common=COMMON_OPTIONS)
@options.with_options(
    options.SPEC,
    click.argument("released", type=options.PATH),
    options.INPUT,
    options.file_option("--link", help="The link written by --save-link: which row of the table each released row is."),
    options.file_option(
        "--control", help="Control group: a table like the original, of people who are not in the release."
    ),
    options.file_option(
        "--remake",
        metavar="REPORT",
        help="Make the release again, as in its JSON report, without a fifth of the people, who are the control group.",
    ),
    options.file_option("--previous", help="An earlier release about the same people."),
    options.file_option("--series", help="The state of the series of RELEASED; its earlier releases are used as well."),
    options.file_option("--key", help="The key of the series, to follow people through its releases."),
    *options.MEANINGS,
    click.option(
        "--attackers",
        metavar="A,B,...",
        help="Only these attackers, separated by commas.  [default: all]",
        shell_complete=completing(known_attackers, listed=True),
    ),
    options.share_option(
        "--max-excess",
        help="Exit with code 1 if the upper confidence limit of an excess is above this.",
    ),
    options.count_option("--targets", least=1, default=2000, help="Number of people attacked."),
    options.SEED,
    *audit.FORM,
    options.REPORTS,
    options.FORCE,
    *options.MEASURING,
    options.HELP_ALL,
)
def attack(
    spec: str,
    released: str,
    input_path: str | None,
    attackers: str | None,
    remake: str | None,
    form: str,
    threads: int | None,
    quiet: bool,
    color: str,
    **given: Any,
) -> None:
    """Attack a release, and measure what attackers learn from it.

    RELEASED is a release of the table that SPEC describes, made by this tool or another. Each attacker has some
    knowledge and guesses which row is a person's, which person a row is about, or what a person's sensitive value is.
    The success rate is compared with the rate without the release (the baseline) and, with --control, with the rate for
    people who are not in the release. The excess is (rate - reference) / (1 - reference), with a 95 % confidence
    interval; the reference is the control if there is one, otherwise the baseline.

    Whom a row is about is known from --link, or by position if the rows keep their order; otherwise the probability of
    picking the right row is computed from the regions. Attacks target a random sample of --targets people, which the
    intervals take into account.

    With --series, earlier releases are found through the state. Attackers combine them by the regions that they show,
    and with --key also by the rows that belong together, according to the links and originals of the series.

    With --remake REPORT, another release is attacked, made in the same way as the one of this report from four fifths
    of the people; the others are the control group.

    A failed attack does not rule out other attacks. Use `anonymize audit` to verify what a release guarantees.

    Exit code 1: with --max-excess, a confidence interval exceeds it, or an excess could not be measured.
    """
    options.use_threads(threads)
    from anonymize import privacy
    from anonymize._attack import Attack
    from anonymize._attack import attack as walk
    from anonymize.cli.progress import progress
    from anonymize.spec import load

    names = parted(attackers or "")
    with progress(quiet) as report_progress:
        loaded = load(spec, privacy.PARAMETERS)
        request = Attack(loaded, released, input_path, attackers=names, progress=report_progress, **given)
        if remake is None:
            result = walk(request)
        else:
            from anonymize.remake import remake as made_again  # all that makes releases

            result = made_again(request, remake)
    audit.conclude(result.checked, form, quiet=quiet, color=color)


# --- reconstruct ------------------------------------------------------------------------------------------------------


@click.command()
@options.with_options(
    click.argument("released", type=options.PATH),
    options.file_option("--manifest", "--parameters", help="The release's parameters.  [default: next to the release]"),
    click.option(
        "--attributes",
        multiple=True,
        metavar="A,B,...",
        help="Attributes of the joint table.  [default: all]",
        shell_complete=completing(columns, listed=True),
    ),
    click.option("--where", "conditions", multiple=True, help="Count the rows that meet a condition; repeatable."),
    options.choice_option(
        "--method",
        choices=options.METHODS,
        default="inverse",
        help="inverse is unbiased and may be negative; the others give a probability distribution.",
    ),
    options.choice_option(
        "--about",
        choices=["table", "population"],
        default="table",
        help="Whether standard errors refer to the original table, or to the population from which it was sampled.",
    ),
    options.share_option(
        "--confidence",
        min_open=True,
        max_open=True,
        default=0.95,
        help="Confidence level of the intervals of counts.",
    ),
    click.option("--separator", help="Separator of a CSV.  [default: from the parameters]"),
    click.option("-o", "--output", default="-", help="The result; - is standard output."),
    options.choice_option(
        "--format", "form", choices=["csv", "json"], help="Form of the result.  [default: by the suffix]"
    ),
    options.flag_option("--force", help="Overwrite an output that exists."),
    options.THREADS,
    options.QUIET,
)
def reconstruct(released: str, manifest: str | None, threads: int | None, quiet: bool, **given: Any) -> None:
    """Estimate the original distribution from a distorted table.

    With the parameters of the distortion, this estimates the count of every combination of values in the original
    table, with its standard error. It estimates the table as a whole and says nothing certain about any single row.
    Counts of the unbiased estimate may be negative: they are zero within their error, and sums of them are valid.
    --where computes such sums: `age in 30-40 and sex = M` is answered with a confidence interval.

    Methods. inverse: P^-1 times what is observed. simplex: the distribution nearest to that. clip: the same with
    negative cells set to 0, rescaled. bayes: the likeliest distribution, by iteration. Standard errors and intervals
    are those of inverse, whatever the method. An interval contains every count that the table does not refute: for
    small counts it is not symmetric about the estimate.

    PRAM. Beside a release with `treatments`, the manifest has the matrices of columns that were changed by `pram`:
    --attributes names one of them, and the count of each of its values is estimated, part by part where the step has
    `by`. What stays missing is counted as it is.

    Noise. Of numbers that were changed by `noise`, the means, variances, covariances, correlations and regression
    coefficients are estimated as they were before it: --attributes names these and other columns of numbers. Each
    figure says whether it was corrected, needed no correction, or could not be corrected, and why. A column whose
    commas or points may part thousands is refused, and a warning counts the rows that are left out as a number is
    missing.

    Conditions. Comparisons with =, !=, <, <=, >, >= and in, joined by and: `education in (Masters, Doctorate) and age
    >= 30`. Names and values with spaces or signs stand in quotes. Where values are intervals, a range selects those
    within it, and must not cut one in two.
    """
    options.use_threads(threads)
    from anonymize import reconstruct as room

    names = parted(*given.pop("attributes"))
    for warning in room.reconstruct(room.Reconstruct(released, manifest or _beside(released), names, **given)):
        exits.say(f"warning: {warning}")


def _beside(released: str) -> str:
    """Where the parameters of a release are written by default. Standard input has none."""
    from pathlib import Path

    from anonymize.errors import UsageError
    from anonymize.files import manifest_of, parameters_beside

    if released == "-":
        raise UsageError("the parameters of a table on standard input are not known: name them with --parameters")
    parameters, manifest = parameters_beside(released), manifest_of(released)
    return manifest if manifest is not None and not Path(parameters).is_file() else parameters
