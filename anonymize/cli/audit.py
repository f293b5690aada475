"""`audit`: any table, measured against privacy models."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from anonymize.cli import exits, options, progress
from anonymize.cli.completing import columns, completing, names_option, requirements
from anonymize.errors import UnsafeError, UsageError, WriteError, refuse
from anonymize.formats import AUTO, FORMATS, Checked, chosen

if TYPE_CHECKING:
    from anonymize.risk.population import Terms
    from anonymize.spec import Spec


# --- the end of a check -----------------------------------------------------------------------------------------------
# The result in one of the forms, and exit code 1 where something is not met.

FORM = (
    options.choice_option(
        "--format",
        "form",
        choices=[AUTO, *FORMATS],
        default=AUTO,
        help="Format of the result; auto is github in GitHub Actions, otherwise text.",
    ),
    click.option("--json", "form", flag_value="json", help="The same as --format json."),
)


def is_text(form: str) -> bool:
    """Whether the result is for people, where a next command helps."""
    return chosen(form, os.environ) == "text"


def conclude(checked: Checked, form: str, *, quiet: bool, color: str) -> None:
    """Prints what was checked, in the form that was asked for. Raises UnsafeError with what is not met or could not be
    shown, and WriteError where standard output is closed."""
    rendering = chosen(form, os.environ)
    if sys.stdout is None and rendering != "text":
        raise WriteError("<stdout>: cannot be written: it is closed")
    if not quiet or form not in (AUTO, "text"):
        FORMATS[rendering](checked, sys.stdout, color)
    if checked.problems:
        raise UnsafeError(checked.problems)


# --- a series ---------------------------------------------------------------------------------------------------------

SERIES = (
    options.file_option(
        "--series",
        help="The state of a series, whose releases are all measured, by people's histories; with --key.",
    ),
    options.file_option("--key", help="The key file of the series."),
)

_BESIDE = {"spec", "series", "key", "k", "l", "t", "require", "form", "reports", "force", "threads", "quiet", "color"}
"""What may be given together with a series; everything else describes one table."""


def audited(spec: Any, state: str | None, key: str | None, given: dict[str, Any]) -> Checked:
    """The series, measured. `given`: the options that were given, of one table or of a series. Raises UsageError for
    options that are about one table, without a key, or without a spec."""
    from anonymize.auditing.series import SeriesAudit, audit_series

    context = click.get_current_context()
    if state is None:
        raise UsageError("--key: needs --series")
    if spec is None:
        raise UsageError("--series: give the spec of the releases")
    if key is None:
        raise UsageError("--series: needs --key, by which people are recognized")
    others = {each.opts[0]: each.name for each in context.command.params if each.name and each.name not in _BESIDE}
    typed = click.core.ParameterSource.COMMANDLINE
    why = "is about one table, and --series about all releases"
    refuse({f"{flag}: {why}": context.get_parameter_source(name) is typed for flag, name in others.items()})
    thresholds: dict[str, Any] = {name: given[name] for name in ("k", "l", "t") if name in given}
    rest = {name: given[name] for name in ("require", "reports", "force") if name in given}
    return audit_series(SeriesAudit(spec, state, key, thresholds, **rest)).checked


# --- the command ------------------------------------------------------------------------------------------------------


class _Size(click.ParamType[int]):
    """A number of attributes, or auto (0)."""

    name = "size"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> int:
        if value == "auto":
            return 0
        if not value.isdecimal() or not int(value):
            self.fail(f"{value!r} is neither a number of attributes from 1 nor auto", parameter, context)
        return int(value)


def _counts(context: click.Context, parameter: click.Parameter, value: str | None) -> list[int]:
    texts = [] if value is None else value.split(",")
    if not all(text.strip().isdecimal() for text in texts):
        raise click.BadParameter("numbers of rows, separated by commas: 20,10,5", context, parameter)
    return [int(text) for text in texts]


COMMON_OPTIONS = (
    "--input", "--qi", "--sensitive", "-k", "-l", "--require", "--subsets", "--previous", "--baseline",
    "--no-regress", "--original", "--format", "--json", "--report", "--quiet",
)  # fmt: skip
"""What most people need; help has the others with --help-all."""


@click.command(cls=options.BriefCommand, common=COMMON_OPTIONS)
@options.with_options(
    click.argument("spec", type=options.PATH, required=False),
    options.file_option(
        "-i", "--input", "path", help="The table: a file, - for standard input, or the URI of a database table."
    ),
    names_option("--qi", "quasi_identifiers", of=columns, help="Quasi-identifiers, without a spec."),
    names_option("--sensitive", of=columns, help="Sensitive attributes, without a spec."),
    names_option("--numeric", of=columns, help="The columns among these that are compared as numbers."),
    click.option(
        "--unit",
        help="The column that identifies the individual a row is about, without a spec.",
        shell_complete=completing(columns),
    ),
    options.file_option(
        "--original",
        help="The table that this one was made from, to judge whether columns that pass through disclose a "
        "quasi-identifier.",
    ),
    options.file_option(
        "--unit-from",
        help="The table that this one was made from, with the unit column; with --link.  [default: the spec's]",
    ),
    options.file_option("--link", help="The link written by --save-link: which row of --unit-from each row is."),
    click.option("-k", type=int, help="k of k-anonymity."),
    click.option("-l", "l", type=int, help="l of distinct l-diversity of every sensitive attribute."),
    click.option("-t", "t", type=float, help="t of every t-closeness model of the spec."),
    click.option("--separator", help="Separator of a CSV, without a spec; else that of its header."),
    click.option("--encoding", help="Encoding of a CSV.  [default: utf8]"),
    options.flag_option(
        "--no-header", help="The first line of the CSV is a row; columns are called column_1, column_2, ..."
    ),
    click.option("--missing", multiple=True, help="Text that means missing, without a spec; repeatable."),
    click.option("--suppressed", help="Text of a suppressed cell, without a spec.  [default: *]"),
    options.flag_option(
        "--no-normalize",
        help="Compare texts exactly, including outer space and invisible characters, without a spec.",
    ),
    options.choice_option(
        "--missing-as",
        choices=["own-category", "wildcard"],
        help="wildcard: add figures in which a missing or suppressed cell matches any. Overrides privacy.missing.",
    ),
    *options.MEANINGS,
    click.option(
        "--threshold", type=float, default=0.2, show_default=True, help="Rows with a higher risk count as at risk."
    ),
    click.option(
        "--subsets",
        type=_Size(),
        metavar="SIZE|auto",
        help="Uniqueness on each subset of at most SIZE quasi-identifiers; auto: any SIZE up to 10 of them, else 3.",
    ),
    click.option(
        "--risky-cells",
        callback=_counts,
        metavar="N,N,...",
        help="With --subsets: count combinations of at most N rows; one N for subsets of 1, 2, ... columns.",
    ),
    options.choice_option(
        "--log-linear",
        choices=["main", "pairs"],
        help="Population uniqueness by a log-linear model with main effects or all pairs; with a sampling fraction.",
    ),
    click.option(
        "--sampling-weight",
        help="The column of sampling weights, without a spec.",
        shell_complete=completing(columns),
    ),
    options.file_option(
        "--population",
        help="A table of the population, for the journalist's risk.",
    ),
    click.option(
        "--sampling-fraction", "fraction", type=float, help="Share of the population that the table contains."
    ),
    click.option(
        "--require",
        multiple=True,
        metavar="MODEL ...",
        shell_complete=completing(requirements),
        help='A further privacy model: "t-closeness t=0.3 attribute=diagnosis"; or "passing uniques=0.01". Repeatable.',
    ),
    options.file_option("--baseline", help="An earlier JSON report, of a release or an audit, to compare with."),
    options.flag_option("--no-regress", help="Fail if a privacy or risk figure is worse than in the baseline."),
    options.file_option("--previous", help="An earlier release about the same people: measure both together."),
    options.file_option(
        "--previous-link",
        help="The link of --previous, written by --save-link for the same input as --link.",
    ),
    options.flag_option(
        "--by-position", help="Row n is about the same individual as row n of --previous or --unit-from."
    ),
    *SERIES,
    *FORM,
    options.REPORTS,
    options.file_option("--save-risk", help="Save the risk of every row as .csv: explain save-risk. It is private."),
    options.FORCE,
    *progress.ENGINE,
    *options.MEASURING,
    options.HELP_ALL,
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
    by_position: bool,
    previous_link: str | None,
    subsets: int | None,
    risky_cells: list[int],
    log_linear: Terms | None,
    fraction: float | None,
    population: str | None,
    series: str | None,
    key: str | None,
    engine: str,
    master: str | None,
    **every: Any,
) -> None:
    """Check any table against privacy models, whether made by this tool or not.

    The models are those of SPEC; without a spec, -k and -l on the columns named by --qi and --sensitive (a name with a
    comma in quotes, as in a CSV: --qi '"a,b",c'). --require adds further models. If nothing is required, what the table
    achieves is measured and nothing is judged. Cells are compared as text: 01234 is not 1234, but outer space and
    invisible characters are ignored, and a blank cell is missing. A missing quasi-identifier is a value of its own, a
    missing sensitive value is no value, and suppressed rows are a class like any other.

    With --subsets, the risk includes uniqueness on every subset of the quasi-identifiers, and the smallest subsets that
    single people out; for an original table, this helps to choose the quasi-identifiers. With sampling weights, it
    includes individual risks.

    With --previous, the same models are measured on what the classes of both releases have in common: row by row with
    --link and --previous-link, if both were made from one input, or with --by-position, if row n of both is about the
    same individual. Otherwise bounds are computed from what the classes show; a requirement that they do not show to be
    met counts as not met.

    With --series, all releases of a series are measured against an attacker who has every one of them: people with the
    same history cannot be told apart. Histories are recomputed from the releases, the files of --save-link and the
    originals, as far as they still exist; what is known only from the state counts as not shown.

    With --original, columns that pass through are compared with the quasi-identifiers in the table that this one was
    made from: a column that follows from a quasi-identifier, or determines it, is not met unless
    privacy.passing.accept_derived names it. Without --original, they are listed as not judged.

    What the order of the rows discloses about the quasi-identifiers is a warning, and is judged if SPEC has
    output.row_order: keep.

    A bucketized release is measured by its groups: give the QIT if there are two files, or --group if there is one. A
    distorted table cannot be audited, because its risk depends on the original.

    Exit code 1: a model is not met or could not be shown to be met, a column follows from a quasi-identifier in
    --original, the table has a direct identifier of the spec, or, with --no-regress, a figure of privacy or risk is
    worse than in the baseline.
    """
    progress.check_engine(engine, threads=threads, master=master)
    options.use_threads(threads)
    from anonymize import privacy
    from anonymize._audit import audit as walk
    from anonymize.auditing.request import Against, Audit, Deeper
    from anonymize.spec import load

    given = {name: value for name, value in every.items() if value not in (None, [], ())}
    if spec is None and "quasi_identifiers" not in given:
        spec = options.nearby_spec()
    loaded = load(spec, privacy.PARAMETERS) if spec else None
    if engine == "spark":
        files = progress.engine_files()
        if loaded is None:
            raise UsageError("audit --engine spark: needs a spec")
        given |= {"baseline": baseline, "previous": previous, "by-position": by_position, "subsets": subsets}
        given |= {"risky-cells": risky_cells, "log-linear": log_linear, "sampling-fraction": fraction}
        given |= {"population": population, "series": series, "key": key}
        conclude(files.audit_files(loaded, path, given, files.Engine(master)), form, quiet=quiet, color=color)
        return
    if series is not None or key is not None:
        conclude(audited(loaded, series, key, given), form, quiet=quiet, color=color)
        return
    against = Against(baseline, no_regress, previous, by_position, previous_link)
    further = Deeper(subsets, risky_cells, log_linear, fraction, population)
    result = walk(Audit(loaded, path, against=against, further=further, **given))
    conclude(result.checked, form, quiet=quiet, color=color)
    if is_text(form) and not quiet:
        _say_next(spec, loaded, path, given)


def _say_next(spec: str | None, loaded: Spec | None, path: str | None, given: dict[str, Any]) -> None:
    """What to do with a table that was measured: a spec for one that has none; of the table that the spec is about, a
    release; of a release, what it has lost, where the original is known."""
    if path == "-":
        return
    if loaded is None:
        exits.say_next("init", str(path), "-o", "anonymize.yaml")
    elif path is None or path == str(loaded.input.path):
        exits.say_next("release", str(spec), "-o", "released.csv", "-r", "report.html")
    elif loaded.input.path is not None:
        exits.say_next("evaluate", str(spec), path, *exits.beside(given))
