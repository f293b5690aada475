"""Steps that every road from a table to a release has in common."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from anonymize import verify
from anonymize.algorithms import ALGORITHMS, Context
from anonymize.algorithms.base import Found
from anonymize.errors import Problem, UsageError
from anonymize.privacy import Requirement
from anonymize.report import Clock, kind_of
from anonymize.request import Request
from anonymize.table import Table


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


def unmet(verdict: verify.Verdict) -> list[Problem]:
    """What is not met."""
    hint = "nothing was written; --allow-unsafe writes it all the same"
    return [Problem(str(result), hint=hint) for result in verdict.results if result.satisfied is False]
