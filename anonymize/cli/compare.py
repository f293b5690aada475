"""`compare`: several algorithms on one spec and table."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonymize.cli import exits, options
from anonymize.cli.completing import algorithms as release_commands
from anonymize.cli.completing import completing, learners
from anonymize.files import parted

if TYPE_CHECKING:
    from anonymize._compare import Compare


def _numbers(kind: type[float], wanted: str) -> Callable[..., tuple[float, ...]]:
    """What reads numbers of a kind that are parted by commas. `wanted`: what is said of anything else."""

    def read(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[float, ...]:
        try:
            return tuple(map(kind, parted(value or "")))
        except ValueError:
            raise click.BadParameter(wanted) from None

    return read


def _pick(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[float | None] | None:
    """`lowest-loss`, or `fastest-within N%`: the share of loss that may be lost for speed."""
    if value is None:
        return None
    words = value.split()
    if words == ["lowest-loss"]:
        return (None,)
    if len(words) == 2 and words[0] == "fastest-within" and words[1].endswith("%"):
        try:
            return (float(words[1][:-1]) / 100,)
        except ValueError:
            pass
    raise click.BadParameter('lowest-loss, or "fastest-within 5%"')


COMMON_OPTIONS = (
    "--input", "--algorithms", "-k", "--epsilon", "--pick", "--queries", "--model", "--keep", "--json", "--csv",
    "--report", "--quiet",
)  # fmt: skip
"""What most people need; help has the others with --help-all."""


@click.command(cls=options.BriefSpecCommand, common=COMMON_OPTIONS)
@options.with_options(
    options.SPEC,
    click.argument("others", nargs=-1, metavar="[SPEC]...", type=click.Path()),
    click.option(
        "--algorithms",
        default="",
        metavar="A,B,...|all",
        shell_complete=completing(release_commands, listed=True),
        help="Release commands, separated by commas; options follow a name: 'mondrian,mondrian refine=true'.  "
        "[default: a few that suit SPEC]",
    ),
    click.option(
        "-k",
        "ks",
        callback=_numbers(int, "whole numbers, separated by commas, such as 2,5,10"),
        metavar="K,K,...",
        help="Values of k; by default that of the spec.",
    ),
    click.option(
        "--epsilon",
        "epsilons",
        callback=_numbers(float, "numbers, parted by commas, such as 0.5,1,3"),
        metavar="E,E,...",
        help="Values of epsilon, for synthesize; by default that of the spec.",
    ),
    options.count_option(
        "--seeds", default=1, least=1, help="Number of seeds for each release; the report has means and spreads."
    ),
    options.INPUT,
    options.count_option(
        "-j", "--processes", least=1, help="Number of releases made in parallel; one per core by default."
    ),
    click.option(
        "--pick",
        callback=_pick,
        metavar="RULE",
        help="Print only the best release for each k: lowest-loss, or 'fastest-within 5%'.",
    ),
    options.count_option(
        "--queries",
        default=0,
        help="Number of random COUNT queries, whose median relative error is added.",
    ),
    click.option(
        "--model",
        metavar="NAME",
        shell_complete=completing(learners),
        help="Also train this model for the targets of the workload.",
    ),
    options.file_option(
        "--measured-by", help="A spec whose weights and workload are used for measuring only, not by the search."
    ),
    options.file_option("--cache", help="Folder for cached results.  [default: anonymize/compare in the user's cache]"),
    options.flag_option("--no-cache", help="Make every release again, and do not cache results."),
    options.flag_option(
        "--public-report",
        "public",
        help="A report that may be published, made from the public reports of all releases.",
    ),
    options.file_option("--keep", help="Keep the releases in this folder, which must exist."),
    options.file_option(
        "--budget", help="Charge tables under differential privacy, and releases kept, to this ledger."
    ),
    options.file_option("--key", help="The key of the ledger, made by `anonymize key make`."),
    options.flag_option("--json", "as_json", help="Print the report as JSON."),
    options.flag_option("--csv", "as_csv", help="Print a CSV with a row for each release."),
    options.REPORTS,
    options.FORCE,
    options.QUIET,
    options.COLOR,
    options.HELP_ALL,
)
def compare(
    spec: str,
    others: tuple[str, ...],
    algorithms: str,
    ks: tuple[int, ...],
    input_path: str | None,
    processes: int | None,
    pick: tuple[float | None] | None,
    queries: int,
    model: str | None,
    measured_by: str | None,
    cache: str | None,
    no_cache: bool,
    keep: str | None,
    as_json: bool,
    as_csv: bool,
    quiet: bool,
    color: str,
    **given: Any,
) -> None:
    """Compare algorithms on a spec and its table, or several specs: the loss and the remaining risk of each at each k.

    By default, these are the recommended algorithm, mondrian, incognito (full-domain), tds if the spec names targets,
    and anatomy if it requires l but no k. `all` compares every release command.

    Every combination is released, verified and measured in a process of its own; nothing is published. One that cannot
    be made, because it is infeasible, unsafe or not applicable to the spec, is listed with its exit code and the
    reason.

    With several specs of one table, the routes that they describe stand in one table and one plot, each release under
    the name of its spec: `compare usual.yaml ours.yaml --algorithms perturb,bottom-up`. Every algorithm is tried with
    every spec.

    Results are cached by the contents of their inputs: a comparison that was interrupted or extended makes only the
    missing releases. Times are those of the run in which a release was made.

    Figures of `evaluate` can be added: with --queries the median relative error of COUNT queries, and with --model the
    accuracy of a model trained on seven tenths of the released rows and tested on the other three tenths of the
    original. --measured-by names a separate spec for this: losses use its weights, and models its targets, while the
    releases are made without them.

    With synthesize among the algorithms, the total variation of marginals from the original is added, on which its
    tables at each --epsilon stand beside releases at each k: `--algorithms release,synthesize --epsilon 0.5,1,3 -k 5`.
    Requirements of classes are dropped for it, and differential privacy for the others. --seeds then means draws. The
    choice is made by the people's own data, and no epsilon covers it. With --budget, each of its tables is charged.

    With --public-report every figure is that of the public report that the release would have, made only from what it
    shows: costs are relative to the range shown, and there are no times.

    With -r compare.html there is a plot of risk against loss.
    """
    if given["public"] and pick is not None and pick[0] is not None:
        raise click.UsageError("--pick fastest-within: a public report has no seconds.")
    if others and pick is not None:
        raise click.UsageError("--pick is about one spec.")
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other.")
    cores = os.cpu_count() or 1
    jobs = processes or cores
    os.environ["POLARS_MAX_THREADS"] = str(max(cores // jobs, 1))
    from anonymize import privacy
    from anonymize._compare import Compare, compare_routes, routes_of
    from anonymize._compare import compare as walk
    from anonymize.cli.progress import progress
    from anonymize.measuring import Measuring, default_cache
    from anonymize.measuring import pick as choose
    from anonymize.spec import load

    results_folder = None if no_cache else Path(cache) if cache else default_cache()
    names = parted(algorithms)
    folder = None if keep is None else Path(keep)
    measuring = Measuring(None if measured_by is None else load(measured_by, privacy.PARAMETERS), queries, model)
    with progress(quiet) as report_progress:
        request = Compare(
            load(spec, privacy.PARAMETERS), names, ks, input_path, jobs, results_folder, folder, measuring,
            progress=report_progress, **given,
        )  # fmt: skip
        further = [load(each, privacy.PARAMETERS) for each in others]
        report = compare_routes(routes_of(request, [request.spec, *further])) if others else walk(request)
    if pick is not None:
        for each in choose(report, pick[0]):
            exits.put(f"{each['label']} -k {each['k']}")
    elif as_json or as_csv or not quiet:
        _put(report, as_json, as_csv, color)
    if not (quiet or as_json or as_csv or others):
        _say_next(spec, request, report)


def _put(report: dict[str, Any], as_json: bool, as_csv: bool, color: str) -> None:
    if as_json:
        from anonymize.report import as_json as rendered

        exits.put(rendered(report).removesuffix("\n"), lines=True)
    elif as_csv:
        exits.put(_as_csv(report).removesuffix("\n"), lines=True)
    else:
        exits.show_report(report, color)


def _as_csv(report: dict[str, Any]) -> str:
    """A row for each release; a column for each figure that one of them has."""
    import csv
    from io import StringIO

    from anonymize.report.verdict import as_rows

    rows, out = as_rows(report), StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _say_next(spec: str, request: Compare, report: dict[str, Any]) -> None:
    """The release that loses least: at the spec's k where that was compared, else at the first."""
    from anonymize.algorithms import ALGORITHMS
    from anonymize.algorithms.base import words
    from anonymize.report.verdict import by_k, least

    best = [least(results) for results in by_k(report).values()]
    if not best:
        return
    chosen = next((each for each in best if each["k"] == request.spec.privacy.k), best[0])
    flags = words(ALGORITHMS[chosen["algorithm"]].Options(**chosen["options"]))
    k = [] if chosen["k"] == request.spec.privacy.k else ["-k", str(chosen["k"])]
    exits.say_next(chosen["algorithm"], spec, *flags, *k, *exits.beside({"input": request.input}), "-o", "released.csv")
