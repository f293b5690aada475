"""Commands that make releases: one a registered algorithm, its options made from the algorithm's own; and `recode`,
which applies a recoding that was saved."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import click

from anonymize.claims import State
from anonymize.cli import exits, options
from anonymize.cli.progress import CHECKPOINT, ENGINE, check_engine, engine_files

if TYPE_CHECKING:
    from anonymize.request import Request


# --- release ----------------------------------------------------------------------------------------------------------

REQUIRED = "Every requirement is met: the release was checked with its input, of which the public report has nothing."
ALLOWED = "The release was checked with its input, and with --allow-unsafe it is written whatever came of it."

COMMON_OPTIONS = (
    options.INPUT,
    click.option("-o", "--output", default="-", help=f"The release: {options.PLACES}"),
    options.REPORTS,
    *options.OVERRIDES,
    options.FORCE,
    options.QUIET,
    options.VERBOSE,
)
"""What most releases are made with; help has them first."""
WITHOUT_OVERRIDES = tuple(each for each in COMMON_OPTIONS if each not in options.OVERRIDES)
"""What releases are made with of which nothing is required of classes."""
FURTHER_OPTIONS = (
    options.OUTPUT_FORMAT,
    options.file_option("--save-recoding", help="Save the recoding as JSON, for `recode`. It is private."),
    options.file_option(
        "--save-link",
        help="Save which row of the input each released row is (.json or .csv), for --link. It is private.",
    ),
    options.file_option(
        "--save-risk",
        help="Save the risk of every row before and after the release as .csv (see explain save-risk). It is private.",
    ),
    options.file_option(
        "--manifest",
        help="Write a public file that describes the columns; other commands find it as X.manifest.json.",
    ),
    options.file_option(
        "--start-series", help="Start a series of releases, with its state in this file. It is private."
    ),
    options.file_option("--after", help="Make the next release of the series with its state in this file."),
    options.file_option("--key", help="The key of the series and of the ledger, made by `anonymize key make`."),
    options.file_option(
        "--budget",
        help="Charge the release to this ledger about people, with --key; made if absent, with the spec's `budget` as "
        "its cap. It is private.",
    ),
    options.count_option("--seed", help="Seed of all random numbers; the system's entropy by default."),
    options.THREADS,
    options.flag_option(
        "--public-report",
        "public",
        help="Make the report only from what is published: the release, the spec, the hierarchies.",
    ),
    options.flag_option(
        "--show-values",
        help="Include values of the input in the reports, which are then as confidential as the input.",
    ),
    options.flag_option(
        "--bound",
        help="Report a lower bound on the gcp of any release with classes; takes time quadratic in the rows.",
    ),
    options.flag_option("--dry-run", help="Do everything except write the release; reports are written."),
    options.flag_option("--allow-unsafe", help="Write the release even if a requirement is not met."),
    *ENGINE,
    *CHECKPOINT,
    options.COLOR,
    options.HELP_ALL,
)


class AlgorithmCommand(options.BriefSpecCommand):
    """Options in three sections: common ones, the algorithm's own, further ones."""

    def sections(self, every: list[click.Option]) -> dict[str, list[click.Option]]:
        """By their places: the algorithm's own are those that not every release command has."""
        limited = any(each.name == "tmp" for each in every)
        overrides = any(each.name == "suppression" for each in every)
        first = len(COMMON_OPTIONS if overrides else WITHOUT_OVERRIDES)
        last = len(FURTHER_OPTIONS) + 1 + limited * len(options.MEMORY)
        return {
            options.COMMON: every[:first],
            f"Options of {self.name}": every[first:-last],
            options.FURTHER: every[-last:],
        }


def command(name: str) -> click.Command:
    """The release command of an algorithm."""
    from anonymize.algorithms import ALGORITHMS

    algorithm = ALGORITHMS[name]
    own_options = [_option(field) for field in fields(algorithm.Options)]
    # The limit of `research-value` is on what its own search holds, and counts strings.
    memory = () if any(field.name == "memory_limit" for field in fields(algorithm.Options)) else options.MEMORY

    common = WITHOUT_OVERRIDES if algorithm.NEEDS.domains else COMMON_OPTIONS

    @click.command(name, cls=AlgorithmCommand, help=algorithm.__doc__)
    @options.with_options(options.SPEC, *common, *own_options, *memory, *FURTHER_OPTIONS)
    def run(spec: str, **given: Any) -> None:
        of_algorithm = {field.name: given.pop(field.name) for field in fields(algorithm.Options)}
        _release(name, algorithm.Options(**of_algorithm), spec, **given)

    return run


def _option(field: Any) -> Any:
    """An algorithm's option: a flag, a choice or a value, with its default."""
    from anonymize.algorithms.base import flag

    name, meaning = flag(field.name), field.metadata["help"]
    if isinstance(field.default, bool):
        off = field.metadata["off"] or f"no-{name.removeprefix('--')}"
        either = f"{name}/--{off}" if field.default else name
        return options.flag_option(either, field.name, default=field.default, help=meaning)
    return click.option(name, field.name, type=_type(field), default=field.default, show_default=True, help=meaning)


def _type(field: Any) -> Any:
    """The values that an option takes: its choices, its range, or all of its default's type."""
    choices, numbers, kind = field.metadata["choices"], field.metadata["range"], type(field.default)
    if choices is not None and numbers is None:
        return click.Choice(choices)
    if numbers is None:
        return kind
    limited = click.IntRange if kind is int else click.FloatRange
    number = limited(numbers.minimum, numbers.maximum, min_open=numbers.min_open, max_open=numbers.max_open)
    return number if choices is None else options.NamedOrNumber(choices, number)


def _release(
    algorithm: str,
    chosen: Any,
    spec_path: str,
    *,
    input_path: str | None,
    threads: int | None,
    engine: str,
    master: str | None,
    checkpoint: str | None,
    quiet: bool,
    verbose: bool,
    color: str,
    k: int | None = None,
    l: int | None = None,  # noqa: E741
    t: float | None = None,
    suppression: float | None = None,
    **rest: Any,
) -> None:
    check_engine(engine, threads=threads, master=master, checkpoint=checkpoint)
    count = options.use_threads(threads)
    from anonymize import privacy, spec
    from anonymize._release import release
    from anonymize.cli.progress import ending_searches, progress
    from anonymize.request import Request

    loaded = spec.override(spec.load(spec_path, privacy.PARAMETERS), k=k, l=l, t=t, suppression=suppression)
    with progress(quiet) as show, ending_searches(show) as ending:
        request = Request(loaded, algorithm, chosen, input=input_path, threads=count, progress=show, **rest)
        if engine == "local" and _may_end_early(request):
            request = replace(request, progress=ending)
        if engine == "local":
            report = release(request)
        else:
            files = engine_files()
            report = files.release_files(request, files.Engine(master, checkpoint))
    if "rehearsal" in report:
        exits.say_charge(report)
    elif not quiet and sys.stderr is not None:
        with exits.reporting():
            _summary(report, color, verbose, _written(request, report) if engine == "local" else {})
            if "public" in report and report["privacy"]["state"] == State.UNKNOWN:
                exits.say(ALLOWED if request.allow_unsafe else REQUIRED)
        if engine == "local":
            _say_next(request, spec_path)


def _may_end_early(request: Request) -> bool:
    """Whether an interrupt of the search ends with the best so far: on a terminal, and where neither the input nor the
    release goes through a pipe, whose other end may be gone."""
    from anonymize.algorithms.deadline import ends_early

    piped = "-" in (request.output, request.input or request.spec.input.path)
    return sys.stderr is not None and sys.stderr.isatty() and not piped and ends_early(request.options)


def _say_next(request: Request, spec_path: str) -> None:
    """What to do with a release that is in a file: measure what it has lost, where the input can be read again; else
    whether it is safe, where it shows whom rows are about."""
    unseen = request.input == "-" and request.spec.unit is not None
    if request.output == "-" or request.dry_run or unseen:
        return
    from anonymize.families import draft_of

    released = draft_of(request.algorithm).paths(request).tables[0]
    group = request.options.group if getattr(request.options, "joined", False) else None
    if request.input == "-":
        exits.say_next("audit", spec_path, *exits.beside({"input": released, "group": group}))
    else:
        exits.say_next("evaluate", spec_path, released, *exits.beside({"input": request.input, "group": group}))


def _written(request: Request, report: Mapping[str, Any]) -> dict[str, list[str]]:
    """The files of a release by who may have them; one that is not safe is nobody's to publish."""
    from anonymize.families import release_paths

    if request.dry_run:
        return {}
    paths = release_paths(request)
    states = (request.after or request.start_series, request.budget)
    private = [path for path in (request.save_recoding, request.save_link, request.save_risk, *states) if path]
    reports = [path for path in request.reports if path != "-"]
    release = [path for path in (*paths.tables, *paths.texts) if path != "-"]
    if request.public:
        return {"publish": release + reports, "keep private": private}
    if report["privacy"]["satisfied"] is False:
        return {"not safe": release, "keep private": reports + private}
    return {"publish": release, "keep private": reports + private}


def _summary(report: dict[str, Any], color: str, verbose: bool, files: Mapping[str, Sequence[str]]) -> None:
    """The report in a few lines; `verbose`: all of it, with time and memory of each stage."""
    from anonymize.report.terminal import console, show, summarize

    out = console(sys.stderr, color)
    if not verbose:
        return summarize(report, out, files)
    show(report, out)
    if "timing" in report:
        stages = "  ".join(f"{name.removesuffix('_s')} {seconds:.2f} s" for name, seconds in report["timing"].items())
        out.print(f"\n{stages}  peak {report['memory']['peak_mb']:.0f} MB")


# --- recode -----------------------------------------------------------------------------------------------------------


@click.command()
@options.with_options(
    click.argument("recoding", type=options.PATH),
    options.file_option(
        "-i", "--input", required=True, help="The table: a file, - for standard input, or the URI of a database table."
    ),
    options.OUTPUT,
    options.OUTPUT_FORMAT,
    options.REPORTS,
    options.count_option("--seed", help="Seed of the shuffle, if the release was shuffled."),
    options.FORCE,
    *ENGINE,
    options.THREADS,
    options.QUIET,
    options.COLOR,
)
def recode(quiet: bool, threads: int | None, color: str, engine: str, master: str | None, **given: Any) -> None:
    """Apply a saved recoding to new rows: a test set, or next month's table.

    RECODING is a file written by a release command with --save-recoding. Every row shows what the release shows for the
    class that it falls into; direct identifiers are left out, and all other columns pass through. The table must have
    the columns of the one that was released; those that are not quasi-identifiers may be absent.

    A row is outside the recoding if it has an unknown value, a number beyond the range of the original rows, a
    suppressed class, a value outside the interval of its class, or a combination that no class has. In the first and
    third case the row is released as suppressed. All such rows are counted, and the exit code is still 0.

    Nothing is measured. The guarantees of the release hold for the rows that it was made from: use `audit` to check
    whether the new table is safe to publish.
    """
    check_engine(engine, threads=threads, master=master)
    options.use_threads(threads)
    from anonymize._recode import Recode
    from anonymize._recode import recode as walk
    from anonymize.cli.progress import progress

    with progress(quiet) as report_progress:
        request = Recode(**given, progress=report_progress)
        if engine == "local":
            report = walk(request)
        else:
            files = engine_files()
            report = files.recode_files(request, files.Engine(master))
    if not quiet and sys.stderr is not None:
        with exits.reporting():
            exits.show_report(report, color, sys.stderr)
