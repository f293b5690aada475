"""Steps that every road from a table to a release has in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from anonymize import verify
from anonymize.algorithms import ALGORITHMS, Context, files_of, why_not_reusable, wrong_values
from anonymize.algorithms.base import Found
from anonymize.errors import Problem, UnsafeError, UsageError
from anonymize.privacy import Requirement
from anonymize.report import RENDERERS, Clock, kind_of
from anonymize.request import Request, refuse_overwriting, refuse_twice
from anonymize.risk import Text, sampled
from anonymize.spec import Spec
from anonymize.table import Codes, Output, Source, Table, commit
from anonymize.table.population import populations_of
from anonymize.table.write import check_suffix, check_table


@contextmanager
def stage(request: Request, clock: Clock, name: str) -> Iterator[None]:
    """One stage of the road: timed, and told to whoever watches. How long it will be, only some stages know."""
    request.progress(name, 0, 0)
    with clock(name):
        yield


def search(
    request: Request,
    table: Table,
    requirements: tuple[Requirement, ...],
    files: Mapping[str, Output] = MappingProxyType({}),
) -> Found:
    """What the algorithm finds; it writes the `files` that its options name."""
    done = 0

    def progress(rows: int) -> None:
        nonlocal done
        done += rows
        request.progress("search", done, table.rows)

    limit = int(np.floor(request.spec.privacy.suppression * table.rows + 1e-9))
    keep = request.save_recoding is not None
    refining, bounding = partial(request.progress, "refine"), partial(request.progress, "bound")
    context = Context(limit, request.seed, request.threads, progress, refining, bounding, files, keep)
    return ALGORITHMS[request.algorithm].run(table, requirements, request.options, context)


def check_targets(request: Request, more: Sequence[str] = ()) -> None:
    """Raises UsageError for an output whose suffix is of no known kind, for two files, input or output, that are one,
    and for an output that is the spec or a file which it names."""
    for path in request.reports:
        kind_of(path)
    if request.save_recoding == "-":
        raise UsageError("--save-recoding: is a file; it holds values of the input, and is private")
    files = files_of(request.options)
    if "-" in files.values():
        raise UsageError([f"--{name.replace('_', '-')}: is a file" for name, path in files.items() if path == "-"])
    given = request.input or request.spec.input.path
    outputs = [request.output, request.save_recoding, *request.reports, *files.values(), *more]
    refuse_twice([given, *outputs])
    refuse_overwriting(outputs, _files_of(request.spec))
    check_table(request.output, request.output_format)
    if request.save_recoding is not None:
        check_suffix(request.save_recoding, "a saved recoding", (".json",))


def _files_of(spec: Spec) -> list[Path]:
    """The spec and the files that it names, but for its input."""
    attributes = [*spec.quasi_identifiers.values(), *spec.sensitive.values()]
    hierarchies = [attribute.hierarchy for attribute in attributes if isinstance(attribute.hierarchy, Path)]
    return [*hierarchies, *populations_of(spec), *([] if spec.path is None else [spec.path])]


def check_needs(request: Request) -> None:
    """Raises UsageError for a spec, or an option, that the algorithm can do nothing with: a value that the option does
    not take, persons or a population that it does not count, no sensitive attribute or target where it needs one, a
    recoding that cannot be saved."""
    spec, algorithm = request.spec, ALGORITHMS[request.algorithm]
    if wrong := wrong_values(request.options):
        raise UsageError(wrong)
    if spec.unit is not None and not algorithm.NEEDS.units:
        raise UsageError(_unable(request, ("unit",), "`unit`: {} counts rows, and not whom they are about", "units"))
    if not algorithm.NEEDS.populations:
        for at, entry in enumerate(spec.privacy.models):
            if getattr(entry.parameters, "population", None) is not None:
                told = f"{entry.model}: {{}} does not look anybody up in a population"
                raise UsageError(_unable(request, ("privacy", "models", at), told, "populations"))
    if algorithm.NEEDS.sensitive and not spec.sensitive:
        message = f"{request.algorithm} needs a sensitive attribute, and the spec names none"
        raise UsageError(Problem(message, hint="list what is to be protected under sensitive"))
    if algorithm.NEEDS.target and not spec.workload.targets:
        message = f"{request.algorithm} needs a target, and the spec names none"
        raise UsageError(Problem(message, hint="list what is to be predicted under workload: {targets: [...]}"))
    reason = None if request.save_recoding is None else why_not_reusable(algorithm, request.options)
    if reason:
        raise UsageError(f"--save-recoding: {reason}, so that its recoding is no function of the values")


def _unable(request: Request, path: tuple[str | int, ...], told: str, need: str) -> Problem:
    """That the algorithm cannot do what a place of the spec asks for, and which ones can."""
    able = [name for name, algorithm in ALGORITHMS.items() if getattr(algorithm.NEEDS, need)]
    line, column = request.spec.place(*path) or (None, None)
    file = None if request.spec.path is None else str(request.spec.path)
    return Problem(told.format(request.algorithm), file, line, column, hint=f"these can: {', '.join(able)}")


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
    request: Request,
    source: Source,
    report: dict[str, Any],
    reports: Sequence[Output],
    targets: Sequence[Output],
    kept: Sequence[Output] = (),
) -> None:
    """Reports, release and what else is `kept` take their places, or none does; of a dry run the release does not."""
    for output in reports:
        output.write_text(RENDERERS[kind_of(output.name)](report))
    source.unchanged()
    request.progress("publish", 0, 0)
    commit([*reports, *kept, *([] if request.dry_run else targets)])


def _unmet(verdict: verify.Verdict) -> list[Problem]:
    hint = "nothing was written; --allow-unsafe writes it all the same"
    return [Problem(str(result), hint=hint) for result in verdict.judged if result.satisfied is False]
