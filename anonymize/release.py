"""The road of the data, from a spec and a table to a release that has been verified. One direction, no way back.

spec, input ─▶ table     quasi-identifiers and sensitive attributes as codes; the rest stays on disk
table       ─▶ recoding  which rows share an equivalence class (the algorithm)
recoding    ─▶ released  how each class reads
released    ─▶ file      a temporary one, beside its target
file        ─▶ verdict   read again, measured by code that shares nothing with the search
everything  ─▶ report    privacy, risk, utility
publish                  report, saved recoding and release take their places; or none does
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from anonymize import privacy, recoding, verify
from anonymize.algorithms import ALGORITHMS, files_of, reads_workload
from anonymize.classes import Bools
from anonymize.people import with_people
from anonymize.privacy import Groups, Requirement, Whole
from anonymize.recoding import Recoding, Released
from anonymize.recoding.saved import save
from anonymize.report import Clock, Facts, release_report
from anonymize.request import Request
from anonymize.roads import ROADS
from anonymize.roads.steps import check_needs, check_satisfied, check_targets, publish, sample, search, stage
from anonymize.rows import frames
from anonymize.spec import Spec
from anonymize.table import Codes, Output, Source, Table, read

Report = dict[str, Any]


def release(request: Request) -> Report:
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
    [31-34],cook
    [31-34],cook
    [52-58],clerk
    [52-58],clerk
    >>> report["privacy"]["satisfied"], report["classes"]["min_size"]
    (True, 2)
    """
    check_needs(request)
    if (road := ROADS.get(ALGORITHMS[request.algorithm].NEEDS.family)) is not None:
        return road(request)
    spec, clock = request.spec, Clock()
    timed = partial(stage, request, clock)
    requirements = privacy.requirements(spec)
    check_targets(request)
    units: list[Codes] = []
    with ExitStack() as stack:
        source = stack.enter_context(Source.open(spec, request.input))
        target = stack.enter_context(
            Output(request.output, force=request.force, form=request.output_format, separator=source.separator)
        )
        reports = [stack.enter_context(Output(path, force=request.force)) for path in request.reports]
        kept = [stack.enter_context(Output(path, force=request.force, private=True)) for path in _saved(request)]
        asked = files_of(request.options).items()
        files = {name: stack.enter_context(Output(path, force=request.force)) for name, path in asked}

        with timed("read"):
            wanted = reads_workload(ALGORITHMS[request.algorithm], request.options)
            table = read(spec, source, workload=wanted)
        with timed("search"):
            found = search(request, table, requirements, files)
            assert isinstance(found, Recoding)
        with timed("recode"):
            drop = _must_drop(spec, table, found, requirements)
            released = recoding.render(found, table, spec.output, drop=drop)
            for output in kept:
                output.write_text(save(found, table, released, spec, request.algorithm, drop=drop).as_json())
        with timed("write"):
            target.write(frames(request, table, released, target.format, units))
        with timed("verify"), ThreadPoolExecutor(1) as aside:
            sealed = aside.submit(target.seal)
            verdict = _verify(spec, table, target, released, requirements, units)
            shown = [[column.name for column in released.columns_of(name)] for name in spec.quasi_identifiers]
            sampled = sample(request, target, shown, units)
            sealed.result()

        report = release_report(Facts(request, requirements, table, found, released, target, verdict, clock, sampled))
        check_satisfied(request, verdict)
        publish(request, source, report, reports, [target], [*kept, *files.values()])
    return report


def _saved(request: Request) -> list[str]:
    """Where the recoding is saved: nowhere, or one path."""
    return [] if request.save_recoding is None else [request.save_recoding]


def _must_drop(spec: Spec, table: Table, found: Recoding, requirements: tuple[Requirement, ...]) -> bool:
    """Whether suppressed rows are left out: because the spec says so, or because as a class they would not be safe.

    The other classes are measured with them: published rows count in what the distributions are compared with. Where
    there is a population, everybody in it is under them, and they are left out.
    """
    rows = found.suppressed
    if spec.output.suppressed_rows == "drop" or not len(rows):
        return spec.output.suppressed_rows == "drop"
    if table.populations:
        return True
    published = _passing(table, found, requirements, withheld=False)
    kept = _passing(table, found, requirements, withheld=True)
    return not published[-1] or bool((kept & ~published[:-1]).any())


def _passing(table: Table, found: Recoding, requirements: tuple[Requirement, ...], *, withheld: bool) -> Bools:
    """(classes + 1,) whether each class is safe, that of the suppressed rows last: these are published or withheld."""
    partition = found.partition
    class_of = partition.class_of(table.rows)
    class_of[found.suppressed] = partition.count
    columns = [column for column in table.sensitive if any(each.attribute == column.name for each in requirements)]
    released = partition.order if withheld else None
    wholes = {column.name: Whole.of(column, released, table.units) for column in columns}
    groups = Groups.of_rows(columns, class_of, partition.count + 1, wholes=wholes, units=table.units)
    if withheld:
        groups = groups.subset(np.arange(partition.count + 1) < partition.count)
    return privacy.check(groups, requirements)


def _checks(spec: Spec, table: Table, requirements: tuple[Requirement, ...]) -> list[verify.Check]:
    """What the release is checked for, with the hierarchies of sensitive attributes where a distance needs one."""
    checks = verify.checks_of(spec, requirements)
    asked = {check.attribute for check in checks if check.needs_tree}
    trees = {column.name: column.paths for column in table.sensitive if column.name in asked}
    return [replace(check, tree=trees.get(check.attribute or "")) for check in checks]


def _verify(
    spec: Spec,
    table: Table,
    target: Output,
    released: Released,
    requirements: tuple[Requirement, ...],
    units: list[Codes],
) -> verify.Verdict:
    """The file as it was written, measured from its text; `units`: whom its rows are about, which it does not tell."""
    shown = {name: [column.name for column in released.columns_of(name)] for name in spec.quasi_identifiers}
    with ExitStack() as opened:
        return verify.measure(
            verify.text_of(target.part, target.format, target.separator),
            [column.name for column in released.columns],
            with_people(spec, _checks(spec, table, requirements), shown, opened),
            spec.input.missing,
            suppressed=spec.output.suppressed,
            null_missing=target.format not in verify.CSV or "" in spec.input.missing,
            missing_as=spec.privacy.missing,
            units=None if table.units is None else pl.Series(np.concatenate(units)),
        )
