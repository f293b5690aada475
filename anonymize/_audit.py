"""What the `audit` command does: any table, measured against privacy models, whoever made the table.

The table is read as text and measured by `anonymize.verify`; how it came about does not matter. Nothing is guessed:
what means missing, what a suppressed cell reads and which attributes are numbers comes from the spec or the caller.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import polars as pl

from anonymize.auditing import Audited, Original, check_groups, checks_asked, opened, previous, requires
from anonymize.auditing import facts as baseline
from anonymize.auditing.facts import AuditFacts
from anonymize.auditing.request import Audit, check, deeper, effective, is_input, unit_from_of
from anonymize.declared import declared_synthetic, synthetic_faults
from anonymize.errors import Caution, Problem, UsageError
from anonymize.files import manifest_of, parameters_beside
from anonymize.formats import Checked, Concluded
from anonymize.judging import refuse_absent
from anonymize.link import load
from anonymize.meaning import Manifest
from anonymize.meaning.manifest import refuse_tables, unjudged
from anonymize.publication import SAVE_RISK, named_by, private_files, reported
from anonymize.records import dataclass
from anonymize.spec import Spec
from anonymize.table import OutputFile
from anonymize.verify import Spent, Verdict, with_changed, with_differential

NO_CLASSES = Caution.of(
    "rows are invented, as the manifest says: their classes are not classes of people and are not measured",
    "`evaluate` measures how close they are to the original, `attack` what they reveal about its people",
)


@dataclass(frozen=True)
class AuditResult(Concluded):
    """A table, measured: the `verdict`, and whether the table is safe to release. One that has a direct identifier of
    the spec is not, whatever the models say."""

    verdict: Verdict


def audit(request: Audit) -> AuditResult:
    """Measures a table against a spec or the options.

    Where neither requires anything, k and the l of every sensitive attribute are measured and nothing is judged. Raises
    UsageError or SpecError for options or a spec that make no sense; DataError for a table without rows, that cannot be
    read, lacks a column or has one without a role.

    >>> import tempfile
    >>> from pathlib import Path
    >>> table = Path(tempfile.mkdtemp()) / "released.csv"
    >>> _ = table.write_text("age,job,ill\\n30-39,cook,flu\\n30-39,cook,flu\\n50-59,clerk,flu\\n50-59,clerk,gout\\n")
    >>> measured = audit(Audit(path=table, quasi_identifiers=["age", "job"], sensitive=["ill"], k=2, l=2))
    >>> measured.satisfied, [(each.model, each.achieved) for each in measured.verdict.results]
    (False, [('k-anonymity', {'k': 2}), ('distinct-l-diversity', {'l': 1})])
    """
    refuse_tables(request.path)
    check(request)
    inputs, private = _inputs(request), {} if request.save_risk is None else {SAVE_RISK: str(request.save_risk)}
    with private_files(private, force=request.force, inputs=inputs, reports=request.reports) as files:
        conclude = partial(_audited, request, files.get(SAVE_RISK))
        return reported(conclude, request.reports, force=request.force, inputs=inputs, beside=[*files.values()])


def _inputs(request: Audit) -> list[object]:
    """The files that are read, but for the baseline, whose place the report may take."""
    tables = [request.path, request.original, request.unit_from, request.st, request.against.previous]
    spec = request.spec
    of_spec = [] if spec is None else [*named_by(spec), *([spec.input.path] if request.path is None else [])]
    return [*tables, request.manifest, request.link, request.against.previous_link, *of_spec]


def _audited(request: Audit, records: OutputFile | None) -> AuditResult:
    """The table, measured against what the request asks for; the risk of every record goes to `records`."""
    against = request.against
    before = None if against.baseline is None else baseline.read(against.baseline)
    spec = effective(request)
    facts = _measured(request, spec, _manifest(spec, request), records)
    refuse_absent(facts.verdict.absent)
    if before is not None:
        changes = tuple(baseline.compare(before, facts.report()))
        facts = replace(facts, baseline=against.baseline, changes=changes, no_regress=against.no_regress)
    facts = replace(facts, private=_is_private(request, facts))
    return AuditResult(facts.state, Checked(facts.report(), facts.findings()), facts.verdict)


def _is_private(request: Audit, facts: AuditFacts) -> bool:
    """Whether the report tells more than the table and the spec do: of a spec's own input, and where it is measured
    with what is not published (whom rows are about, a population, a link, the figures of an earlier report)."""
    further = (request.original, request.unit_from, request.link, request.further.population, request.against.baseline)
    populations = any(each.population is not None for each in facts.requirements)
    return is_input(request, facts.table.spec) or populations or any(each is not None for each in further)


def _measured(request: Audit, spec: Spec, manifest: Manifest, records: OutputFile | None) -> AuditFacts:
    """The table as it is, and together with the earlier release if there is one."""
    path, own = unit_from_of(request), (request.spec or spec).input
    by_position = request.against.by_position
    whose = None if path is None else Original(path, own.encoding, own.header, request.link, by_position)
    classified, detached = request.spec is not None, manifest.detached
    if manifest.synthetic is not None:
        spec = spec.model_copy(update={"unit": None})  # invented rows are about nobody
    with ExitStack() as stack:
        table = stack.enter_context(
            opened(spec, request.path, classified=classified, unit_from=whose, detached=detached)
        )
        if manifest.synthetic is not None:
            return _invented(table, manifest)
        requirements, checks = checks_asked(table.spec, grouped=detached is not None)
        original = stack.enter_context(table.original(request.original, request.spec or spec))
        measured = table.measured(checks, request.threshold, original=original)
        risk = deeper(table, request.further, request.threshold, records)
        methods = {name: each.method for name, each in manifest.changed.items()}
        verdict = with_changed(measured, table.spec.quasi_identifiers, methods)
        verdict = with_differential(verdict, table.spec, None)
        verdict = replace(verdict, passing=table.passing(original))
        facts = AuditFacts(table, requirements, verdict, risk, remarks=manifest.remarks)
        if request.against.previous is not None:
            alone = table.spec.model_copy(update={"unit": None, "sampling_weight": None})
            earlier = stack.enter_context(opened(alone, request.against.previous, classified=False))
            matching = _matching(request, table, earlier)
            both = previous.together(table, earlier, checks, facts.verdict, request.threshold, matching)
            facts = replace(facts, together=both)
        table.source.unchanged()
    return facts


def _invented(table: Audited, manifest: Manifest) -> AuditFacts:
    """A synthetic table, of which no class is one of people: whether it is what its manifest declares, and what that
    comes to as differential privacy."""
    declared, spec = declared_synthetic(manifest.synthetic or {}, manifest.path), table.spec
    known: Spent | str = declared.spent
    required = spec.privacy.differential is not None
    if required and (wrong := synthetic_faults(spec, declared, table.source.scan(), table.source.format)):
        known = f"the table is not what its manifest declares: {'; '.join(wrong)}"
    rows = int(table.source.scan().select(pl.len()).collect().item())
    verdict = with_differential(Verdict(rows, 0, (), {}, {}), spec, known)
    table.source.unchanged()
    return AuditFacts(table, (), verdict, remarks=[NO_CLASSES, *manifest.remarks])


def _matching(request: Audit, table: Audited, earlier: Audited) -> previous.Matching | None:
    """Which rows of both releases are about the same individual: by their links to one input, by position, or unknown.

    Raises DataError for links that are not those of the releases, or of one input.
    """
    against = request.against
    if request.link is None or against.previous_link is None:
        return "position" if against.by_position else None
    link, other = load(request.link), load(against.previous_link)
    link.check(request.link, input=link.input.sha256, release=table.source.sha256)
    other.check(against.previous_link, input=link.input.sha256, release=earlier.source.sha256)
    return pl.Series(link.rows), pl.Series(other.rows)


def _manifest(spec: Spec, request: Audit) -> Manifest:
    """What the columns of the table mean. Raises UsageError for what cannot be measured of groups, and for a table
    whose cells may show anything: its risk depends on the original."""
    path, given = None if request.path is None else str(request.path), (request.manifest, request.st, request.group)
    if path is not None and given == (None, None, None) and manifest_of(path) == parameters_beside(path):
        if requires(spec):  # whatever is in the parameters
            raise unjudged(path, parameters_beside(path))
        return Manifest.of_spec(spec)
    manifest = Manifest.of(spec, path, manifest=request.manifest, st=request.st, group=request.group)
    if manifest.detached is not None:
        check_groups(manifest.detached, spec)
        if request.against.previous is not None:
            raise UsageError("--previous: is for releases with equivalence classes, and this one is bucketized")
    if manifest.synthetic is not None:
        _check_invented(spec, request, manifest)
    elif requires(spec):
        manifest.check_judged(path)
        manifest.check_read([*spec.quasi_identifiers, *spec.sensitive], "judged without its original")
    return manifest


def _check_invented(spec: Spec, request: Audit, manifest: Manifest) -> None:
    """Raises UsageError for what is required or measured of classes of invented rows, of which none is of people."""
    more = request.further
    deeper_measures = (more.subsets, more.log_linear, more.fraction, more.population)
    given = {
        "k, l and other models": requires(spec) or spec.privacy.passing is not None,
        "--previous": request.against.previous is not None,
        "--unit-from": request.unit_from is not None,
        "--save-risk": request.save_risk is not None,
        "subsets, population and sample": any(each is not None for each in deeper_measures),
    }
    hint = "`privacy: {differential: {epsilon: 1, delta: 1e-9}}` is what can be judged of a synthetic table"
    said = "concerns classes of people, and the rows are invented"
    if problems := [Problem(f"{name}: {said}", manifest.path, hint=hint) for name, wrong in given.items() if wrong]:
        raise UsageError(problems)
