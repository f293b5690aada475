"""What the `attack` command does: it tries attackers on a release, and measures what they learn.

spec, original ─▶ people   those whom the release is about, and those who are held out of it
release        ─▶ rows     its text read as spans of values, whoever made it
both           ─▶ attacks  each attacker alone (`anonymize.attacks`): rates, baselines, excess
attacks        ─▶ verdict  the upper end of each interval compared with what is allowed

A report has names of columns and rates, no values of cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import field, replace
from functools import partial
from typing import Any

import numpy as np

from anonymize.attacks import ATTACKERS, OF_INVENTED
from anonymize.auditing.retraced import PastReleases, in_series
from anonymize.claims import State, overall
from anonymize.classes import Ints
from anonymize.errors import Caution, Problem, UnsafeError, UsageError, refuse
from anonymize.evaluation.attacked import CodedValues, coded_values, read_release, released
from anonymize.evaluation.invented import UNPAID, ReadRelease
from anonymize.evaluation.people import Known, known_people, of_table, repeated, with_control
from anonymize.evaluation.tried import IDLE, UNLINKED, AttackPlan, judged, scene_of, tried
from anonymize.families import Draft
from anonymize.formats import Checked, Concluded, privacy_block
from anonymize.link import linked_rows, released_row_of
from anonymize.meaning import Manifest
from anonymize.meaning.manifest import refuse_tables
from anonymize.publication import Files, named_by, reported
from anonymize.records import dataclass
from anonymize.report.head import head, spec_path, table_block
from anonymize.request import Companions, Progress, Request
from anonymize.spec import Spec
from anonymize.spec.treatments import METHODS
from anonymize.table import Table


def _about_units(unit: str) -> Caution:
    """That rows are attacked where individuals are protected."""
    said = f"rows are attacked, not individuals: the spec has the unit {unit}, which a release does not show"
    return Caution.of(said, "give `--series STATE` for a series, or read the excess as one of rows")


UNCONTROLLED = Caution.of(
    "without people who are not in the original, what is true of everybody counts as learned of the people in it",
    "`--control TABLE` of other people, held out before the synthetic table was made",
)


@dataclass(frozen=True)
class Attack(Companions):
    """What `attack` was asked for.

    `released`: path of the release. `original`: path, None for the spec's. `control`: a table of people who are not in
    the release, with the original's columns. `previous`: an earlier release of the same people; `series`, `key`: or the
    state of a series that the release is in, by which all earlier ones are found, and its key, by which their people
    are. `attackers`: of ATTACKERS, none for all. `max_excess`: the most that the upper end of an interval may be, None
    to judge nothing. `targets`: how many people are attacked, drawn with `seed`. `reports`: paths, the kind by suffix.
    """

    spec: Spec
    released: str
    original: str | None = None
    control: str | None = None
    previous: str | None = None
    series: str | None = None
    key: str | None = None
    attackers: Sequence[str] = ()
    max_excess: float | None = None
    targets: int = 2000
    seed: int = 0
    reports: Sequence[str] = ()
    force: bool = False
    progress: Progress = field(default=lambda stage, count, total: None)

    @property
    def plan(self) -> AttackPlan:
        """What of it is not about files."""
        return AttackPlan(self.attackers, self.max_excess, self.targets, self.seed, self.progress)


def attack(request: Attack) -> Concluded:
    """Attacks a release. Raises UsageError for attackers that there are not, releases that have no cells to attack, and
    inputs that make no sense together; DataError for tables that cannot be read."""
    refuse_tables(request.released)
    _check(request)
    return reported(partial(_attacked, request), request.reports, force=request.force, inputs=_inputs(request))


def _inputs(request: Attack) -> list[object]:
    original = request.original or request.spec.input.path
    tables = [request.released, original, request.control, request.previous, request.st]
    return [*tables, request.link, request.manifest, request.series, request.key, *named_by(request.spec)]


def _check(request: Attack) -> None:
    """Raises UsageError for what makes no sense, whatever the release."""
    every = ", ".join(ATTACKERS)
    unknown = {f"--attackers: {name} is not one of {every}": name not in ATTACKERS for name in request.attackers}
    excess, inputs = request.max_excess, [request.released, request.original, request.control, request.previous]
    of_numbers = {name for name, each in ATTACKERS.items() if each.CAPABILITIES.numbers}
    nothing_known = not request.spec.quasi_identifiers and not of_numbers.issuperset(request.attackers)
    refuse(
        unknown
        | {
            "--max-excess: is from 0 to 1": excess is not None and not 0 <= excess <= 1,
            "--targets: is at least 1": request.targets < 1,
            "two tables cannot both come from standard input": inputs.count("-") > 1,
            "--previous: is one of those that --series names": None not in (request.series, request.previous),
            "--key: needs --series": request.key is not None and request.series is None,
            "attackers know quasi-identifiers, and the spec has none: list what others may know": nothing_known,
        }
    )


def _check_invented(request: Attack, manifest: Manifest) -> None:
    """Raises UsageError, of invented rows, for attackers and files that are about rows of people."""
    if manifest.synthetic is None:
        return
    given = {"--link": request.link, "--previous": request.previous, "--series": request.series}
    why = "rows are invented, as the manifest says, and none belongs to a person"
    reasons = {f"{option}: {why}": value is not None for option, value in given.items()}
    for name in request.attackers:
        can = ATTACKERS[name].CAPABILITIES
        uncontrolled = can.invented is None and can.control and request.control is None
        reasons[f"--attackers: {name} {can.invented}"] = can.invented is not None
        reasons[f"--attackers: {name} needs people who are not in the original (--control)"] = uncontrolled
    refuse(reasons, hint=f"of invented rows: {', '.join(OF_INVENTED)}")


def _of_invented(request: Attack, values: CodedValues) -> list[Caution]:
    """What there is to say of figures of invented rows."""
    if values.points is None:
        return []
    return [UNPAID] if request.control is not None else [UNPAID, UNCONTROLLED]


def _attacked(request: Attack) -> Concluded:
    with ExitStack() as stack:
        request.progress("read", 0, 0)
        people = stack.enter_context(known_people(request.spec, request.original, request.control))
        given = {"manifest": request.manifest, "st": request.st, "group": request.group}
        manifest = Manifest.of(request.spec, request.released, **given)
        _check_invented(request, manifest)
        release = read_release(people, request.released, manifest, stack)
        past = _past(request, release)
        earlier = [released(people, path, stack) for path in past.paths]
        values = coded_values(people, [release, *earlier])
        row_of, truth = (None, "nobody") if values.points else _rows(request, people, release, values, past)
        scene = scene_of(request.plan, people, [release, *earlier], values, row_of)
        scene = scene.with_chains(past.rows_of)
        block = tried(request.plan, scene) | {"truth": truth}
        numeric = any(METHODS[each.method].NUMBERS for each in manifest.changed.values() if each.method in METHODS)
        unlinked = [
            name
            for name in block["left_out"]
            if values.points is None and row_of is None and _lacks_link(name, numeric=numeric)
        ]
        if refused := [name for name in unlinked if name in request.attackers]:
            raise UsageError(Problem(UNLINKED.format(", ".join(refused)), hint="--link FILE, the file of --save-link"))
        if request.attackers and block["left_out"] and request.max_excess is None:
            raise UsageError([f"--attackers {IDLE.format(name)}" for name in block["left_out"]])
        findings, state = judged(block, request.plan, people.doubt)
        remarks = [*people.remarks, *past.remarks, *manifest.remarks, *_of_invented(request, values)]
        changed = [name for name in unlinked if ATTACKERS[name].CAPABILITIES.numbers]
        remarks += [Caution.of(UNLINKED.format(name), "`--link FILE`, the file of `--save-link`") for name in changed]
        report = _head(request, people, release, remarks) | {"attacks": block}
        report["privacy"] = privacy_block(findings, state) | {"models": []}
    return Concluded(state, Checked(report, findings))


def _lacks_link(name: str, *, numeric: bool) -> bool:
    """Whether an attacker could do nothing because he did not know whose rows are whose. `numeric`: the release changed
    numbers."""
    can = ATTACKERS[name].CAPABILITIES
    return can.link and (numeric or not can.numbers)


def _past(request: Attack, release: ReadRelease) -> PastReleases:
    """The releases before this one: one that is named, or those of a series."""
    if request.series is not None:
        return in_series(request.spec, request.series, request.key, release.file.source.sha256)
    named = [] if request.previous is None else [request.previous]
    return PastReleases(named, [None for _ in named])


# --- whom each row is about -------------------------------------------------------------------------------------------


def _rows(
    request: Attack, people: Known, release: ReadRelease, values: CodedValues, past: PastReleases
) -> tuple[Ints | None, str]:
    """(people of the original,) the released row about each, -1 for none, and how that is known: by the link, by
    position where rows keep their order and their sensitive values agree; None, "regions" where it is not."""
    path = request.link or past.link
    if path is not None:
        rows = linked_rows(path, input=people.sha256, release=release.file.source.sha256, with_earlier=True)
        return released_row_of(rows, people.rows), "link"
    alike = all(np.array_equal(values.people[name][: people.rows], values.releases[0][name]) for name in values.sizes)
    if request.spec.output.row_order == "keep" and release.file.rows == people.rows and alike:
        return np.arange(people.rows), "position"
    return None, "regions"


# --- the report -------------------------------------------------------------------------------------------------------


def _head(request: Attack, people: Known, release: ReadRelease, remarks: Sequence[Caution]) -> dict[str, Any]:
    source, unit = release.file.source, request.spec.unit
    return {
        **head(),
        "spec": spec_path(request.spec),
        "input": table_block(source, source.rows),
        "original": {"path": people.path, "sha256": people.sha256, "rows": people.rows},
        "seed": request.seed,
        "warnings": [*([] if unit is None or request.series is not None else [_about_units(unit)]), *remarks],
    }


# --- before a release takes its place ---------------------------------------------------------------------------------


UNREAD = Caution.of(
    "risk.attacks: a public report has no attacks, and no max_excess judges them: nothing was attacked",
    "`risk: {max_excess: 0.05}`, or a private report",
)


@dataclass(frozen=True)
class AttackTrial:
    """What the attackers of a spec made of a release. `block`: of the report, None where nothing was attacked."""

    block: dict[str, Any] | None = None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Caution, ...] = ()

    def added(self, report: dict[str, Any]) -> dict[str, Any]:
        """The report with it; one that is public has the warnings alone, which follow from the spec."""
        warnings = [*report["warnings"], *self.warnings]
        if self.block is None or "public" in report:
            return report | {"warnings": warnings}
        state = overall([State(report["privacy"]["state"]), State(self.block["state"])])
        privacy = report["privacy"] | {"satisfied": state.satisfied, "state": str(state)}
        return report | {"privacy": privacy, "attacks": self.block, "warnings": warnings}


def try_release(request: Request, files: Files, table: Table, draft: Draft) -> AttackTrial:
    """Tries the attackers that the spec names on a release that has been written and not yet published.

    Which row is whose is known. Raises UnsafeError where an excess is above what the spec allows, or could not be
    measured, unless that is allowed; UsageError for columns whose meaning nothing reads; DataError for a control that
    cannot be read.
    """
    risk = request.spec.risk
    if request.public and risk.max_excess is None:
        return AttackTrial(warnings=(UNREAD,))
    plan = AttackPlan(risk.attacks, risk.max_excess, risk.targets, progress=request.progress)
    block, people = _tried_on(plan, request.spec, files, table, draft)
    findings, state = judged(block, plan, people.doubt)
    block |= {"satisfied": state.satisfied, "state": str(state)}
    place = request.spec.problem(("risk", "max_excess"), "")
    problems = tuple(replace(place, message=each.message) for each in findings if each.level == "error")
    if problems and not request.allow_unsafe:
        hint = "nothing was written; --allow-unsafe writes it all the same"
        raise UnsafeError([replace(problem, hint=hint) for problem in problems])
    units = () if request.spec.unit is None else (_about_units(request.spec.unit),)
    left_out = [] if plan.max_excess is not None else block["left_out"]
    idle = [Caution.of(f"risk.attacks: {IDLE.format(name)}", "take it out of `risk.attacks`") for name in left_out]
    return AttackTrial(block, problems, (*units, *idle, *people.remarks))


def _tried_on(plan: AttackPlan, spec: Spec, files: Files, table: Table, draft: Draft) -> tuple[dict[str, Any], Known]:
    """The block `attacks` of a release that is still a temporary file, and who was attacked."""
    with ExitStack() as stack:
        people = replace(of_table(spec, table.as_read), remarks=repeated(spec, files.source))
        control = spec.risk.control
        if control is not None:
            people = stack.enter_context(with_control(spec, files.source, str(control)))
        release = read_release(people, str(files.table.part), draft.manifest(files), stack)
        row_of = released_row_of(draft.written.rows, people.rows)
        values = coded_values(people, [release])
        block = tried(plan, scene_of(plan, people, [release], values, row_of)) | {"truth": "link"}
        return block, people
