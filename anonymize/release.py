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

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from anonymize import privacy, recoding, verify
from anonymize.algorithms import ALGORITHMS
from anonymize.privacy import Groups, Histogram, Requirement
from anonymize.recoding import Recoding, Released
from anonymize.report import Clock, Facts, release_report
from anonymize.request import Request
from anonymize.roads import ROADS
from anonymize.roads.steps import check_satisfied, check_targets, publish, search, stage
from anonymize.rows import frames
from anonymize.spec import Spec
from anonymize.table import Output, Source, Table, read

Report = dict[str, Any]


def release(request: Request) -> Report:
    """Walks the road; returns the report that was published.

    Raises what is wrong as an AnonymizeError; then nothing has been written. UnsafeError: the release was made,
    measured and found not to meet its requirements.
    """
    if (road := ROADS.get(ALGORITHMS[request.algorithm].NEEDS.family)) is not None:
        return road(request)
    spec, clock = request.spec, Clock()
    timed = partial(stage, request, clock)
    requirements = privacy.requirements(spec)
    check_targets(request)
    with ExitStack() as stack:
        source = stack.enter_context(Source.open(spec, request.input))
        target = stack.enter_context(
            Output(request.output, force=request.force, form=request.output_format, separator=source.separator)
        )
        reports = [stack.enter_context(Output(path, force=request.force)) for path in request.reports]

        with timed("read"):
            table = read(spec, source)
        with timed("search"):
            found = search(request, table, requirements)
            assert isinstance(found, Recoding)
        with timed("recode"):
            released = recoding.render(found, table, spec.output, drop=_must_drop(spec, table, found, requirements))
        with timed("write"):
            target.write(frames(request, table, released, target.format))
        with timed("verify"), ThreadPoolExecutor(1) as aside:
            sealed = aside.submit(target.seal)
            verdict = _verify(spec, target, released, requirements)
            sealed.result()

        report = release_report(Facts(request, requirements, table, found, released, target, verdict, clock))
        check_satisfied(request, verdict)
        publish(request, source, report, reports, [target])
    return report


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
