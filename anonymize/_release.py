"""The road of the data, from a spec and a table to a release that has been verified. One direction, no way back.

spec, input ─▶ table     quasi-identifiers and sensitive attributes as codes; the rest stays on disk
table       ─▶ changes   what steps of `treatments` make of single columns, where the spec has any
table       ─▶ result    which rows share an equivalence class, or a group, or what is drawn (the algorithm)
result      ─▶ draft     how each row reads (the family of the algorithm: `anonymize.families`)
draft       ─▶ files     temporary ones, next to their targets (`anonymize.publication`)
files       ─▶ verdict   read again, measured by code that shares nothing with the search (`anonymize.verify`)
files       ─▶ trial     the attackers that the spec names are tried on them (`anonymize._attack`)
everything  ─▶ report    privacy, risk, utility; a public one is made from the files alone (`anonymize.report.public`)
publish                  report, private files and release take their places; or none does
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from anonymize.algorithms import ALGORITHMS, files_of, reads_workload
from anonymize.errors import AnonymizeError, Caution
from anonymize.families import Draft, checks, draft_of, release_paths, steps
from anonymize.link import SAVE_LINK, link_of
from anonymize.publication import SAVE_RECODING, SAVE_RISK, Files, Paths, named_by, opened
from anonymize.report import Clock, public, release_report
from anonymize.request import Request
from anonymize.series import Following, following
from anonymize.spec import resolve
from anonymize.table import Source, Table, read, scratch
from anonymize.table.read import read_public
from anonymize.treatments.plan import TreatedTable, treat

if TYPE_CHECKING:
    from anonymize._attack import AttackTrial


def release(request: Request) -> dict[str, Any]:
    """Walks the road; returns the report that was published.

    Raises what is wrong as an AnonymizeError; then nothing has been written. UnsafeError: the release was made,
    measured and found not to meet its requirements.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from anonymize.privacy import PARAMETERS
    >>> from anonymize.spec import make
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "table.csv").write_text("age,job\\n31,cook\\n34,cook\\n52,clerk\\n58,clerk\\n")
    >>> content = {"version": 1, "input": {"path": str(folder / "table.csv")}, "privacy": {"k": 2}}
    >>> spec = make(content | {"quasi_identifiers": {"age": {"type": "numeric"}}, "insensitive": ["job"]}, PARAMETERS)
    >>> options = ALGORITHMS["mondrian"].Options()
    >>> report = release(Request(spec, "mondrian", options, output=str(folder / "released.csv"), threads=1))
    >>> print((folder / "released.csv").read_text(), end="")
    age,job
    34-,cook
    34-,cook
    52+,clerk
    52+,clerk
    >>> report["privacy"]["satisfied"], report["classes"]["min_size"]
    (True, 2)
    """
    checks.check_request(request)
    try:
        return _walked(request)
    except steps.Rehearsal as rehearsal:
        return rehearsal.report


def _walked(request: Request) -> dict[str, Any]:
    """The road itself."""
    family, clock, paths, charging = draft_of(request.algorithm), Clock(), _paths(request), steps.Charging.of(request)
    with following(request) as series, opened(request.spec, paths) as files:
        files = series.begin(files)
        spec = resolve(series.request.spec, files.source.columns).of_types(files.source.numeric)
        request = replace(request, spec=spec)
        requirements, room = family.required(spec), steps.room_for(request, files.source)
        timed = partial(steps.stage, request, clock, room=room)
        with timed("read"):
            table = _table(request, files.source, room)
        table, treated = _treated(request, table, timed)
        charged = partial(charging.before_draw, files.source.sha256)
        derived = steps.deriving(request, files.source, table)
        with timed("search"):
            run = partial(steps.search, files=files.further, by_parts=room.in_files, before_draw=charged)
            result = series.search(request, table, requirements, run)
        with timed("recode"):
            table = series.named(table)
            draft = family.of(request, requirements, table, result).moved_to(room.arrays)
            del result
        with timed("write"):
            draft.write(files)
            steps.write_manifest(files, manifest := treated.manifest(draft.manifest(files)))
            _write_private(request, series, files, table, draft)
        with timed("verify"), files.sealing():
            measured = steps.with_claim(draft, steps.with_derived(draft, draft.measure(files), derived))
            changes = treated.measured(draft.table_text(files), draft.written.rows)
        steps.check_satisfied(request, measured.verdict)
        trial = _tried(request, files, table, draft)
        series.check(draft, files)
        bill = charging.beside(steps.local_epsilons(draft.local, treated.meanings), files.source.sha256)
        if request.public:
            report = public.public_report(steps.published(request, files, manifest))
        else:
            report = release_report(request, table, clock, steps.with_sample(draft, files, measured)) | series.block()
            report = _with_nearness(report | treated.blocks(changes) | bill.block, request, files, draft)
        request.progress("publish", 0, 0)
        report = report if trial is None else trial.added(report)
        report["warnings"] += [*manifest.remarks, *treated.warnings(changes, public=request.public), *bill.said]
        files.publish(report, bill.committing(series.commit), dry_run=request.dry_run)
    return report


def _with_nearness(report: dict[str, Any], request: Request, files: Files, draft: Draft) -> dict[str, Any]:
    """The private report, with how near invented rows are to the original where the report is kept. The table has been
    drawn and paid for by then: what goes wrong is a warning."""
    if draft.invented is None or not request.reports:
        return report
    from anonymize.evaluation.invented import UNPAID, InventedTable
    from anonymize.metrics.queries import QueryPlan, drawn

    try:
        table = read(request.spec, files.source, workload=True)
        near = InventedTable(request.spec, table, draft.invented).blocks(drawn(table, QueryPlan()))
    except AnonymizeError:
        unread = Caution.of("how near the table is to its original was not measured", "`evaluate` says why")
        return {**report, "warnings": [*report["warnings"], unread]}
    return {**report, **near, "warnings": [*report["warnings"], UNPAID]}


def _table(request: Request, source: Source, room: scratch.Room) -> Table:
    """The input as the algorithm needs it."""
    algorithm = ALGORITHMS[request.algorithm]
    if algorithm.NEEDS.domains:
        return read_public(request.spec, source, room)
    workload, at_levels = reads_workload(algorithm, request.options), not algorithm.NEEDS.levels
    return read(request.spec, source, workload=workload, room=room, at_levels=at_levels)


def _treated(
    request: Request, table: Table, timed: Callable[[str], AbstractContextManager[None]]
) -> tuple[Table, TreatedTable]:
    """The table with the columns that the steps of `treatments` change; a stage of its own where there are any."""
    if not request.spec.treatments:
        return table, TreatedTable(table, request.spec)
    from anonymize.key import load

    key = None if request.key is None else load(request.key).secret
    with timed("treat"):
        treated = treat(request.spec, table, seed=request.seed, key=key, limit=request.memory_limit)
    return treated.table, treated


def _tried(request: Request, files: Files, table: Table, draft: Draft) -> AttackTrial | None:
    """What the attackers that the spec names made of the release; None, and their room not imported, without any."""
    if not request.spec.risk.attacks:
        return None
    from anonymize._attack import try_release

    return try_release(request, files, table, draft)


def _write_private(request: Request, series: Following, files: Files, table: Table, draft: Draft) -> None:
    """The private files about rows, where they are asked for: the risk of those of the input; the link of the released
    ones to them, of which a series keeps one."""
    steps.write_risks(request, files, table, draft)
    if SAVE_LINK in files.private or request.in_series:
        link = series.linked(link_of(files.source, table.rows, files.table.sha256, draft.written.rows))
        if SAVE_LINK in files.private:
            files.private[SAVE_LINK].write_text(link.text(files.private[SAVE_LINK].name))


def _paths(request: Request) -> Paths:
    """Where the request reads and writes. Raises UsageError as `Paths.check` does."""
    private = {SAVE_RECODING: request.save_recoding, SAVE_LINK: request.save_link, SAVE_RISK: request.save_risk}
    paths = Paths(
        request.input,
        release_paths(request),
        request.reports,
        private={option: path for option, path in private.items() if path is not None},
        further=files_of(request.options),
        state=request.start_series or request.after,
        starts=request.start_series is not None,
        output_format=request.output_format,
        force=request.force,
    )
    inputs = [request.input or request.spec.input.path, request.key, request.budget]
    paths.check(inputs, named_by(request.spec))
    return paths
