"""What the `attack` command does: attackers are let loose on a release, and what they learn is measured.

spec, original ─▶ people   those whom the release is about, and those who are held out of it
release        ─▶ rows     its text read as spans of values, whoever made it
both           ─▶ attacks  each attacker by himself (`anonymize.attacks`): rates, baselines, excess
attacks        ─▶ verdict  the upper end of each interval beside what is allowed

A report has names of columns and rates, no values of cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from anonymize import __version__
from anonymize.attacks import ATTACKERS, EarlierRows, Scene
from anonymize.auditing.buckets import BucketLayout
from anonymize.calling import make_callable
from anonymize.classes import Ints
from anonymize.errors import Problem, UsageError
from anonymize.evaluation.attacked import AttackedTables, CodedValues, Known, coded_values, known, people_of, released
from anonymize.evaluation.past import PastReleases, in_series
from anonymize.formats import Checked, Finding
from anonymize.link import load as load_link
from anonymize.names import parameters_of
from anonymize.publication import report_files
from anonymize.report.data import SCHEMA_VERSION
from anonymize.request import Progress
from anonymize.spec import Spec

UNITS = "rows are attacked, not individuals: the spec has the unit {}, which a release does not show"
FEW = "{}: nobody could be attacked"


@dataclass(frozen=True)
class Attack:
    """What `attack` was asked for.

    `released`: path of the release. `original`: path, None for the spec's. `link`: which row of the original each
    released row is, as it was saved with the release. `control`: a table of people who are not in the release, with the
    original's columns. `previous`: an earlier release of the same people; `series`, `key`: or the state of a series
    that the release is in, by which all earlier ones are found, and its key, by which their people are. `st`, `group`:
    of a bucketized release the sensitive table, and the column of groups. `attackers`: of ATTACKERS, none for all.
    `max_excess`: the most that the upper end of an interval may be, None to judge nothing. `targets`: how many people
    are attacked, drawn with `seed`. `reports`: paths, the kind by suffix.
    """

    spec: Spec
    released: str
    original: str | None = None
    link: str | None = None
    control: str | None = None
    previous: str | None = None
    series: str | None = None
    key: str | None = None
    st: str | None = None
    group: str | None = None
    attackers: Sequence[str] = ()
    max_excess: float | None = None
    targets: int = 2000
    seed: int = 0
    reports: Sequence[str] = ()
    force: bool = False
    progress: Progress = field(default=lambda stage, done, total: None)


@dataclass(frozen=True)
class AttackResult:
    """`satisfied`: whether every excess is within what is allowed; None where nothing was asked for. `checked`: the
    report, and the findings that it comes down to."""

    satisfied: bool | None
    checked: Checked

    @property
    def report(self) -> dict[str, Any]:
        """What `--json` prints."""
        return self.checked.report

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is above the limit, or could not be shown to be within it."""
        return self.checked.problems


def attack(request: Attack) -> AttackResult:
    """Attacks a release. Raises UsageError for attackers that there are not, releases that have no cells to attack, and
    inputs that make no sense together; DataError for tables that cannot be read."""
    _check(request)
    with report_files(request.reports, force=request.force) as publish:
        result = _attacked(request)
        publish(result.report)
    return result


def _check(request: Attack) -> None:
    problems = [
        f"--attackers: {name} is none of {', '.join(ATTACKERS)}" for name in request.attackers if name not in ATTACKERS
    ]
    if request.max_excess is not None and not 0 <= request.max_excess <= 1:
        problems.append("--max-excess: is from 0 to 1")
    if request.targets < 1:
        problems.append("--targets: is at least 1")
    inputs = [request.released, request.original, request.control, request.previous]
    if inputs.count("-") > 1:
        problems.append("two tables cannot both come from standard input")
    if request.series is not None and request.previous is not None:
        problems.append("--previous: is one of those that --series names")
    if request.key is not None and request.series is None:
        problems.append("--key: is that of a --series")
    if problems:
        raise UsageError(problems)
    if parameters_of(request.released) is not None:
        raise UsageError(f"{request.released}: is randomized, and attackers read cells that are intervals or values")


def _attacked(request: Attack) -> AttackResult:
    with ExitStack() as stack:
        request.progress("read", 0, 0)
        people = stack.enter_context(known(request.spec, request.original, request.control))
        layout = BucketLayout.of(request.released, request.st, request.group)
        release = released(people, request.released, stack, layout)
        past = _past(request, release)
        earlier = [released(people, path, stack) for path in past.paths]
        values = coded_values(people, [release, *earlier])
        row_of, truth = _rows(request, people, release, values, past)
        scene = _scene(request, people, [release, *earlier], values, row_of)
        before = zip(scene.earlier, past.rows_of, strict=True)
        scene = replace(scene, earlier=tuple(replace(each, row_of=rows) for each, rows in before))
        report = _head(request, people, release, past.remarks) | {"attacks": _tried(request, scene) | {"truth": truth}}
    return _judged(request, report)


def _past(request: Attack, release: AttackedTables) -> PastReleases:
    """The releases before this one: one that is named, or those of a series."""
    if request.series is not None:
        return in_series(request.spec, request.series, request.key, release.file.source.sha256)
    named = [] if request.previous is None else [request.previous]
    return PastReleases(named, [None for _ in named])


# --- whom each row is about ------------------------------------------------------------------------------------------


def _rows(
    request: Attack, people: Known, release: AttackedTables, values: CodedValues, past: PastReleases
) -> tuple[Ints | None, str]:
    """(people of the original,) the released row about each, -1 for none, and how that is known: by the link, by
    position where rows keep their order and their sensitive values agree; None, "regions" where it is not."""
    path = request.link or past.link
    if path is not None:
        link = load_link(path)
        link.check(path, input=people.sha256, release=release.file.source.sha256)
        row_of = np.full(people.rows, -1)
        row_of[link.rows] = np.arange(release.rows)
        return row_of, "link"
    alike = all(np.array_equal(values.people[name][: people.rows], values.releases[0][name]) for name in values.sizes)
    if request.spec.output.row_order == "keep" and release.rows == people.rows and alike:
        return np.arange(people.rows), "position"
    return None, "regions"


def _scene(
    request: Attack, people: Known, releases: Sequence[AttackedTables], values: CodedValues, row_of: Ints | None
) -> Scene:
    attributes = people.table.attributes
    codes = people.codes()
    own, others = slice(0, people.rows), slice(people.rows, None)
    everybody = people_of(codes, values.people, own, row_of)
    generator = np.random.default_rng(request.seed)
    rows = [each.as_rows(attributes, coded) for each, coded in zip(releases, values.releases, strict=True)]
    present = np.arange(people.rows) if row_of is None else np.flatnonzero(row_of >= 0)
    control = people_of(codes, values.people, others) if people.table.rows > people.rows else None
    return Scene(
        attributes=tuple(attribute.name for attribute in attributes),
        sizes=tuple(attribute.domain.size for attribute in attributes),
        sensitive=values.sizes,
        release=rows[0],
        everybody=everybody,
        targets=everybody.of(_drawn(present, request.targets, generator)),
        control=None if control is None else control.of(_drawn(np.arange(len(control)), request.targets, generator)),
        earlier=tuple(EarlierRows(each) for each in rows[1:]),
        seed=request.seed,
    )


def _drawn(people: Ints, count: int, generator: np.random.Generator) -> Ints:
    """All of them in order, or as many as are asked for."""
    return people if len(people) <= count else np.sort(generator.choice(people, count, replace=False))


# --- attacks and what they come to -----------------------------------------------------------------------------------


def _tried(request: Attack, scene: Scene) -> dict[str, Any]:
    """The block `attacks`. Raises UsageError for an attacker who was asked for and has nothing to attack."""
    names = list(request.attackers) or list(ATTACKERS)
    results, idle = [], []
    for done, name in enumerate(names):
        request.progress("attack", done, len(names))
        successes = ATTACKERS[name].attack(scene)
        results += [{"attacker": name, **success.block()} for success in successes]
        idle += [] if successes else [name]
    if request.attackers and idle:
        raise UsageError([f"--attackers {name}: there is nothing for him to attack" for name in idle])
    return {
        "results": results,
        "left_out": idle,
        "people": len(scene.everybody),
        "sampled": len(scene.targets) < len(scene.everybody),
        "max_excess": request.max_excess,
    }


def _head(request: Attack, people: Known, release: AttackedTables, remarks: Sequence[str]) -> dict[str, Any]:
    source, unit = release.file.source, request.spec.unit
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "anonymize", "version": __version__},
        "spec": {"path": None if request.spec.path is None else str(request.spec.path)},
        "input": {"path": source.name, "sha256": source.sha256, "rows": source.rows, "columns": len(source.columns)},
        "original": {"path": people.path, "sha256": people.sha256, "rows": people.rows},
        "seed": request.seed,
        "warnings": [*([] if unit is None or request.series is not None else [UNITS.format(unit)]), *remarks],
    }


def _judged(request: Attack, report: dict[str, Any]) -> AttackResult:
    """The report with its block `privacy`, and a finding for each thing attacked."""
    limit = request.max_excess
    findings = [_finding(each, limit) for each in report["attacks"]["results"]]
    for each, finding in zip(report["attacks"]["results"], findings, strict=True):
        each["satisfied"] = None if limit is None or not finding.known else finding.level == "pass"
    exceeded = [finding for finding in findings if finding.level == "error" and finding.known]
    unknown = [finding.message for finding in findings if not finding.known]
    satisfied = None if limit is None or (unknown and not exceeded) else not exceeded
    report["privacy"] = {"satisfied": satisfied, "models": []} | ({"unknown": unknown} if unknown else {})
    return AttackResult(satisfied, Checked(report, tuple(findings)))


def _finding(each: dict[str, Any], limit: float | None) -> Finding:
    """What one attack comes to."""
    about = f" of {each['about']}" if each["about"] else ""
    name, excess = f"{each['attacker']}{about}", each["excess"]
    title = name if limit is None else f"{name}: excess at most {limit:g}"
    if excess is None:
        level, message = "measured" if limit is None else "error", FEW.format(name)
        return Finding("max-excess", title, message, level, known=limit is None)  # type: ignore[arg-type]
    message = f"{name}: excess {excess['value']:.4g}, at most {excess['high']:.4g} with 95 % confidence"
    if limit is None:
        return Finding("max-excess", title, message, "measured")
    if excess["high"] > limit:
        return Finding("max-excess", title, f"{message}, where {limit:g} is allowed", "error")
    return Finding("max-excess", title, message, "pass")


make_callable(__name__)
