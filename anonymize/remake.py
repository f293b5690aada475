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
from typing import Any

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
from anonymize.spec import Spec, override
from anonymize.table import Source, read
from anonymize.table.files import reason, sha256_of
from anonymize.table.kept import units_of
from anonymize.table.source import copied

HELD_OUT = 0.2
REMADE, GIVEN = "<made again>", "<report>"
SAID = "attacked is not {}, but a release made in the same way without {} of {} people, who are the control"
GIVEN = "without `--remake`, and with `--control TABLE` of other people, the release that is given is attacked"
_THRESHOLDS = ("k", "l", "t", "suppression")


@dataclass(frozen=True)
class Remake:
    """What was asked for. `attack`: of the release that is given, without a control. `report`: of it, or its path."""

    attack: Attack
    report: str | os.PathLike[str] | Mapping[str, Any]


@dataclass(frozen=True)
class MadeBy:
    """How a release was made. `spec`: with the thresholds of then."""

    spec: Spec
    algorithm: str
    options: Any
    seed: int | None


def remake(request: Remake) -> Concluded:
    """Makes a release again and attacks it. Raises UsageError for a release whose method says nothing without its
    files, DataError for a report that is not that of the release, and what the two roads raise."""
    attack_request = request.attack
    given = {
        "--control": attack_request.control,
        "--link": attack_request.link,
        "--previous": attack_request.previous,
        "--series": attack_request.series,
    }
    refuse({f"{name}: is not about the release that --remake makes": value for name, value in given.items()})
    made_by = _made_by(request)
    inputs = [
        attack_request.released,
        None if isinstance(request.report, Mapping) else request.report,
        attack_request.original or attack_request.spec.input.path,
        *named_by(attack_request.spec),
    ]
    remade = partial(_remade, attack_request, made_by)
    return reported(remade, attack_request.reports, force=attack_request.force, inputs=inputs)


def _made_by(request: Remake) -> MadeBy:
    report = _report(request.report)
    if not _is_about(report, request.attack.released):
        place = None if isinstance(request.report, Mapping) else os.fspath(request.report)
        raise DataError(Problem(f"is not the report of {request.attack.released}", place or GIVEN))
    if "series" in report:
        raise UsageError("--remake: a release of a series follows from those before it")
    algorithm = report["algorithm"]
    kind = ALGORITHMS[algorithm["name"]].Options
    names = {each.name for each in fields(kind)}
    options = kind(**{name: value for name, value in algorithm["options"].items() if name in names})
    if further := files_of(options):
        raise UsageError([f"--remake: the release was made with --{name}, a file of its own" for name in further])
    thresholds: Any = {name: report["settings"][name]["value"] for name in _THRESHOLDS if name in report["settings"]}
    spec = override(request.attack.spec, **thresholds)
    return MadeBy(spec, algorithm["name"], options, algorithm.get("seed"))


def _is_about(report: Mapping[str, Any], released: str) -> bool:
    """Whether a report is that of a release: by its hash; of a frame, which is not a file, by its rows."""
    output = report.get("output", {})
    if files.is_own(released):
        rows = pl.scan_ipc(released).select(pl.len()).collect(engine="streaming").item()
        return bool(output.get("rows") == rows)
    return bool(output.get("sha256") == sha256_of(released))


def _report(given: str | os.PathLike[str] | Mapping[str, Any]) -> Mapping[str, Any]:
    """Raises DataError for what is not the JSON report of a release."""
    path = GIVEN if isinstance(given, Mapping) else os.fspath(given)
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


def _remade(attack_request: Attack, made_by: MadeBy) -> Concluded:
    with _parted(attack_request) as parts:
        written = made_by.spec.of_copy()
        suffix = split(attack_request.released)[1] or ".csv"
        request = Request(
            written,
            made_by.algorithm,
            made_by.options,
            input=str(parts.rest),
            output=str(parts.folder / f"released{suffix}"),
            save_link=None if ALGORITHMS[made_by.algorithm].NEEDS.domains else str(parts.folder / "link.json"),
            seed=made_by.seed,
            progress=attack_request.progress,
        )
        release(request)
        again = replace(
            attack_request,
            spec=written,
            released=draft_of(made_by.algorithm).paths(request).tables[0],
            original=str(parts.rest),
            control=str(parts.others),
            link=request.save_link,
            reports=(),
        )
        result = attack(again)
    report = dict(result.report)
    report["input"] = report["input"] | {"path": REMADE}
    report["original"] = report["original"] | {"path": parts.name}
    name = FRAME if files.is_own(attack_request.released) else attack_request.released
    attacked = Caution.of(SAID.format(name, parts.held_out, parts.people), GIVEN)
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
def _parted(attack_request: Attack) -> Iterator[PartedOriginal]:
    """An original without a sample of people, and these, as long as the block; neither is in a folder, where the system
    allows it."""
    with Source.open(attack_request.spec, attack_request.original) as source, ExitStack() as stack:
        source.check()
        held_out, people = _drawn(attack_request, source)
        frame = source.scan().collect(engine="streaming")
        parts = [frame.filter(rows).lazy() for rows in (~held_out, held_out)]
        paths = [stack.enter_context(copied(part, source)) for part in parts]
        folder = stack.enter_context(files.folder())
        try:
            yield PartedOriginal(source.name, folder, paths[0], paths[1], *people)
        except DataError:
            # Where the original is to blame, it says so itself, by its own name and line.
            read(attack_request.spec, source)
            raise


def _drawn(attack_request: Attack, source: Source) -> tuple[pl.Series, tuple[int, int]]:
    """(rows,) whose person is held out, and how many people are, of how many; each row is a person where the spec has
    no unit."""
    rows = pl.int_range(source.rows or 0, eager=True)
    unit, missing = attack_request.spec.unit, attack_request.spec.missing(source.format)
    who = (rows if unit is None else units_of(source.scan(), unit, missing)).rank("dense").cast(pl.Int64) - 1
    people = int(who.n_unique())
    chosen = np.random.default_rng(attack_request.seed).permutation(people) < round(people * HELD_OUT)
    return pl.Series(chosen).gather(who), (int(chosen.sum()), people)
