"""What the `evaluate` command does: a release beside its original, and what the recipient can still do with it.

spec, original ─▶ table      with the targets and selections of the workload
release        ─▶ classes    its text read as regions, whoever made it; or as groups, or as distorted values
both           ─▶ utility    the metrics of a report, and those that need the original
both           ─▶ models     trained on the release and on the original, on request
both           ─▶ patterns   first splits of a decision tree on either, on request

Nothing is judged: whether a release is safe, `anonymize.audit` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from anonymize import __version__, privacy
from anonymize.errors import DataError, Problem, UsageError
from anonymize.evaluation import patterns
from anonymize.evaluation.protocol import Protocol, evaluate_models
from anonymize.evaluation.released import Released, as_text, as_written, columns_of, read_released
from anonymize.evaluation.unclassed import Found, blocks
from anonymize.metrics import MEASURES, utility
from anonymize.publication import Paths, opened
from anonymize.randomization.estimate import Method
from anonymize.report import Clock
from anonymize.report.data import SCHEMA_VERSION, required_k
from anonymize.request import Progress
from anonymize.spec import Spec
from anonymize.table import Source, Table, read
from anonymize.verify.risk import class_sizes


@dataclass(frozen=True)
class Evaluate:
    """What `evaluate` was asked for.

    `released`: path of the release; None where models are made with an algorithm instead. `original`: path, None for
    the spec's. `reports`: paths, the kind by suffix. `queries`: how many random ones; `seed` of these. `st`, `group`:
    of a bucketized release the sensitive table, and the column of groups. `parameters`, `method`: of a randomized
    release the file of its parameters, and how it is reconstructed. `models`: how models are made, None for none.
    `tree`: the target of which patterns are compared.
    """

    spec: Spec
    released: str | None = None
    original: str | None = None
    reports: Sequence[str] = ()
    queries: int = 1000
    seed: int = 0
    st: str | None = None
    group: str | None = None
    parameters: str | None = None
    method: Method | None = None
    models: Protocol | None = None
    tree: str | None = None
    force: bool = False
    progress: Progress = field(default=lambda stage, done, total: None)


def evaluate(asked: Evaluate) -> dict[str, Any]:
    """Measures; returns the report. What is written to `reports` leaves out its block `tree`, which shows values.

    Raises UsageError, DataError and WriteError for what is asked, the tables, and the outputs; then nothing has been
    written.
    """
    paths = Paths(asked.original, reports=asked.reports, force=asked.force)
    _check(asked, paths)
    unclassed = _unclassed(asked)
    clock = Clock()
    with ExitStack() as stack:
        files = stack.enter_context(opened(asked.spec, paths))
        asked.progress("read", 0, 0)
        table = read(asked.spec, files.source, workload=True)
        report = _head(asked, table, clock)
        released = None
        if asked.released is not None and unclassed is not None:
            found = unclassed.opened(asked.spec, table, asked.released, stack)
            asked.progress("measure", 0, 0)
            report |= blocks(found, table, asked.queries, asked.seed)
        elif asked.released is not None:
            released = _open(asked, asked.released, table, stack, report)
            _measure(asked, released, report)
        if asked.models is not None:
            report["models"] = evaluate_models(asked.spec, table, released, asked.models, asked.progress)
            report["warnings"] += report["models"].pop("warnings")
        tree = None if asked.tree is None or released is None else patterns.compare(released, asked.tree)
        files.publish(report)
    return report if tree is None else report | {"tree": tree}


def _check(asked: Evaluate, paths: Paths) -> None:
    """Raises UsageError for what makes no sense together."""
    if asked.released == asked.original == "-":
        raise UsageError("the release and the original cannot both come from standard input")
    paths.check([asked.original or asked.spec.input.path, asked.released])
    if asked.released is None and (asked.models is None or asked.models.algorithm is None):
        hint = "or --models with --algorithm, to make one"
        raise UsageError(Problem("nothing to evaluate: give the release", hint=hint))
    if asked.released is None and asked.tree is not None:
        raise UsageError("--tree: needs a release")
    targets = asked.spec.workload.target_names
    if asked.models is not None and not targets:
        hint = "list what is to be predicted under workload: {targets: [...]}"
        raise UsageError(Problem("--models needs a target, and the spec names none", hint=hint))
    if asked.tree is not None and asked.tree not in targets:
        hint = f"targets: {', '.join(targets)}" if targets else "list it under workload: {targets: [...]}"
        raise UsageError(Problem(f"--tree {asked.tree}: is no target of the spec", hint=hint))


def _unclassed(asked: Evaluate) -> Found | None:
    """Where the release is, if it has no classes. Raises UsageError for what needs classes."""
    if asked.released is None:
        return None
    found = Found.of(asked.released, asked.st, asked.group, asked.parameters, asked.method)
    if found is not None:
        wanted = {"--models": asked.models is not None, "--tree": asked.tree is not None}
        problems = [f"{flag}: needs a release with equivalence classes" for flag, given in wanted.items() if given]
        if problems:
            raise UsageError(problems)
    return found


def _head(asked: Evaluate, table: Table, clock: Clock) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "anonymize", "version": __version__},
        "started_at": clock.started_at.isoformat(timespec="seconds"),
        "spec": {"path": None if asked.spec.path is None else str(asked.spec.path)},
        "input": {
            "path": table.source.name,
            "sha256": table.source.sha256,
            "rows": table.rows,
            "columns": len(table.columns),
        },
        "seed": asked.seed,
        "warnings": [],
    }


def _open(asked: Evaluate, path: str, table: Table, stack: ExitStack, report: dict[str, Any]) -> Released:
    """The release, read as text: UTF-8, with the input's separator. Adds the block `output`."""
    spec = as_written(asked.spec)
    source = stack.enter_context(Source.open(spec, path))
    shown = columns_of(spec, source.columns, source.name)
    source.check()
    batches = list(source.batches(source.columns))
    frame = pl.concat(batches) if batches else pl.DataFrame(schema=dict.fromkeys(source.columns, pl.String))
    texts = frame.select(as_text(column, spec, source.format) for column in frame.iter_columns())
    try:
        released = read_released(spec, table, texts, shown)
    except DataError as error:
        raise DataError([Problem(p.message, source.name, p.line, p.column, p.hint) for p in error.problems]) from None
    report["output"] = {
        "path": source.name,
        "sha256": source.sha256,
        "rows": source.rows,
        "suppressed_rows": released.suppressed_rows,
        "dropped_rows": table.rows - frame.height,
    }
    return released


def _measure(asked: Evaluate, released: Released, report: dict[str, Any]) -> None:
    """Adds the blocks `classes`, `utility` and `left_out`."""
    asked.progress("measure", 0, 0)
    sizes = released.partition.sizes[~released.suppressed]
    report["classes"] = class_sizes(pl.Series(sizes))
    report["rows_correspond"] = released.why_apart is None
    left_out: dict[str, str] = {}
    if released.summaries and released.why_apart is not None:
        names = [released.table.attributes[at].name for at in released.summaries]
        reason = f"{', '.join(names)}: one number a class does not tell what was lost, and {released.why_apart}"
        left_out |= dict.fromkeys(("gcp", "ncp", "ncp_weighted", "loss"), reason)
    asks = asked.spec.privacy
    nothing = asks.k is None and asks.l is None and not asks.models
    view = released.view(required_k(() if nothing else privacy.requirements(asked.spec)))
    block = utility(view)
    block |= {name: None for name in left_out}
    if left_out:
        block["attributes"] = _known(block["attributes"], released)
    evidence = released.evidence(asked.queries, asked.seed)
    block |= {name: measure.measure(evidence) for name, measure in MEASURES.items()}
    left_out |= _untold(released)
    report["utility"] = block
    report["left_out"] = left_out
    report["warnings"] += _warnings(released)


def _known(attributes: dict[str, Any], released: Released) -> dict[str, Any]:
    """The block of attributes, with None for what a mean or a median does not tell."""
    unknown = {released.table.attributes[at].name for at in released.summaries}
    return {
        name: figures | ({"ncp": None, "loss": None} if name in unknown else {}) for name, figures in attributes.items()
    }


def _untold(released: Released) -> dict[str, str]:
    """Targets and levels that could not be measured, and why."""
    found = {}
    told = released.targets()
    for name in released.spec.workload.target_names:
        if name not in told:
            quasi = name in released.spec.quasi_identifiers
            found[f"targets.{name}"] = (
                f"it is a quasi-identifier, and {released.why_apart}" if quasi else "it is not in the release"
            )
    if released.levels() is None:
        reason = "the cells of some quasi-identifier do not show one level of its hierarchy"
        found |= dict.fromkeys(("precision", "research_value"), reason)
    return found


def _warnings(released: Released) -> list[str]:
    pairs = zip(released.table.attributes, released.readings, strict=True)
    found = [
        f"{reading.ambiguous} texts of {attribute.name} have two meanings of different loss: see docs/evaluate.md"
        for attribute, reading in pairs
        if reading.ambiguous
    ]
    exposed = [name for name in released.spec.identifiers if name in released.frame.columns]
    return [*found, *(f"column {name} is a direct identifier, and it is in the release" for name in exposed)]
