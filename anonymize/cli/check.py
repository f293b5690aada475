"""Commands that measure tables: `audit` and `evaluate`."""

from __future__ import annotations

import sys
from typing import Any

import click

from anonymize.cli.checked import FORM, conclude
from anonymize.cli.completing import algorithms, columns, completing, learners, requirements
from anonymize.cli.engine import ENGINE, audit_there, check_engine
from anonymize.cli.options import (
    BUCKETIZED,
    FORCE,
    INPUT,
    MEASURING,
    OVERRIDES,
    PATH,
    REPORTS,
    SpecCommand,
    nearby_spec,
    use_threads,
    with_options,
)
from anonymize.cli.over_time import SERIES, audited
from anonymize.cli.queries import QUERY_OPTIONS, query_plan
from anonymize.cli.trees import TREE_OPTIONS, tree_plan
from anonymize.errors import UsageError
from anonymize.names import split


def _names(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> list[str]:
    """Column names: the option repeated, or names parted by commas."""
    return [name.strip() for text in value for name in text.split(",") if name.strip()]


def _columns(flag: str, name: str, help: str) -> Any:
    known = completing(columns, listed=True)
    return click.option(flag, name, multiple=True, callback=_names, metavar="A,B,...", help=help, shell_complete=known)


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
    click.option(
        "-i", "--input", "path", type=PATH, help="The table, or - for standard input; of a database, its URI."
    ),
    _columns("--qi", "quasi_identifiers", "Quasi-identifiers, without a spec."),
    _columns("--sensitive", "sensitive", "Sensitive attributes, without a spec."),
    _columns("--numeric", "numeric", "The columns among these that are compared as numbers."),
    click.option(
        "--unit",
        help="The column that says which individual a row is about, without a spec.",
        shell_complete=completing(columns),
    ),
    click.option(
        "--unit-from", type=PATH, help="The table that this one was made from, which has the unit column; with --link."
    ),
    click.option("--link", type=PATH, help="Which row of its input (--unit-from) each row is, by --save-link."),
    click.option("-k", type=int, help="k of k-anonymity."),
    click.option("-l", "l", type=int, help="l of distinct l-diversity of every sensitive attribute."),
    click.option("-t", "t", type=float, help="t of every t-closeness model of the spec."),
    click.option("--separator", help="Separator of a CSV, without a spec.  [default: ,]"),
    click.option("--encoding", help="Encoding of a CSV.  [default: utf8]"),
    click.option("--missing", multiple=True, help="Text that means missing, without a spec; repeatable."),
    click.option("--suppressed", help="Text of a suppressed cell, without a spec.  [default: *]"),
    click.option(
        "--no-normalize",
        is_flag=True,
        help="Compare texts as they stand, with outer space and invisible characters, without a spec.",
    ),
    click.option(
        "--missing-as",
        type=click.Choice(["own-category", "wildcard"]),
        help="Whether a missing or suppressed cell is a value of its own or matches any; over privacy.missing.",
    ),
    *BUCKETIZED,
    click.option(
        "--threshold", type=float, default=0.2, show_default=True, help="A row whose risk is higher counts as at risk."
    ),
    click.option(
        "--subsets",
        type=_SIZE,
        metavar="SIZE|auto",
        help="What each subset of at most SIZE quasi-identifiers gives away; auto: all of 10 or fewer, else SIZE 3.",
    ),
    click.option(
        "--sampling-weight",
        help="The column of sampling weights, without a spec.",
        shell_complete=completing(columns),
    ),
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
        shell_complete=completing(requirements),
        help='A further privacy model: "t-closeness t=0.3 attribute=diagnosis"; or "passing uniques=0.01". Repeatable.',
    ),
    click.option("--baseline", type=PATH, help="An earlier JSON report, of a release or an audit, to compare with."),
    click.option("--no-regress", is_flag=True, help="Nothing may be worse than in the baseline."),
    click.option("--previous", type=PATH, help="An earlier release of the same people: what both give away."),
    click.option(
        "--previous-link",
        type=PATH,
        help="Which row of its input each row of --previous is, as --save-link wrote it; beside --link, to one input.",
    ),
    click.option(
        "--by-position", is_flag=True, help="Row n is about the same individual in --previous, or --unit-from."
    ),
    *SERIES,
    *FORM,
    REPORTS,
    FORCE,
    *ENGINE,
    *MEASURING,
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
    fraction: float | None,
    population: str | None,
    series: str | None,
    key: str | None,
    engine: str,
    master: str | None,
    **options: Any,
) -> None:
    """Measure any table against privacy models, made by this tool or not.

    With SPEC, against the models of its `privacy`; without, against -k and -l on the columns that --qi and --sensitive
    name; with --require, against further ones. Where nothing is required, what the table reaches is measured and
    nothing is judged. The table is compared as text: 01234 is not 1234, but outer space and invisible characters make
    no difference, and a blank cell is missing. A missing quasi-identifier is a value of its own unless --missing-as
    says that it matches anything, a missing sensitive value is none, and suppressed rows are a class like any other.

    With --subsets, the risk has what every subset of the quasi-identifiers gives away, and the smallest that single
    people out: of an original table it helps to choose them. With sampling weights it has the individual risks.

    With --previous, the same models are measured on what the classes of both releases have in common: row by row with
    --link and --previous-link, if both were made of one input, or with --by-position, if row n of both is about the
    same individual. Otherwise there are bounds, from what the classes
    show; a requirement that they do not show to be met counts as not met.

    With --series, all releases of a series are measured by what an attacker knows who has every one of them: whom he
    cannot tell apart are people of one history. Histories are made anew from the releases, the files of --save-link
    and the originals, as far as these are still there; whatever is believed because the state says so is not shown.

    The order of the rows is looked at: what it tells of the quasi-identifiers is a warning, and is judged where SPEC
    says output.row_order: keep.

    A bucketized release is measured by its groups: of two files name the QIT, of one the column with --group. A
    randomized table cannot be audited, as its risk depends on the original.

    Exit code 1: a model is not met or could not be shown to be, the table has a direct identifier of the spec, or
    --no-regress and a figure of privacy or risk is worse than in the baseline.
    """
    check_engine(engine, threads=threads, master=master)
    use_threads(threads)
    from anonymize import privacy
    from anonymize.audit import Against, Audit
    from anonymize.audit import audit as walk
    from anonymize.auditing.sample import Deeper
    from anonymize.spec import load

    given = {name: value for name, value in options.items() if value not in (None, [], ())}
    if spec is None and "quasi_identifiers" not in given:
        spec = nearby_spec(click.get_current_context())
    loaded = load(spec, privacy.PARAMETERS) if spec else None
    if engine == "spark":
        others = {"baseline": baseline, "previous": previous, "subsets": subsets, "sampling-fraction": fraction}
        given |= others | {"population": population, "series": series, "key": key, "by-position": by_position}
        conclude(audit_there(loaded, path, master, given), form, quiet=quiet, color=color)
        return
    if series is not None or key is not None:
        conclude(audited(loaded, series, key, given), form, quiet=quiet, color=color)
        return
    against = Against(baseline, no_regress, previous, by_position, previous_link)
    further = Deeper(subsets, fraction, population)
    result = walk(Audit(loaded, path, against=against, further=further, **given))
    conclude(result.checked, form, quiet=quiet, color=color)


@click.command(cls=SpecCommand)
@with_options(
    click.argument("spec", type=PATH, required=False),
    click.argument("released", type=PATH, required=False),
    INPUT,
    *OVERRIDES,
    click.option(
        "--queries", type=click.IntRange(min=0), default=1000, show_default=True, help="Random COUNT queries."
    ),
    *QUERY_OPTIONS,
    *BUCKETIZED,
    click.option("--parameters", type=PATH, help="The parameters of a randomized release.  [default: beside it]"),
    click.option(
        "--method",
        type=click.Choice(["inverse", "simplex", "clip", "bayes"]),
        help="How a randomized release is reconstructed.  [default: inverse]",
    ),
    *TREE_OPTIONS,
    click.option("--link", type=PATH, help="Which row of the table each released row is, as --save-link wrote it."),
    click.option("--models", is_flag=True, help="Train and test models for the targets of the workload."),
    click.option(
        "--algorithm",
        help="With --models: find the recoding on each training part with this release command.",
        shell_complete=completing(algorithms),
    ),
    click.option("--option", "pairs", multiple=True, metavar="NAME=VALUE", help="Option of the algorithm; repeatable."),
    click.option(
        "--folds",
        type=click.IntRange(min=2),
        default=10,
        show_default=True,
        help="Number of folds of the cross-validation.",
    ),
    click.option(
        "--test-share",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        help="One split instead of folds: the share of rows that models are tested on.",
    ),
    click.option(
        "--model",
        "chosen",
        multiple=True,
        metavar="NAME",
        help="Only this model; repeatable.",
        shell_complete=completing(learners),
    ),
    click.option("--projection", is_flag=True, help="Also train models without the attributes that tell most."),
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of what is random."),
    click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json", "markdown", "html"]),
        default="text",
        help="Form of the result.",
    ),
    click.option("--json", "form", flag_value="json", help="The same as --format json."),
    REPORTS,
    FORCE,
    *MEASURING,
)
def evaluate(
    spec: str | None,
    released: str | None,
    input_path: str | None,
    form: str,
    threads: int | None,
    quiet: bool,
    color: str,
    **given: Any,
) -> None:
    """Measure what a release has lost, and what its recipient can still do with it.

    RELEASED is a release of the table that SPEC describes, made by this tool or not: its cells are read with the spec,
    and measured against the original. Beside the metrics of a report stand the targets of the workload (what is left to
    guess of them once the class is known), the imprecision of its selections, and the relative error of random COUNT
    queries.

    A bucketized release is the QIT, with its ST, or one file with --group; a randomized one has its parameters beside
    it. They have no classes: what is measured is the joint table that a recipient estimates, as it is of releases with
    classes, and the COUNT queries.

    With --models the quasi-identifiers predict the targets of the workload. With --algorithm the recoding is found on
    the training part of the original alone and applied to the test part, and no RELEASED is needed; without it, models
    are trained on RELEASED and tested on the original. The same models of the original stand beside them. This needs
    scikit-learn: pip install 'anonymize-toolkit[ml]'.

    With --tree the first splits of a decision tree on the original and on the release are printed, and which of the
    original's patterns a reader of the release can still state: about as many rows, about as large a share of them with
    the same label. These name values, and are left out of the files of -r.
    """
    spec, released = _spec_and_release(spec, released)
    count = use_threads(threads)
    from anonymize import privacy
    from anonymize import spec as specs
    from anonymize.cli.progress import progress
    from anonymize.evaluate import Evaluate
    from anonymize.evaluate import evaluate as walk

    thresholds = {name: given.pop(name) for name in ("k", "l", "t", "suppression")}
    loaded = specs.override(specs.load(spec, privacy.PARAMETERS), **thresholds)
    models, plan, tree = _protocol(given, count), query_plan(given), tree_plan(given)
    with progress(quiet) as report_progress:
        request = Evaluate(
            loaded,
            released,
            input_path,
            models=models,
            query_plan=plan,
            tree=tree,
            threads=count,
            progress=report_progress,
            **given,
        )
        report = walk(request)
    if form == "json":
        _json(report)
    elif form in ("markdown", "html"):
        from anonymize.report import RENDERERS

        click.echo(RENDERERS[{"markdown": ".md", "html": ".html"}[form]](report), nl=False)
    elif not quiet:
        _text(report, color)


def _spec_and_release(spec: str | None, released: str | None) -> tuple[str, str | None]:
    """What is named: where it is a table alone, the spec is the nearest one."""
    context = click.get_current_context()
    if spec is None or (released is None and split(spec)[1] != ""):
        nearby = nearby_spec(context)
        if nearby is None and spec is None:
            message = "Missing argument 'SPEC', and there is no anonymize.yaml in this folder or one above."
            raise click.UsageError(message, context)
        if nearby is not None:
            return nearby, spec
    assert spec is not None
    return spec, released


def _protocol(given: dict[str, Any], threads: int) -> Any:
    """How models are made, None for none; takes what is about models out of `given`. Raises UsageError for options of
    models without --models."""
    own = {name: given.pop(name) for name in ("algorithm", "folds", "test_share", "projection")}
    pairs, chosen, wanted = given.pop("pairs"), given.pop("chosen"), given.pop("models")
    if not wanted:
        flags = {
            "--algorithm": own["algorithm"],
            "--option": pairs,
            "--model": chosen,
            "--projection": own["projection"],
        }
        stray = [flag for flag, value in flags.items() if value]
        if stray:
            raise UsageError([f"{flag}: is about models, give --models" for flag in stray])
        return None
    from anonymize.algorithms import ALGORITHMS, parse_options
    from anonymize.modelling.protocol import Protocol

    name = own["algorithm"]
    if name is not None and name not in ALGORITHMS:
        raise UsageError(f"--algorithm {name}: is none of {', '.join(ALGORITHMS)}")
    if name is None and pairs:
        raise UsageError("--option: is about an algorithm, give --algorithm")
    options = None if name is None else parse_options(ALGORITHMS[name], pairs)
    return Protocol(**own, options=options, seed=given["seed"], models=chosen, threads=threads)


def _json(report: dict[str, Any]) -> None:
    from anonymize.report import as_json

    click.echo(as_json(report), nl=False)


def _text(report: dict[str, Any], color: str) -> None:
    from anonymize.report.terminal import console, show

    show(report, console(sys.stdout, color))
