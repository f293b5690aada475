"""The road of the data, from a spec and a table to a release that has been verified. One direction, no way back.

spec, input ─▶ table     quasi-identifiers and sensitive attributes as codes; the rest stays on disk
table       ─▶ recoding  which rows share an equivalence class (the algorithm)
recoding    ─▶ released  how each class reads
released    ─▶ file      a temporary one, beside its target
file        ─▶ verdict   read again, measured by code that shares nothing with the search
everything  ─▶ report    privacy, risk, utility
publish                  report and release take their places; or neither does
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np

from anonymize import privacy, recoding, verify
from anonymize.algorithms import ALGORITHMS, Context
from anonymize.errors import Problem, UnsafeError, UsageError
from anonymize.privacy import Groups, Histogram, Requirement
from anonymize.recoding import Recoding, Released
from anonymize.report import RENDERERS, Clock, Facts, kind_of, release_report
from anonymize.request import Request
from anonymize.rows import frames
from anonymize.spec import Spec
from anonymize.table import Output, Source, Table, commit, read

Report = dict[str, Any]


def release(request: Request) -> Report:
    """Walks the road; returns the report that was published.

    Raises what is wrong as an AnonymizeError; then nothing has been written. UnsafeError: the release was made,
    measured and found not to meet its requirements.
    """
    spec, clock = request.spec, Clock()
    stage = partial(_stage, request, clock)
    requirements = privacy.requirements(spec)
    _check_targets(request)
    with ExitStack() as stack:
        source = stack.enter_context(Source.open(spec, request.input))
        target = stack.enter_context(
            Output(request.output, force=request.force, form=request.output_format, separator=source.separator)
        )
        reports = [stack.enter_context(Output(path, force=request.force)) for path in request.reports]

        with stage("read"):
            table = read(spec, source)
        with stage("search"):
            found = _search(request, table, requirements)
        with stage("recode"):
            released = recoding.render(found, table, spec.output, drop=_must_drop(spec, table, found, requirements))
        with stage("write"):
            target.write(frames(request, table, released, target.format))
        with stage("verify"), ThreadPoolExecutor(1) as aside:
            sealed = aside.submit(target.seal)
            verdict = _verify(spec, target, released, requirements)
            sealed.result()

        report = release_report(Facts(request, requirements, table, found, released, target, verdict, clock))
        if not verdict.satisfied and not request.allow_unsafe:
            raise UnsafeError(_unmet(verdict))
        for output in reports:
            output.write_text(RENDERERS[kind_of(output.name)](report))
        source.unchanged()
        request.progress("publish", 0, 0)
        commit([*reports, *([] if request.dry_run else [target])])
    return report


@contextmanager
def _stage(request: Request, clock: Clock, name: str) -> Iterator[None]:
    """One stage of the road: timed, and told to whoever watches. How long it will be, only some stages know."""
    request.progress(name, 0, 0)
    with clock(name):
        yield


def _search(request: Request, table: Table, requirements: tuple[Requirement, ...]) -> Recoding:
    done = 0

    def progress(rows: int) -> None:
        nonlocal done
        done += rows
        request.progress("search", done, table.rows)

    limit = int(np.floor(request.spec.privacy.suppression * table.rows + 1e-9))
    refining = partial(request.progress, "refine")
    context = Context(limit, request.seed, request.threads, progress, refining, request.force)
    return ALGORITHMS[request.algorithm].run(table, requirements, request.options, context)


def _must_drop(spec: Spec, table: Table, found: Recoding, requirements: tuple[Requirement, ...]) -> bool:
    """Whether suppressed rows are left out: because the spec says so, or because as a class they would not be safe."""
    rows = found.suppressed
    if spec.output.suppressed_rows == "drop" or not len(rows):
        return spec.output.suppressed_rows == "drop"
    one = np.zeros(len(rows), np.int64)
    histograms = {
        column.name: Histogram.from_rows(one, column.codes[rows], 1, column.size, column.missing, column.values)
        for column in table.sensitive
    }
    return not privacy.check(Groups(np.array([len(rows)]), histograms), requirements).all()


def _verify(spec: Spec, target: Output, released: Released, requirements: tuple[Requirement, ...]) -> verify.Verdict:
    """The file as it was written, measured from its text."""
    return verify.measure(
        verify.text_of(target.part, target.format, target.separator),
        [column.name for column in released.columns],
        verify.checks_of(spec, requirements),
        spec.input.missing,
        suppressed=spec.output.suppressed,
        null_missing=target.format not in verify.CSV or "" in spec.input.missing,
    )


def _check_targets(request: Request) -> None:
    """Raises UsageError for a report of no known kind, and for two files, input or output, that are one."""
    for path in request.reports:
        kind_of(path)
    given = request.input or request.spec.input.path
    paths = [str(path) for path in (given, request.output, *request.reports) if path is not None and str(path) != "-"]
    files = [os.path.realpath(path) for path in paths]
    twice = [path for at, path in enumerate(paths) if files[at] in files[:at]]
    if twice:
        raise UsageError([f"{path}: is given twice, as an input or an output" for path in twice])


def _unmet(verdict: verify.Verdict) -> list[Problem]:
    hint = "nothing was written; --allow-unsafe writes it all the same"
    return [Problem(str(result), hint=hint) for result in verdict.results if result.satisfied is False]
