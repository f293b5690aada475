"""What `attack --remake` does: a release made again without a sample of people, who are the control.

original ─▶ rest, others  people who are released, and a fifth that is held out
rest     ─▶ release       made again, by what the report of the release says: algorithm, options, thresholds, seed
both     ─▶ attacks       as on any release that has a control (`anonymize._attack`)

So what is attacked is another release, by the same method and of four fifths of the people. It says what the method
gives away where nobody was held out of the release itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from anonymize import files
from anonymize._attack import Attack, attack
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS, files_of
from anonymize.errors import Caution, DataError, Problem, UsageError, refuse
from anonymize.families import draft_of
from anonymize.files import FRAME, split
from anonymize.formats import Concluded
from anonymize.publication import named_by, reported
from anonymize.records import dataclass
from anonymize.request import Request
from anonymize.spec import override
from anonymize.table import Source, kept, read
from anonymize.table.files import reason, sha256_of
from anonymize.table.source import copied

HELD_OUT = 0.2
REMADE, GIVEN = "<made again>", "<report>"
SAID = "attacked is not {}, but a release made in the same way without {} of {} people, who are the control"
INSTEAD = "without `--remake`, and with `--control TABLE` of other people, the release that is given is attacked"
_THRESHOLDS = ("k", "l", "t", "suppression")


Report: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"
"""The report of a release, or its path."""


def remake(request: Attack, report: Report) -> Concluded:
    """Makes a release again by its `report` and attacks it. `request`: the attack on the release that is given, without
    a control. Raises UsageError for a release whose method says nothing without its files, DataError for a report that
    is not that of the release, and what the two roads raise."""
    given = {
        "--control": request.control,
        "--link": request.link,
        "--previous": request.previous,
        "--series": request.series,
    }
    refuse({f"{name}: is not about the release that --remake makes": value for name, value in given.items()})
    path = None if isinstance(report, Mapping) else report
    inputs = [request.released, path, request.original or request.spec.input.path, *named_by(request.spec)]
    remade = partial(_remade, request, _made_by(request, report))
    return reported(remade, request.reports, force=request.force, inputs=inputs)


def _made_by(request: Attack, given: Report) -> Request:
    """How the release was made: the spec with the thresholds of then, the algorithm, its options and seed."""
    report = _report(given)
    if not _is_about(report, request.released):
        raise DataError(Problem(f"is not the report of {request.released}", _name(given)))
    if "series" in report:
        raise UsageError("--remake: a release of a series follows from those before it")
    algorithm = report["algorithm"]
    kind = ALGORITHMS[algorithm["name"]].Options
    names = {each.name for each in fields(kind)}
    options = kind(**{name: value for name, value in algorithm["options"].items() if name in names})
    if further := files_of(options):
        raise UsageError([f"--remake: the release was made with --{name}, a file of its own" for name in further])
    thresholds: Any = {name: report["settings"][name]["value"] for name in _THRESHOLDS if name in report["settings"]}
    spec = override(request.spec, **thresholds)
    return Request(spec, algorithm["name"], options, seed=algorithm.get("seed"))


def _is_about(report: Mapping[str, Any], released: str) -> bool:
    """Whether a report is that of a release: by its hash; of a frame, which is not a file, by its rows."""
    output = report.get("output", {})
    if files.is_own(released):
        rows = pl.scan_ipc(released).select(pl.len()).collect(engine="streaming").item()
        return bool(output.get("rows") == rows)
    return bool(output.get("sha256") == sha256_of(released))


def _name(given: Report) -> str:
    return GIVEN if isinstance(given, Mapping) else os.fspath(given)


def _report(given: Report) -> Mapping[str, Any]:
    """Raises DataError for what is not the JSON report of a release."""
    path = _name(given)
    try:
        report = given if isinstance(given, Mapping) else json.loads(Path(given).read_text(encoding="utf-8"))
        name, options, settings = report["algorithm"]["name"], report["algorithm"]["options"], report["settings"]
        if name in ALGORITHMS and isinstance(options, dict) and isinstance(settings, dict):
            return dict(report)
    except OSError as error:
        raise DataError(Problem(f"cannot be read: {reason(error)}", path)) from None
    except (ValueError, KeyError, TypeError):
        pass
    raise DataError(Problem("is not the JSON report of a release", path, hint="-r report.json writes one"))


def _remade(request: Attack, made_by: Request) -> Concluded:
    with _parted(request) as parts:
        suffix = split(request.released)[1] or ".csv"
        made = replace(
            made_by,
            spec=made_by.spec.of_copy(),
            input=str(parts.rest),
            output=str(parts.folder / f"released{suffix}"),
            save_link=None if ALGORITHMS[made_by.algorithm].NEEDS.domains else str(parts.folder / "link.json"),
            progress=request.progress,
        )
        release(made)
        again = replace(
            request,
            spec=made.spec,
            released=draft_of(made.algorithm).paths(made).tables[0],
            original=made.input,
            control=str(parts.others),
            link=made.save_link,
            reports=(),
        )
        result = attack(again)
    report = dict(result.report)
    report["input"] = report["input"] | {"path": REMADE}
    report["original"] = report["original"] | {"path": parts.name}
    name = FRAME if files.is_own(request.released) else request.released
    attacked = Caution.of(SAID.format(name, parts.held_out, parts.people), INSTEAD)
    report["warnings"] = [attacked, *report["warnings"]]
    return replace(result, checked=replace(result.checked, report=report))


@dataclass(frozen=True)
class PartedOriginal:
    """The people of an original, as two files: `rest`, `others`. `held_out` of `people` are the others. `folder`: for
    what is made of them."""

    name: str
    folder: Path
    rest: Path
    others: Path
    held_out: int
    people: int


@contextmanager
def _parted(request: Attack) -> Iterator[PartedOriginal]:
    """An original without a sample of people, and these, as long as the block; neither is in a folder, where the system
    allows it."""
    with Source.open(request.spec, request.original) as source, ExitStack() as stack:
        source.check()
        held_out, people = _drawn(request, source)
        frame = source.scan().collect(engine="streaming")
        parts = [frame.filter(rows).lazy() for rows in (~held_out, held_out)]
        paths = [stack.enter_context(copied(part, source)) for part in parts]
        folder = stack.enter_context(files.folder())
        try:
            yield PartedOriginal(source.name, folder, paths[0], paths[1], *people)
        except DataError:
            # Where the original is to blame, it says so itself, by its own name and line.
            read(request.spec, source)
            raise


def _drawn(request: Attack, source: Source) -> tuple[pl.Series, tuple[int, int]]:
    """(rows,) whose person is held out, and how many people are, of how many; each row is a person where the spec has
    no unit."""
    rows = pl.int_range(source.rows or 0, eager=True)
    unit, missing = request.spec.unit, request.spec.missing(source.format)
    who = (rows if unit is None else kept.units_of(source.scan(), unit, missing)).rank("dense").cast(pl.Int64) - 1
    people = int(who.n_unique())
    chosen = np.random.default_rng(request.seed).permutation(people) < round(people * HELD_OUT)
    return pl.Series(chosen).gather(who), (int(chosen.sum()), people)
