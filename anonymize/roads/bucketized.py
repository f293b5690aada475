"""The road to a bucketized release: quasi-identifiers with groups, and the sensitive values of each group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from anonymize import verify
from anonymize.bucketized import Bucketized
from anonymize.errors import UsageError
from anonymize.metrics import View, utility
from anonymize.names import pair_of
from anonymize.privacy import Requirement
from anonymize.privacy.asked import diversities
from anonymize.report import Clock
from anonymize.report.data import assembled, output_block, unused, verdict_blocks
from anonymize.request import Request
from anonymize.risk import merged
from anonymize.roads.steps import check_satisfied, check_targets, publish, sample, search, stage
from anonymize.rows import null_text, passing_column, pieces
from anonymize.table import OutputFile, Source, Table, read
from anonymize.verify.bucketized import Reading, measure_bucketized


def release(request: Request) -> dict[str, Any]:
    """Walks the road; see `anonymize.release.release`."""
    spec, clock = request.spec, Clock()
    timed = partial(stage, request, clock)
    requirements = diversities(spec)
    names = _targets(request)
    check_targets(request, names[1:])
    with ExitStack() as stack:
        source = stack.enter_context(Source.open(spec, request.input))
        opened = partial(OutputFile, force=request.force, form=request.output_format, separator=source.separator)
        targets = [stack.enter_context(opened(name)) for name in names]
        reports = [stack.enter_context(OutputFile(path, force=request.force)) for path in request.reports]

        with timed("read"):
            table = read(spec, source)
        with timed("search"):
            found = search(request, table, requirements)
            assert isinstance(found, Bucketized)
        with timed("write"):
            targets[0].write(_frames(request, table, found, targets[0].format))
            for target in targets[1:]:
                empty = null_text(spec, source.format, target.format)
                target.write(iter([found.sensitive_table(table.sensitive[0], empty if empty == "" else None)]))
        with timed("verify"):
            verdict = _verify(request, targets, requirements)
            sampled = sample(request, targets[0], [[name] for name in spec.quasi_identifiers])
        blocks = verdict_blocks(verdict)
        check_satisfied(request, verdict)
        report = assembled(
            request,
            table,
            clock,
            output=_output(targets, verdict, found),
            measured=blocks | {"risk": merged(blocks["risk"], sampled)},
            utility=_utility(table, found),
            recoding=found.summary(),
            warnings=_warnings(request, table, found),
        )
        publish(request, source, report, reports, targets)
    return report


def _targets(request: Request) -> list[str]:
    """The names of the files. Raises UsageError for two files on standard output."""
    output = str(request.output)
    if request.options.joined:
        return [output]
    if output in ("-", "/dev/stdout"):
        raise UsageError("two files cannot go to standard output: give --output, or --joined for one file")
    return list(pair_of(output))


def _frames(request: Request, table: Table, found: Bucketized, form: str) -> Iterator[pl.DataFrame]:
    """The table in pieces, with the column of groups (from 1) behind all others.

    Of two files it has no sensitive attribute; of one it has the text of another row of the group.
    """
    null = null_text(request.spec, table.source.format, form)
    (column,) = table.sensitive
    released = [name for name in table.columns if name not in request.spec.identifiers]
    passing = [name for name in released if name != column.name]
    mixed = _mixed_texts(table, found) if found.joined else None
    done = 0
    for batch in pieces(request, table, passing):
        group = found.group[batch.rows]
        shown = {name: passing_column(batch.frame[name], null) for name in passing}
        if mixed is not None:
            shown[column.name] = passing_column(mixed.gather(np.maximum(found.mixed[batch.rows], 0)), null)
        columns = [shown[name].alias(name) for name in released if name in shown]
        yield pl.DataFrame([*columns, pl.Series(found.name, group + 1)]).filter(pl.Series(group >= 0))
        done += len(group)
        request.progress("write", done, table.rows)


def _mixed_texts(table: Table, found: Bucketized) -> pl.Series:
    """The sensitive column as it came."""
    name = table.sensitive[0].name
    return pl.concat([batch[name] for batch in table.source.batches([name])])


def _verify(request: Request, targets: Sequence[OutputFile], requirements: tuple[Requirement, ...]) -> verify.Verdict:
    """The files as they were written, measured from their text."""
    spec = request.spec
    frames = [verify.text_of(target.part, target.format, target.separator) for target in targets]
    return measure_bucketized(
        frames[0],
        frames[1] if len(frames) > 1 else None,
        list(spec.quasi_identifiers),
        verify.checks_of(spec, requirements),
        Reading(request.options.group, spec.input.missing, spec.missing(targets[0].format).null),
    )


# --- the report ------------------------------------------------------------------------------------------------------


def _output(targets: Sequence[OutputFile], verdict: verify.Verdict, found: Bucketized) -> dict[str, Any]:
    block = output_block(targets[0], verdict)
    block |= {"suppressed_rows": found.left_out, "dropped_rows": found.left_out, "suppressed_cells": 0}
    files = {"sensitive_path": targets[1].name, "sensitive_sha256": targets[1].sha256} if len(targets) > 1 else {}
    return block | files


def _utility(table: Table, found: Bucketized) -> dict[str, Any]:
    """The quasi-identifiers lose nothing but the rows that are left out; what is lost is how values go together."""
    nothing = [np.zeros(found.count) for _ in table.attributes]
    return utility(View(table.attributes, nothing, nothing, found.sizes, found.left_out, found.l, None, table.weights))


def _warnings(request: Request, table: Table, found: Bucketized) -> list[str]:
    warnings = [*table.warnings, *unused(request)]
    if request.spec.output.row_order == "keep":
        warnings.append("rows are in the input's order: two releases of the same rows can be joined by position")
    if request.seed is not None:
        warnings.append(
            "groups were drawn with a given seed: whoever knows it and the table's order can draw them again"
        )
    if found.left_out:
        warnings.append(f"{found.left_out} rows were left out: their sensitive values are too frequent")
    return warnings
