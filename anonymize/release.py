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
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from anonymize import privacy, recoding, verify
from anonymize.algorithms import ALGORITHMS, Context
from anonymize.errors import Problem, SpecError, UnsafeError, UsageError
from anonymize.privacy import Groups, Histogram, Requirement
from anonymize.recoding import Recoding, Released
from anonymize.report import RENDERERS, Clock, Facts, kind_of, release_report
from anonymize.request import Request
from anonymize.spec import Spec
from anonymize.table import Output, Source, Table, commit, read

Report = dict[str, Any]


def release(request: Request) -> Report:
    """Walks the road; returns the report that was published.

    Raises what is wrong as an AnonymizeError; then nothing has been written. UnsafeError: the release was made,
    measured and found not to meet its requirements.
    """
    spec, clock = request.spec, Clock()
    requirements = privacy.requirements(spec)
    _check_targets(request)
    with ExitStack() as stack:
        source = stack.enter_context(Source.open(spec, request.input))
        _check_names(spec, source)
        target = stack.enter_context(
            Output(request.output, force=request.force, form=request.output_format, separator=source.separator)
        )
        reports = [stack.enter_context(Output(path, force=request.force)) for path in request.reports]

        with clock("read"):
            table = read(spec, source)
        with clock("search"):
            found = _search(request, table, requirements)
        with clock("recode"):
            released = recoding.render(found, table, spec.output, drop=_must_drop(spec, table, found, requirements))
        with clock("write"):
            target.write(_frames(request, table, released, _null_text(spec, source, target)))
        with clock("verify"):
            verdict = _verify(spec, target, released, requirements)

        report = release_report(Facts(request, requirements, table, found, released, target, verdict, clock))
        if not verdict.satisfied and not request.allow_unsafe:
            raise UnsafeError(_unmet(verdict))
        for output in reports:
            output.write_text(RENDERERS[kind_of(output.name)](report))
        source.unchanged()
        commit([*reports, *([] if request.dry_run else [target])])
    return report


def _search(request: Request, table: Table, requirements: tuple[Requirement, ...]) -> Recoding:
    done = 0

    def progress(rows: int) -> None:
        nonlocal done
        done += rows
        request.progress("search", done, table.rows)

    limit = int(np.floor(request.spec.privacy.suppression * table.rows + 1e-9))
    context = Context(limit, request.seed, request.threads, progress)
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


def _null_text(spec: Spec, source: Source, target: Output) -> str | None:
    """What a null is written as, where it would not mean the same in the output as in the input; else None.

    In a typed file null is missing; in a CSV it is the empty text, which the spec may or may not take for missing.
    """
    if "" in spec.input.missing or (source.format == "csv") == (target.format in CSV):
        return None
    return "" if source.format == "csv" else next(iter(spec.input.missing), "")


def _frames(request: Request, table: Table, released: Released, null: str | None) -> Iterator[pl.DataFrame]:
    """The release in pieces: the generalized columns beside what passes through, in the input's column order."""
    empty = null if null == "" else None
    texts = {
        column.name: pl.Series([text or empty for text in column.texts], dtype=pl.String) for column in released.columns
    }
    roles = request.spec.roles()
    passing = [name for name in table.columns if roles[name] not in ("identifier", "quasi-identifier")]
    done = 0
    for batch in _pieces(request, table, passing):
        class_of = released.class_of[batch.rows]
        columns: list[pl.Series] = []
        for name in table.columns:
            if roles[name] == "quasi-identifier":
                columns += [texts[c.name].gather(c.of_class[class_of]).alias(c.name) for c in released.columns_of(name)]
            elif roles[name] != "identifier":
                columns.append(_passing(batch.frame[name], null))
        frame = pl.DataFrame(columns)
        yield frame if not released.dropped_rows else frame.filter(pl.Series(class_of >= 0))
        done += len(class_of)
        request.progress("write", done, table.rows)


def _passing(column: pl.Series, null: str | None) -> pl.Series:
    """A column as it came, but for its nulls where they have to be a text."""
    return column if null is None else column.cast(pl.String).fill_null(null)


@dataclass(frozen=True)
class Piece:
    """Some rows of the input, by number, and their columns that pass through."""

    rows: slice | np.ndarray[Any, np.dtype[np.int64]]
    frame: pl.DataFrame


def _pieces(request: Request, table: Table, passing: list[str]) -> Iterator[Piece]:
    """The input's rows in order, or shuffled; a shuffle holds the columns that pass through in memory."""
    done = 0
    batches = table.source.batches(passing)
    if request.spec.output.row_order == "keep":
        for frame in batches:
            yield Piece(slice(done, done + frame.height), frame)
            done += frame.height
        return
    whole = pl.concat(list(batches))
    order = np.random.default_rng(request.seed).permutation(table.rows)
    for start in range(0, table.rows, SHUFFLED):
        rows = order[start : start + SHUFFLED]
        yield Piece(rows, whole[rows])


SHUFFLED = 500_000
"""Rows of a piece of a shuffled release."""
CSV = ("csv", "csv.gz")
"""The formats in which a null is an empty field."""


def _verify(spec: Spec, target: Output, released: Released, requirements: tuple[Requirement, ...]) -> verify.Verdict:
    """The file as it was written, measured from its text."""
    return verify.measure(
        _written(target),
        [column.name for column in released.columns],
        verify.checks_of(spec, requirements),
        spec.input.missing,
        suppressed=spec.output.suppressed,
        null_missing=target.format not in CSV or "" in spec.input.missing,
    )


def _written(target: Output) -> pl.LazyFrame:
    """What was written, by a plain reader."""
    if target.format == "parquet":
        return pl.scan_parquet(target.part, glob=False, hive_partitioning=False)
    if target.format == "arrow":
        return pl.scan_ipc(target.part, glob=False, hive_partitioning=False)
    return pl.scan_csv(
        target.part,
        infer_schema=False,
        separator=target.separator,
        with_column_names=lambda names: [name.replace('""', '"') for name in names],  # which polars leaves as they are
        glob=False,
    )


def _check_targets(request: Request) -> None:
    """Raises UsageError for a report of no known kind, and for two outputs that are one file."""
    for path in request.reports:
        kind_of(path)
    paths = [path for path in (request.output, *request.reports) if path != "-"]
    files = [os.path.realpath(path) for path in paths]
    twice = [path for at, path in enumerate(paths) if files[at] in files[:at]]
    if twice:
        raise UsageError([f"{path}: is given for two outputs" for path in twice])


def _check_names(spec: Spec, source: Source) -> None:
    """Raises SpecError where a column of bounds would have the name of another column."""
    if spec.output.numeric != "bounds":
        return
    ends = [
        name + end for name, a in spec.quasi_identifiers.items() if a.type == "numeric" for end in ("_low", "_high")
    ]
    taken = sorted(set(ends) & set(source.columns))
    if taken:
        raise SpecError(
            [Problem(f"output.numeric: bounds makes a column {name!r}, which exists", str(spec.path)) for name in taken]
        )


def _unmet(verdict: verify.Verdict) -> list[Problem]:
    hint = "nothing was written; --allow-unsafe writes it all the same"
    return [Problem(str(result), hint=hint) for result in verdict.results if result.satisfied is False]
