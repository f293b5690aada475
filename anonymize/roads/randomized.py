"""The road to a randomized release: the table, and beside it the parameters that its recipient needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize import verify
from anonymize.errors import UnsafeError, UsageError
from anonymize.metrics import METRICS
from anonymize.names import parameters_beside
from anonymize.privacy import Requirement, disclosure
from anonymize.privacy.asked import disclosures
from anonymize.randomized import Randomized
from anonymize.report import Clock
from anonymize.report.data import assembled, output_block, unused, verdict_blocks
from anonymize.request import Request
from anonymize.roads.steps import check_satisfied, check_targets, publish, search, stage
from anonymize.rows import distorted_frames, row_order
from anonymize.table import OutputFile, Source, Table, read
from anonymize.verify.randomized import Bound, measure_randomized


def release(request: Request) -> dict[str, Any]:
    """Walks the road; see `anonymize.release.release`."""
    spec, clock = request.spec, Clock()
    timed = partial(stage, request, clock)
    requirements = disclosures(spec)
    beside = _parameters_path(request)
    _check(request)
    check_targets(request, [beside] if beside else [])
    with ExitStack() as stack:
        source = stack.enter_context(Source.open(spec, request.input))
        target = stack.enter_context(
            OutputFile(request.output, force=request.force, form=request.output_format, separator=source.separator)
        )
        handed = [stack.enter_context(OutputFile(path, force=request.force)) for path in [beside] if path]
        reports = [stack.enter_context(OutputFile(path, force=request.force)) for path in request.reports]

        with timed("read"):
            table = read(spec, source)
        with timed("search"):
            found = search(request, table, requirements)
            assert isinstance(found, Randomized)
        order = row_order(request, table)
        told = json.dumps(found.parameters(table.rows, source.separator), ensure_ascii=False, indent=1)
        with timed("write"):
            target.write(distorted_frames(request, table, found, target.format, order))
            for output in handed:
                output.write_text(told + "\n")
        with timed("verify"):
            text = verify.text_of(target.part, target.format, target.separator)
            original = _original(found, order)
            verdict, wrong = measure_randomized(text, original, json.loads(told), _bounds(found, requirements))
        if wrong:
            raise UnsafeError(wrong)
        check_satisfied(request, verdict)
        report = assembled(
            request,
            table,
            clock,
            output=output_block(target, verdict) | dict.fromkeys(("suppressed_rows", "suppressed_cells"), 0),
            measured=verdict_blocks(verdict),
            utility=dict.fromkeys(METRICS) | {"attributes": {}},
            recoding=found.summary(),
            warnings=_warnings(request, table, found, beside),
        )
        publish(request, source, report, reports, [*handed, target])
    return report


def _check(request: Request) -> None:
    """Raises UsageError for a release that could be undone, and would be published."""
    if request.public and request.seed is not None:
        hint = "leave --seed out: the system's random numbers are kept nowhere"
        raise UsageError(f"--public-report: a release with a --seed is not to be published ({hint})")


def _parameters_path(request: Request) -> str | None:
    """Where the recipient's parameters go: as `--parameters` says, or beside the release; None of standard output."""
    if request.options.parameters:
        return str(request.options.parameters)
    output = str(request.output)
    if output in ("-", "/dev/stdout"):
        return None
    return parameters_beside(output)


def _original(found: Randomized, order: NDArray[np.int64] | None) -> pl.DataFrame:
    """The codes before the distortion, in the order of the released rows."""
    columns = {column.name: column.original for column in found.columns}
    return pl.DataFrame({name: codes if order is None else codes[order] for name, codes in columns.items()})


def _bounds(found: Randomized, requirements: Sequence[Requirement]) -> list[Bound]:
    """What is asked, with values as codes."""
    columns = {column.name: column for column in found.columns}
    bounds = []
    for requirement in requirements:
        column, given = columns[requirement.attribute or ""], requirement.parameters
        assert isinstance(given, disclosure.Parameters)
        named = {code: given.values[text] for code, text in enumerate(column.categories.texts) if text in given.values}
        bounds.append(Bound(column.name, given.l, named, column.missing))
    return bounds


def _warnings(request: Request, table: Table, found: Randomized, beside: str | None) -> list[str]:
    warnings = [*table.warnings, *found.warnings, *unused(request)]
    if found.seeded:
        warnings.append(
            "unsafe to publish: the values were drawn with a given seed, and whoever knows it can undo them"
        )
    if beside is None:
        warnings.append("the recipient's parameters were not written: name a file with --parameters")
    if request.spec.privacy.suppression:
        warnings.append("privacy.suppression has no effect on randomize: no row is left out")
    if request.spec.sampling_weight is not None:
        warnings.append("sampling_weight has no effect on randomize: distorted quasi-identifiers tell nobody apart")
    untouched = [name for name, role in request.spec.roles().items() if role in ("insensitive", "target")]
    if untouched:
        warnings.append(f"released as they are, beside distorted columns: {', '.join(untouched)}")
    return warnings
