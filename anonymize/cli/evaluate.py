"""`evaluate`: what a release has lost, and what its recipient can still do with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from anonymize.cli import exits, options
from anonymize.cli.completing import algorithms, completing, learners, names_option, quasi_identifiers, targets
from anonymize.errors import UsageError, refuse
from anonymize.files import split

if TYPE_CHECKING:
    from anonymize.evaluation.patterns import TreePlan
    from anonymize.metrics.queries import QueryPlan


# --- options about queries --------------------------------------------------------------------------------------------


def _sizes(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Whole numbers from 1, and ranges of them: 1-3,5."""
    if value is None:
        return ()
    sizes: set[int] = set()
    for part in value.split(","):
        low, dash, high = part.strip().partition("-")
        ends = (low, high if dash else low)
        if not all(end.isdecimal() and int(end) for end in ends):
            raise click.BadParameter(f"{value!r} is not a list of numbers from 1, such as 1-3 or 2,4")
        sizes.update(range(int(ends[0]), int(ends[1]) + 1))
    return tuple(sorted(sizes))


QUERY_OPTIONS = (
    click.option(
        "--query-dimensions",
        "dimensions",
        metavar="N[-M],...",
        callback=_sizes,
        help="How many quasi-identifiers a query restricts.  [default: any number]",
    ),
    names_option(
        "--query-attributes",
        "attributes",
        of=quasi_identifiers,
        help="The quasi-identifiers that queries restrict.  [default: all]",
    ),
    options.share_option(
        "--query-selectivity",
        "selectivity",
        min_open=True,
        help="Share of the joint domain that a query covers.  [default: ranges of any length]",
    ),
    options.flag_option("--query-points", "points", help="Query the values of random rows instead of ranges."),
    click.option(
        "--query-bound",
        "bound",
        type=click.FloatRange(min=0),
        default=0.0,
        show_default=True,
        help="Sanity bound: smaller true counts are replaced by this in the denominator of relative errors.",
    ),
    options.count_option(
        "--query-seeds",
        "repeats",
        least=1,
        default=1,
        help="Number of seeds to draw queries with, starting with --seed.",
    ),
    options.file_option("--query-file", help="A YAML list of queries, instead of random ones."),
)


def query_plan(given: dict[str, Any]) -> QueryPlan:
    """Which queries are drawn; takes what is about them out of `given`. Raises UsageError for what makes no sense
    together."""
    from anonymize.metrics.queries import QueryPlan

    keys = ("dimensions", "attributes", "selectivity", "points", "bound", "repeats")
    plan = QueryPlan(**{key: given.pop(key) for key in keys})
    if plan.points and plan.selectivity is not None:
        raise UsageError("--query-points and --query-selectivity: a point has no length")
    drawing = {
        "--query-dimensions": bool(plan.dimensions),
        "--query-attributes": bool(plan.attributes),
        "--query-selectivity": plan.selectivity is not None,
        "--query-points": plan.points,
        "--query-seeds": plan.repeats > 1,
    }
    if given["query_file"] is not None:
        refuse({f"{flag}: is about random queries, and --query-file lists them": on for flag, on in drawing.items()})
    return plan


# --- options about trees ----------------------------------------------------------------------------------------------

TREE_OPTIONS = (
    click.option(
        "--tree",
        metavar="TARGET",
        help="Compare the first splits of a decision tree for a target.",
        shell_complete=completing(targets),
    ),
    options.count_option("--tree-depth", least=1, most=12, help="Maximum depth of the tree.  [default: 3]"),
    names_option(
        "--tree-columns", of=quasi_identifiers, help="The quasi-identifiers that the tree uses.  [default: all]"
    ),
    options.share_option(
        "--support-within",
        help="A pattern survives if its relative change of support is at most this, ...  [default: 0.1]",
    ),
    options.share_option(
        "--confidence-within",
        help="... and its change of confidence is at most this.  [default: 0.05]",
    ),
)


def tree_plan(given: dict[str, Any]) -> TreePlan | None:
    """How trees are compared, None for not; takes what is about them out of `given`. Raises UsageError for options of
    trees without --tree."""
    flags = {
        "--tree-depth": given.pop("tree_depth"),
        "--tree-columns": given.pop("tree_columns") or None,
        "--support-within": given.pop("support_within"),
        "--confidence-within": given.pop("confidence_within"),
    }
    target = given.pop("tree")
    if target is None:
        refuse({f"{flag}: is about a tree, give --tree": value is not None for flag, value in flags.items()})
        return None
    from anonymize.evaluation.patterns import CONFIDENCE, SUPPORT, Tolerance, TreePlan
    from anonymize.evaluation.trees import DEPTH

    depth, columns, support, confidence = flags.values()
    tolerance = Tolerance(SUPPORT if support is None else support, CONFIDENCE if confidence is None else confidence)
    return TreePlan(target, depth or DEPTH, columns or (), tolerance)


# --- the command ------------------------------------------------------------------------------------------------------

COMMON_OPTIONS = (
    "--input", "--link", "--queries", "--query-file", "--models", "--algorithm", "--tree", "--public-report",
    "--format", "--json", "--report", "--quiet",
)  # fmt: skip
"""What most people need; help has the others with --help-all."""


@click.command(cls=options.BriefSpecCommand, common=COMMON_OPTIONS)
@options.with_options(
    click.argument("spec", type=options.PATH, required=False),
    click.argument("released", type=options.PATH, required=False),
    options.INPUT,
    *options.OVERRIDES,
    options.count_option("--queries", default=1000, help="Random COUNT queries."),
    *QUERY_OPTIONS,
    *options.MEANINGS,
    options.choice_option(
        "--method",
        choices=options.METHODS,
        help="Reconstruction method for distorted values.  [default: inverse]",
    ),
    *TREE_OPTIONS,
    options.file_option("--link", help="The link written by --save-link: which row of the table each released row is."),
    options.flag_option("--models", help="Train and test models for the targets of the workload."),
    click.option(
        "--algorithm",
        help="With --models: recode each training part with this release command.",
        shell_complete=completing(algorithms),
    ),
    click.option("--option", "pairs", multiple=True, metavar="NAME=VALUE", help="Option of the algorithm; repeatable."),
    options.count_option("--folds", least=2, default=10, help="Number of folds of the cross-validation."),
    options.share_option(
        "--test-share",
        min_open=True,
        max_open=True,
        help="A single split instead of folds: the share of rows in the test part.",
    ),
    click.option(
        "--model",
        "chosen",
        multiple=True,
        metavar="NAME",
        help="Only this model; repeatable.",
        shell_complete=completing(learners),
    ),
    options.flag_option("--projection", help="Also train models without the most predictive attributes."),
    options.SEED,
    options.flag_option(
        "--public-report",
        "public",
        help="A report that may be published, made only from RELEASED, the spec and its hierarchies.",
    ),
    options.choice_option(
        "--format",
        "form",
        choices=["text", "json", "markdown", "html"],
        default="text",
        help="Format of the result.",
    ),
    click.option("--json", "form", flag_value="json", help="The same as --format json."),
    options.REPORTS,
    options.FORCE,
    *options.MEASURING,
    options.HELP_ALL,
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
    """Measure the information loss and utility of a release.

    RELEASED is a release of the table that SPEC describes, made by this tool or another. Its cells are interpreted with
    the spec and compared with the original. In addition to the metrics of a report, the result has the conditional
    entropy of the workload's targets given the class, the imprecision of its selections, and the relative error of
    random COUNT queries.

    A bucketized release is given by its QIT, with the ST, or by one file with --group; one of distorted values needs
    its parameters. They have no classes: the joint distribution that a recipient would estimate is measured (as for
    releases with classes), and the COUNT queries.

    With --models, models are trained to predict the targets of the workload from the quasi-identifiers. With
    --algorithm, each training part of the original is recoded, and the recoding applied to the test part; RELEASED is
    not needed. Otherwise models are trained on RELEASED and tested on the original. Models of the original are reported
    for comparison. This needs scikit-learn: pip install 'anonymize-toolkit[ml]'.

    With --public-report the original is not read: the loss is measured from the release alone, relative to the range
    that it shows. Queries, models and other measures that need the original are left out.

    With --tree, the first splits of a decision tree on the original and on the release are printed, and which of the
    original's patterns survive in the release with about the same support and confidence. They contain values, and are
    left out of the files of -r.
    """
    spec, released = _spec_and_release(spec, released)
    count = options.use_threads(threads)
    from anonymize import privacy
    from anonymize import spec as specs
    from anonymize._evaluate import Evaluate
    from anonymize._evaluate import evaluate as walk
    from anonymize.cli.progress import progress

    following = exits.beside({"input": input_path, **given})
    thresholds = {name: given.pop(name) for name in ("k", "l", "t", "suppression")}
    loaded = specs.override(specs.load(spec, privacy.PARAMETERS), **thresholds)
    models, plan, tree = _protocol(given, count), query_plan(given), tree_plan(given)
    with progress(quiet) as report_progress:
        plans = {"models": models, "query_plan": plan, "tree": tree}
        report = walk(Evaluate(loaded, released, input_path, threads=count, progress=report_progress, **plans, **given))
    if form != "text":
        from anonymize.report import RENDERERS

        suffix = {"json": ".json", "markdown": ".md", "html": ".html"}[form]
        exits.put(RENDERERS[suffix](report).removesuffix("\n"), lines=True)
    elif not quiet:
        exits.show_report(report, color)
        if released not in (None, "-") and input_path != "-":
            exits.say_next("attack", spec, str(released), *following)


def _spec_and_release(spec: str | None, released: str | None) -> tuple[str, str | None]:
    """What is named: where it is a table alone, the spec is the nearest one."""
    if spec is None or (released is None and split(spec)[1] != ""):
        return options.needed_spec(click.get_current_context()), spec
    return spec, released


def _protocol(given: dict[str, Any], threads: int) -> Any:
    """How models are made, None for none; takes what is about models out of `given`. Raises UsageError for options of
    models without --models."""
    settings = {name: given.pop(name) for name in ("algorithm", "folds", "test_share", "projection")}
    pairs, chosen, wanted = given.pop("pairs"), given.pop("chosen"), given.pop("models")
    if not wanted:
        flags = {"--algorithm": settings["algorithm"], "--option": pairs, "--model": chosen}
        flags["--projection"] = settings["projection"]
        refuse({f"{flag}: is about models, give --models": value for flag, value in flags.items()})
        return None
    from anonymize.algorithms import ALGORITHMS, parse_options
    from anonymize.modelling import Protocol

    name = settings["algorithm"]
    if name is not None and name not in ALGORITHMS:
        raise UsageError(f"--algorithm {name}: is not one of {', '.join(ALGORITHMS)}")
    if name is None and pairs:
        raise UsageError("--option: is about an algorithm, give --algorithm")
    own_options = None if name is None else parse_options(ALGORITHMS[name], pairs)
    return Protocol(**settings, options=own_options, seed=given["seed"], models=chosen, threads=threads)
