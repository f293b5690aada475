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
from anonymize.attacks import ATTACKERS, Scene
from anonymize.auditing.buckets import BucketLayout
from anonymize.calling import make_callable
from anonymize.classes import Ints
from anonymize.errors import Problem, UnsafeError, UsageError
from anonymize.evaluation.attacked import (
    AttackedTables,
    CodedValues,
    Known,
    coded_values,
    known,
    of_table,
    people_of,
    released,
    with_control,
)
from anonymize.families import Draft
from anonymize.formats import Checked, Finding
from anonymize.link import load as load_link
from anonymize.names import parameters_of
from anonymize.publication import Files, report_files
from anonymize.report.data import SCHEMA_VERSION
from anonymize.request import Progress, Request
from anonymize.spec import Spec
from anonymize.table import Table

UNITS = "rows are attacked, not individuals: the spec has the unit {}, which a release does not show"
FEW = "{}: nobody could be attacked"


@dataclass(frozen=True)
class AttackPlan:
    """Who attacks, how many people, and what is allowed; see `Attack`."""

    attackers: Sequence[str] = ()
    max_excess: float | None = None
    targets: int = 2000
    seed: int = 0
    progress: Progress = field(default=lambda stage, done, total: None)


@dataclass(frozen=True)
class Attack:
    """What `attack` was asked for.

    `released`: path of the release. `original`: path, None for the spec's. `link`: which row of the original each
    released row is, as it was saved with the release. `control`: a table of people who are not in the release, with the
    original's columns. `previous`: an earlier release of the same people. `st`, `group`: of a
    bucketized release the sensitive table, and the column of groups. `attackers`: of ATTACKERS, none for all.
    `max_excess`: the most that the upper end of an interval may be, None to judge nothing. `targets`: how many people
    are attacked, drawn with `seed`. `reports`: paths, the kind by suffix.
    """

    spec: Spec
    released: str
    original: str | None = None
    link: str | None = None
    control: str | None = None
    previous: str | None = None
    st: str | None = None
    group: str | None = None
    attackers: Sequence[str] = ()
    max_excess: float | None = None
    targets: int = 2000
    seed: int = 0
    reports: Sequence[str] = ()
    force: bool = False
    progress: Progress = field(default=lambda stage, done, total: None)

    @property
    def plan(self) -> AttackPlan:
        """What of it is not about files."""
        return AttackPlan(self.attackers, self.max_excess, self.targets, self.seed, self.progress)


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
        earlier = [] if request.previous is None else [released(people, request.previous, stack)]
        values = coded_values(people, [release, *earlier])
        row_of, truth = _rows(request, people, release, values)
        scene = _scene(request.plan, people, [release, *earlier], values, row_of)
        block = _tried(request.plan, scene) | {"truth": truth}
        if request.attackers and block["left_out"]:
            raise UsageError([f"--attackers {name}: there is nothing for him to attack" for name in block["left_out"]])
        findings, satisfied = _judged(block, request.max_excess)
        report = _head(request, people, release) | {"attacks": block}
        report["privacy"] = _privacy(findings, satisfied)
    return AttackResult(satisfied, Checked(report, findings))


# --- whom each row is about ------------------------------------------------------------------------------------------


def _rows(request: Attack, people: Known, release: AttackedTables, values: CodedValues) -> tuple[Ints | None, str]:
    """(people of the original,) the released row about each, -1 for none, and how that is known: by the link, by
    position where rows keep their order and their sensitive values agree; None, "regions" where it is not."""
    if request.link is not None:
        link = load_link(request.link)
        link.check(request.link, input=people.sha256, release=release.file.source.sha256)
        row_of = np.full(people.rows, -1)
        row_of[link.rows] = np.arange(release.rows)
        return row_of, "link"
    alike = all(np.array_equal(values.people[name][: people.rows], values.releases[0][name]) for name in values.sizes)
    if request.spec.output.row_order == "keep" and release.rows == people.rows and alike:
        return np.arange(people.rows), "position"
    return None, "regions"


def _scene(
    plan: AttackPlan, people: Known, releases: Sequence[AttackedTables], values: CodedValues, row_of: Ints | None
) -> Scene:
    attributes = people.table.attributes
    codes = people.codes()
    own, others = slice(0, people.rows), slice(people.rows, None)
    everybody = people_of(codes, values.people, own, row_of)
    generator = np.random.default_rng(plan.seed)
    rows = [each.as_rows(attributes, coded) for each, coded in zip(releases, values.releases, strict=True)]
    present = np.arange(people.rows) if row_of is None else np.flatnonzero(row_of >= 0)
    control = people_of(codes, values.people, others) if people.table.rows > people.rows else None
    return Scene(
        attributes=tuple(attribute.name for attribute in attributes),
        sizes=tuple(attribute.domain.size for attribute in attributes),
        sensitive=values.sizes,
        release=rows[0],
        everybody=everybody,
        targets=everybody.of(_drawn(present, plan.targets, generator)),
        control=None if control is None else control.of(_drawn(np.arange(len(control)), plan.targets, generator)),
        previous=rows[1] if len(rows) > 1 else None,
        seed=plan.seed,
    )


def _drawn(people: Ints, count: int, generator: np.random.Generator) -> Ints:
    """All of them in order, or as many as are asked for."""
    return people if len(people) <= count else np.sort(generator.choice(people, count, replace=False))


# --- attacks and what they come to -----------------------------------------------------------------------------------


def _tried(plan: AttackPlan, scene: Scene) -> dict[str, Any]:
    """The block `attacks`."""
    names = list(plan.attackers) or list(ATTACKERS)
    results, idle = [], []
    for done, name in enumerate(names):
        plan.progress("attack", done, len(names))
        successes = ATTACKERS[name].attack(scene)
        results += [{"attacker": name, **success.block()} for success in successes]
        idle += [] if successes else [name]
    return {
        "results": results,
        "left_out": idle,
        "people": len(scene.everybody),
        "sampled": len(scene.targets) < len(scene.everybody),
        "max_excess": plan.max_excess,
    }


def _head(request: Attack, people: Known, release: AttackedTables) -> dict[str, Any]:
    source, unit = release.file.source, request.spec.unit
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "anonymize", "version": __version__},
        "spec": {"path": None if request.spec.path is None else str(request.spec.path)},
        "input": {"path": source.name, "sha256": source.sha256, "rows": source.rows, "columns": len(source.columns)},
        "original": {"path": people.path, "sha256": people.sha256, "rows": people.rows},
        "seed": request.seed,
        "warnings": [] if unit is None else [UNITS.format(unit)],
    }


def _judged(block: dict[str, Any], limit: float | None) -> tuple[tuple[Finding, ...], bool | None]:
    """A finding for each thing attacked, and whether all are within the limit: None where nothing was asked for, or
    some could not be measured and none is above. Says in the block `attacks` which are."""
    findings = tuple(_finding(each, limit) for each in block["results"])
    for each, finding in zip(block["results"], findings, strict=True):
        each["satisfied"] = None if limit is None or not finding.known else finding.level == "pass"
    exceeded = any(finding.level == "error" and finding.known for finding in findings)
    unknown = any(not finding.known for finding in findings)
    return findings, None if limit is None or (unknown and not exceeded) else not exceeded


def _privacy(findings: Sequence[Finding], satisfied: bool | None) -> dict[str, Any]:
    """The block `privacy` of an attack."""
    unknown = [finding.message for finding in findings if not finding.known]
    return {"satisfied": satisfied, "models": []} | ({"unknown": unknown} if unknown else {})


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


# --- before a release takes its place -------------------------------------------------------------------------------


IDLE = "risk.attacks: there is nothing for {} to attack"
UNREAD = "risk.attacks: a public report has no attacks, and no max_excess judges them: nobody attacked"


@dataclass(frozen=True)
class ReleaseTrial:
    """What the attackers of a spec made of a release. `block`: of the report, None where nobody attacked."""

    block: dict[str, Any] | None = None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()

    def added(self, report: dict[str, Any]) -> dict[str, Any]:
        """The report with it; one that is public has the warnings alone, which follow from the spec."""
        warnings = [*report["warnings"], *self.warnings]
        if self.block is None or "public" in report:
            return report | {"warnings": warnings}
        satisfied = report["privacy"]["satisfied"] if not self.problems else False
        privacy = report["privacy"] | {"satisfied": satisfied}
        return report | {"privacy": privacy, "attacks": self.block, "warnings": warnings}


def try_release(request: Request, files: Files, table: Table, draft: Draft) -> ReleaseTrial:
    """Lets the attackers that the spec names loose on a release that has been written and not yet published.

    Which row is whose is known. Raises UnsafeError where an excess is above what the spec allows, or could not be
    measured, unless that is allowed; UsageError for a randomized release, DataError for a control that cannot be read.
    """
    risk = request.spec.risk
    if not risk.attacks:
        return ReleaseTrial()
    if request.public and risk.max_excess is None:
        return ReleaseTrial(warnings=(UNREAD,))
    plan = AttackPlan(risk.attacks, risk.max_excess, risk.targets, progress=request.progress)
    block = _tried_on(plan, request.spec, files, table, draft)
    findings, satisfied = _judged(block, plan.max_excess)
    block["satisfied"] = satisfied
    place = request.spec.problem(("risk", "max_excess"), "")
    problems = tuple(replace(place, message=each.message) for each in findings if each.level == "error")
    if problems and not request.allow_unsafe:
        hint = "nothing was written; --allow-unsafe writes it all the same"
        raise UnsafeError([replace(problem, hint=hint) for problem in problems])
    units = () if request.spec.unit is None else (UNITS.format(request.spec.unit),)
    return ReleaseTrial(block, problems, (*units, *map(IDLE.format, block["left_out"])))


def _tried_on(plan: AttackPlan, spec: Spec, files: Files, table: Table, draft: Draft) -> dict[str, Any]:
    """The block `attacks` of a release that is still a temporary file."""
    layout = None
    if draft.groups_in is not None:
        layout = BucketLayout(draft.groups_in, str(files.release[1].part) if len(files.release) > 1 else None)
    with ExitStack() as stack:
        people, control = of_table(spec, table), spec.risk.control
        if control is not None:
            people = stack.enter_context(with_control(spec, files.source, str(control)))
        release = released(people, str(files.table.part), stack, layout)
        row_of = np.full(people.rows, -1)
        row_of[draft.written.rows] = np.arange(release.rows)
        values = coded_values(people, [release])
        return _tried(plan, _scene(plan, people, [release], values, row_of)) | {"truth": "link"}


make_callable(__name__)
