"""What the `evaluate` command does: a release next to its original, and what the recipient can still do with it.

spec, original ─▶ table      with the targets and selections of the workload
release        ─▶ classes    its text read as regions, whoever made it; or as groups, or as values of channels
both           ─▶ utility    the metrics of a report, and those that need the original
both           ─▶ models     trained on the release and on the original, on request
both           ─▶ patterns   first splits of a decision tree on either, on request

Nothing is judged: whether a release is safe, `anonymize.audit` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from functools import partial
from typing import Any

import polars as pl

from anonymize.auditing import undivided
from anonymize.channels.estimate import Method
from anonymize.classes import Ints
from anonymize.errors import Caution, Problem, UsageError, of_file, refuse
from anonymize.evaluation import RegionRows, read_released
from anonymize.evaluation.invented import UNPAID, InventedTable
from anonymize.evaluation.patterns import TreePlan
from anonymize.evaluation.patterns import compare as compare_trees
from anonymize.evaluation.unclassed import blocks, opened_release
from anonymize.fidelity import DISTRIBUTIONS, fidelity, total_variation
from anonymize.link import linked_rows
from anonymize.meaning import Manifest
from anonymize.meaning.manifest import refuse_tables
from anonymize.metrics import METRICS, undefined, utility
from anonymize.metrics.measures import MEASURES
from anonymize.metrics.queries import Queries, QueryPlan, drawn, listed
from anonymize.modelling import Protocol, evaluate_models
from anonymize.parallel import pool_of
from anonymize.privacy import requirements_if_any
from anonymize.publication import Paths, named_by, opened, report_files
from anonymize.reading import SourceTexts, columns_of, read_file
from anonymize.records import dataclass
from anonymize.report import Clock, data, published
from anonymize.report.head import head, spec_path, table_block
from anonymize.report.public import public_evaluation
from anonymize.request import Companions, Progress
from anonymize.spec import Spec, patterns, resolve
from anonymize.spec.load import load_queries
from anonymize.table import Source, Table, read, roles
from anonymize.treatments.plan import changed_columns, changed_kept
from anonymize.verify.risk import classes_block

OF_INVENTED = undefined({**METRICS, **MEASURES, **DISTRIBUTIONS}, {"invented"})
"""What is not measured of invented rows, and why."""


@dataclass(frozen=True)
class Evaluate(Companions):
    """What `evaluate` was asked for.

    `released`: path of the release; None where models are made with an algorithm instead. `original`: path, None for
    the spec's. `reports`: paths, the kind by suffix. `queries`: how many random ones; `seed` of these; `query_plan`:
    which ones, but for these two; `query_file`: of a list of queries in their place. `method`: how channels are
    undone. `models`: how models are made, None for none. `tree`: how trees are grown of which patterns are
    compared. `threads`: by how many of them it is measured. `public`: the report is made from the release, the spec and
    the hierarchies alone, and no original is read.
    """

    spec: Spec
    released: str | None = None
    original: str | None = None
    reports: Sequence[str] = ()
    queries: int = 1000
    query_plan: QueryPlan = field(default_factory=QueryPlan)
    query_file: str | None = None
    seed: int = 0
    method: Method | None = None
    models: Protocol | None = None
    tree: TreePlan | None = None
    threads: int = 1
    public: bool = False
    force: bool = False
    progress: Progress = field(default=lambda stage, count, total: None)


def evaluate(request: Evaluate) -> dict[str, Any]:
    """Measures; returns the report. What is written to `reports` leaves out its block `tree`, which shows values.

    Raises UsageError, DataError and WriteError for the request, the tables, and the outputs; then nothing has been
    written.
    """
    refuse_tables(request.released)
    paths = Paths(request.original, reports=request.reports, force=request.force)
    _check(request, paths)
    manifest = _manifest(request)
    if request.public:
        return _published(request, manifest)
    clock = Clock()
    with ExitStack() as stack:
        files = stack.enter_context(opened(request.spec, paths))
        request = replace(request, spec=resolve(request.spec, files.source.columns))
        request.progress("read", 0, 0)
        classed = _has_classes(request.spec, manifest)
        coming = stack.enter_context(_coming(request)) if classed else None
        table = read(request.spec, files.source, workload=True)
        report = _head(request, table, clock)
        report["warnings"] += manifest.remarks
        released = None
        if manifest.changed and request.released is not None:
            report |= _of_changed(request, manifest, files.source)
        invented = None
        if request.released is not None and manifest.synthetic is not None:
            invented, report["output"] = _invented(request, table, request.released, stack)
            report |= invented.blocks(_queries(request, table)) | {"left_out": OF_INVENTED}
            report["warnings"].append(UNPAID)
        elif request.released is not None and (manifest.channels or manifest.detached is not None):
            unclassed = opened_release(manifest, request.method, request.spec, table, request.released, stack)
            request.progress("measure", 0, 0)
            report |= blocks(unclassed, table, _queries(request, table))
        elif coming is not None:
            released, report["output"] = _opened(request, coming(), table)
            _measure(request, released, report)
        if request.models is not None:
            training = None if invented is None else invented.training
            report["models"] = evaluate_models(
                request.spec, table, released, request.models, request.progress, training
            )
            report["warnings"] += report["models"].pop("warnings")
        tree = None if request.tree is None or released is None else compare_trees(released, request.tree)
        files.publish(report)
    return report if tree is None else report | {"tree": tree}


def _published(request: Evaluate, manifest: Manifest) -> dict[str, Any]:
    """The public report, written to `reports`. Raises DataError for a release that cannot be read or lacks a column."""
    read_files = [request.released, request.st, request.manifest, *named_by(request.spec)]
    with (
        report_files(request.reports, force=request.force, inputs=read_files) as publish,
        Source.open(request.spec.of_release(), request.released) as source,
    ):
        source.check()
        spec = resolve(request.spec.of_release(), undivided(request.spec, source.columns))
        columns_of(spec, source.columns, source.name)
        roles.refuse_lacking([] if manifest.detached is None else [manifest.detached.by], source.columns, source.name)
        hidden = spec if spec.hides else None
        file = published.PublishedFile(source.path, source.format, source.separator, source.sha256, hidden)
        report = public_evaluation(published.Published([file], spec, manifest))
        report["left_out"] |= dict.fromkeys(MEASURES, "it needs the original, which a public report must not use")
        report["warnings"] = [*_about_units(request), *_exposed(spec, source.columns), *manifest.remarks]
        publish(report)
    return report


def _check(request: Evaluate, paths: Paths) -> None:
    """Raises UsageError for what makes no sense together."""
    if request.public:
        _check_public(request)
    if request.released == request.original == "-":
        raise UsageError("the release and the original cannot both come from standard input")
    paths.check([request.original or request.spec.input.path, request.released, request.link])
    if request.released is None and (request.models is None or request.models.algorithm is None):
        hint = "or --models with --algorithm, to make one"
        raise UsageError(Problem("nothing to evaluate: give the release", hint=hint))
    if request.released is None:
        given = {"--tree": request.tree, "--link": request.link}
        refuse({f"{flag}: needs a release": value is not None for flag, value in given.items()})
    targets = request.spec.workload.target_names
    if request.models is not None and not targets:
        hint = "list what is to be predicted under workload: {targets: [...]}"
        raise UsageError(Problem("--models needs a target, and the spec names none", hint=hint))
    if request.tree is not None and request.tree.target not in targets:
        hint = f"targets: {', '.join(targets)}" if targets else "list it under workload: {targets: [...]}"
        raise UsageError(Problem(f"--tree {request.tree.target}: is not a target of the spec", hint=hint))


def _check_public(request: Evaluate) -> None:
    """Raises UsageError for what takes the original, or shows values."""
    given = {
        "--models": request.models,
        "--tree": request.tree,
        "--link": request.link,
        "--query-file": request.query_file,
    }
    reasons = {flag: value is not None for flag, value in given.items()}
    refuse(reasons, by="--public-report: has nothing of ", hint="it is made only from the release")


def _manifest(request: Evaluate) -> Manifest:
    """What the columns of the release mean. Raises UsageError for what nothing reads, and for what needs classes."""
    spec = request.spec
    if request.released is None:
        return Manifest.of_spec(spec)
    manifest = Manifest.of(spec, request.released, manifest=request.manifest, st=request.st, group=request.group)
    if manifest.synthetic is None:
        manifest.check_read([*spec.quasi_identifiers, *spec.sensitive, *spec.workload.target_names], "measured")
    manifest.check_method(request.method, grouped=request.st is not None or request.group is not None)
    if not manifest.spans or not spec.quasi_identifiers:
        needing_classes = {
            "--models": request.models is not None and manifest.synthetic is None,
            "--tree": request.tree is not None,
            "--link": request.link is not None and not manifest.changed,
        }
        refuse({f"{flag}: needs a release with equivalence classes": given for flag, given in needing_classes.items()})
    return manifest


def _has_classes(spec: Spec, manifest: Manifest) -> bool:
    """Whether rows that read the same in the quasi-identifiers are a class, as these show what is true of the row."""
    quasi = spec.quasi_identifiers.keys()
    return manifest.spans and bool(quasi) and not manifest.replaced.keys() & quasi


def _head(request: Evaluate, table: Table, clock: Clock) -> dict[str, Any]:
    return {
        **head(clock),
        "spec": spec_path(request.spec),
        "input": table_block(table.source, table.rows),
        "seed": request.seed,
        "warnings": _about_units(request),
    }


def _about_units(request: Evaluate) -> list[Caution]:
    """That rows are counted where a report counts individuals."""
    unit = request.spec.unit
    if unit is None or request.released is None:
        return []
    said = f"rows are counted, not individuals: the spec has the unit {unit}, which a release does not show"
    return [Caution.of(said, "the report that was written with the release counts individuals: `-r report.html`")]


def _of_changed(request: Evaluate, manifest: Manifest, original: Source) -> dict[str, Any]:
    """The blocks `numbers` and `categories`: what is left of columns that steps of `treatments` have changed. Rows are
    matched by the link, where there is one."""
    with Source.open(request.spec.of_release(), request.released) as source:
        source.check()
        roles.refuse_lacking(request.spec.treated, source.columns, source.name)
        before, rows = changed_columns(request.spec, original.scan()), _linked(request, original, source)
        after = changed_columns(request.spec, source.scan())
        before = before if rows is None else before[rows]
        kept = changed_kept(request.spec, manifest.changed, before, after, matched=rows is not None)
        return kept | {"output": {"path": source.name, "sha256": source.sha256, "rows": source.rows}}


@contextmanager
def _coming(request: Evaluate) -> Iterator[Callable[[], SourceTexts] | None]:
    """What waits for the text of the release, which with several threads is read at the same time as the original; None
    where there is none. Whatever goes wrong with the original is raised first, and the release is closed after it has
    been read."""
    if request.released is None:
        yield None
        return
    with ExitStack() as stack:
        work = partial(read_file, request.spec, request.released, stack)
        if request.threads < 2:
            yield work
            return
        with pool_of(1) as pool:
            yield pool.submit(work).result


def _opened(request: Evaluate, file: SourceTexts, table: Table) -> tuple[RegionRows, dict[str, Any]]:
    source, linked = file.source, _linked(request, table.source, file.source)
    with of_file(source.name):
        spec = request.spec.of_release()
        released = read_released(spec, table, file.texts, file.columns, linked, request.threads)
    output = {
        "path": source.name,
        "sha256": source.sha256,
        "rows": source.rows,
        "suppressed_rows": released.suppressed_rows,
        "dropped_rows": table.rows - file.rows,
    }
    return released, output


def _invented(request: Evaluate, table: Table, path: str, stack: ExitStack) -> tuple[InventedTable, dict[str, Any]]:
    file = read_file(request.spec, path, stack, invented=True)
    request.progress("measure", 0, 0)
    output = {"path": file.source.name, "sha256": file.source.sha256, "rows": file.rows}
    return InventedTable(request.spec, table, file.texts), output


def _linked(request: Evaluate, original: Source, source: Source) -> Ints | None:
    """(released rows,) the row of the original that each released row is, by the link."""
    path = request.link
    return None if path is None else linked_rows(path, input=original.sha256, release=source.sha256)


def _queries(request: Evaluate, table: Table) -> Queries:
    """The COUNT queries. Raises SpecError and UsageError for those that make no sense of this spec."""
    if request.query_file is None:
        queries = drawn(table, replace(request.query_plan, number=request.queries, seed=request.seed))
    else:
        selections = load_queries(request.spec, request.query_file)
        queries = listed(request.spec, table, selections, request.query_plan.bound)
    return replace(queries, threads=request.threads)


def _measure(request: Evaluate, released: RegionRows, report: dict[str, Any]) -> None:
    """Adds the blocks `classes`, `utility` and `left_out`."""
    request.progress("measure", 0, 0)
    sizes = released.partition.sizes[~released.suppressed]
    report["classes"] = classes_block(pl.Series(sizes))
    report["rows_correspond"] = released.why_apart is None
    view = released.view(data.required_size(requirements_if_any(request.spec)))
    block = utility(view)
    names = [released.table.attributes[index].name for index in released.summaries]
    reason = f"{', '.join(names)}: one number per class does not show what was lost, and {released.why_apart}"
    left_out = {name: reason for name in METRICS if _unknown(block[name])}
    block |= dict.fromkeys(left_out)
    for column, figures in block["attributes"].items():
        figures |= {name: None for name, value in figures.items() if _unknown(value)}
        if (step := request.spec.treated.get(column)) is not None:
            figures["changed_by"] = step.method
    evidence = released.evidence(_queries(request, released.table))
    with pool_of(request.threads) as pool:
        measured = {name: pool.submit(measure.measure, evidence) for name, measure in MEASURES.items()}
        block |= {name: each.result() for name, each in measured.items()}
    left_out |= _unmeasured(released)
    report["utility"] = block
    smallest = max(data.required_size(requirements_if_any(request.spec)), data.LEAST_COUNT)
    sides = released.sides()
    sensitive = [each for each in sides.passing if each.name in released.spec.sensitive]
    report |= fidelity(replace(sides, passing=sensitive), smallest, values=False) | {
        "variation": total_variation(sides)
    }
    report["left_out"] = left_out
    report["warnings"] += _warnings(released)


def _unknown(figure: float | None) -> bool:
    """Whether a mean or a median leaves the loss open."""
    return figure is not None and math.isnan(figure)


def _unmeasured(released: RegionRows) -> dict[str, str]:
    """Targets and levels that could not be measured, and why."""
    reasons = {}
    targets = released.targets()
    for name in released.spec.workload.target_names:
        if name not in targets:
            quasi = name in released.spec.quasi_identifiers
            reasons[f"targets.{name}"] = (
                f"it is a quasi-identifier, and {released.why_apart}" if quasi else "it is not in the release"
            )
    if released.levels() is None:
        reason = "the cells of some quasi-identifier do not show one level of its hierarchy"
        reasons |= dict.fromkeys(("precision", "research_value"), reason)
    return reasons


def _warnings(released: RegionRows) -> list[Caution]:
    pairs = zip(released.table.attributes, released.regions, strict=True)
    ambiguous = [
        Caution.of(
            f"{regions.ambiguous} texts of {attribute.name} have two meanings of different loss",
            "give the nodes of its hierarchy other names than its values (docs/evaluate.md)",
        )
        for attribute, regions in pairs
        if regions.ambiguous
    ]
    return [*ambiguous, *_exposed(released.spec, released.frame.columns)]


def _exposed(spec: Spec, present: Collection[str]) -> list[Caution]:
    return [patterns.withheld(spec, name, "the release") for name in spec.identifiers if name in present]
