"""Steps that every road from a table to a release has in common."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl

from anonymize import verify
from anonymize.algorithms import ALGORITHMS, Context
from anonymize.algorithms.base import Found
from anonymize.errors import Problem, UnsafeError, UsageError
from anonymize.privacy import Requirement
from anonymize.report import RENDERERS, Clock, kind_of
from anonymize.request import Request
from anonymize.risk import Text, sampled
from anonymize.table import Codes, Output, Source, Table, commit


@contextmanager
def stage(request: Request, clock: Clock, name: str) -> Iterator[None]:
    """One stage of the road: timed, and told to whoever watches. How long it will be, only some stages know."""
    request.progress(name, 0, 0)
    with clock(name):
        yield


def search(request: Request, table: Table, requirements: tuple[Requirement, ...]) -> Found:
    """What the algorithm finds."""
    done = 0

    def progress(rows: int) -> None:
        nonlocal done
        done += rows
        request.progress("search", done, table.rows)

    limit = int(np.floor(request.spec.privacy.suppression * table.rows + 1e-9))
    context = Context(limit, request.seed, request.threads, progress, request.force)
    return ALGORITHMS[request.algorithm].run(table, requirements, request.options, context)


def check_targets(request: Request, more: Sequence[str] = ()) -> None:
    """Raises UsageError for a report of no known kind, and for two files, input or output, that are one."""
    for path in request.reports:
        kind_of(path)
    given = request.input or request.spec.input.path
    named = (given, request.output, *request.reports, *more)
    paths = [str(path) for path in named if path is not None and str(path) != "-"]
    files = [os.path.realpath(path) for path in paths]
    twice = [path for at, path in enumerate(paths) if files[at] in files[:at]]
    if twice:
        raise UsageError([f"{path}: is given twice, as an input or an output" for path in twice])


def check_units(request: Request) -> None:
    """Raises UsageError for a spec that counts persons and an algorithm that cannot."""
    if request.spec.unit is not None and not ALGORITHMS[request.algorithm].NEEDS.units:
        able = ", ".join(name for name, algorithm in ALGORITHMS.items() if algorithm.NEEDS.units)
        line, column = request.spec.place("unit") or (None, None)
        file = None if request.spec.path is None else str(request.spec.path)
        message = f"`unit`: {request.algorithm} counts rows, and not whom they are about"
        raise UsageError(Problem(message, file, line, column, hint=f"these can: {able}"))


def sample(
    request: Request, target: Output, shown: Sequence[Sequence[str]], units: Sequence[Codes] = ()
) -> dict[str, Any]:
    """The risk by sampling weights, measured from the file as it was written; nothing where there are none.

    `shown`: the columns in which it shows each quasi-identifier. `units`: whom its rows are about, piece by piece.
    """
    frame = verify.text_of(target.part, target.format, target.separator)
    null_missing = target.format not in verify.CSV or "" in request.spec.input.missing
    people = pl.Series(np.concatenate(units)) if units else None
    return sampled(Text(frame, shown, request.spec, null_missing, people), verify.THRESHOLD)


def check_satisfied(request: Request, verdict: verify.Verdict) -> None:
    """Raises UnsafeError, with what is not met, unless that is allowed."""
    if not verdict.satisfied and not request.allow_unsafe:
        raise UnsafeError(_unmet(verdict))


def publish(
    request: Request, source: Source, report: dict[str, Any], reports: Sequence[Output], targets: Sequence[Output]
) -> None:
    """Reports and release take their places, or none of them does; of a dry run the reports alone."""
    for output in reports:
        output.write_text(RENDERERS[kind_of(output.name)](report))
    source.unchanged()
    request.progress("publish", 0, 0)
    commit([*reports, *([] if request.dry_run else targets)])


def _unmet(verdict: verify.Verdict) -> list[Problem]:
    hint = "nothing was written; --allow-unsafe writes it all the same"
    return [Problem(str(result), hint=hint) for result in verdict.judged if result.satisfied is False]
