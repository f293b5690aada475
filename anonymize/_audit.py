"""What the `audit` command does: any table, measured against privacy models, whoever made the table.

The table is read as text and measured by `anonymize.verify`; how it came about does not matter. Nothing is guessed:
what means missing, what a suppressed cell reads and which attributes are numbers comes from the spec or the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import field, replace
from functools import partial
from os.path import realpath
from pathlib import Path
from typing import Literal

import polars as pl

from anonymize.auditing import Audited, Original, check_groups, checks_asked, opened, previous, requires
from anonymize.auditing import facts as baseline
from anonymize.auditing.facts import AuditFacts
from anonymize.auditing.sample import Deeper, deeper
from anonymize.declared import declared_synthetic, synthetic_faults
from anonymize.errors import Caution, DataError, Problem, UsageError
from anonymize.files import manifest_of, parameters_beside
from anonymize.formats import Checked, Concluded
from anonymize.judging import refuse_absent
from anonymize.link import load
from anonymize.meaning import Manifest
from anonymize.meaning.manifest import refuse_tables, unjudged
from anonymize.privacy import PARAMETERS
from anonymize.profiling import SEPARATORS, layout_of
from anonymize.publication import SAVE_RISK, named_by, private_files, reported
from anonymize.records import dataclass
from anonymize.spec import Spec, make, override, require
from anonymize.spec.override import with_meaning, with_populations
from anonymize.table import OutputFile
from anonymize.table.scan import check_bytes
from anonymize.verify import THRESHOLD, Spent, Verdict, with_changed, with_differential

OPTION = {"quasi_identifiers": "qi", "sampling_weight": "sampling-weight", "no_normalize": "no-normalize"}
"""What the command line calls an option, where it is not its name."""

NO_CLASSES = Caution.of(
    "rows are invented, as the manifest tells: classes of them are of nobody, and nothing of them is measured",
    "`evaluate` measures how near they are to the original, `attack` what they tell of its people",
)
APART = (
    *("quasi_identifiers", "sensitive", "numeric", "separator", "missing", "suppressed", "sampling_weight", "unit"),
    "no_normalize",
)
"""What describes a table without a spec; beside one it comes from the spec."""


@dataclass(frozen=True)
class Against:
    """What a table is compared with: an earlier report (`baseline`), of which nothing may have become worse if
    `no_regress`; an earlier release of the same people (`previous`), of which row n is about the same individual as row
    n of this table if `by_position`; `previous_link`: which row of their common input each row of it is, where the
    request has the same of this table."""

    baseline: str | Path | None = None
    no_regress: bool = False
    previous: str | Path | None = None
    by_position: bool = False
    previous_link: str | Path | None = None


@dataclass(frozen=True)
class Audit:
    """What `audit` was asked for: a table, and what to measure it against.

    `path`: of the table ("-": standard input; None: the spec's input). `original`: the table that this one was made of,
    in which columns that pass through are compared with quasi-identifiers. `unit_from`: the same, which has the unit
    where this one does not; `link`: which row of it each row is. `st`: the sensitive table,
    where the table is the QIT of a bucketized release; `group`: the column of groups, where the table is bucketized;
    without it `group`, if there is an ST. `manifest`: the file that says what its columns mean, None for the one beside
    it, if there is one. `threshold`: risk above which a record counts as at risk. `further`: what
    else is measured of the risk.

    `reports`: paths, the kind by suffix; `save_risk`: of the risk of every row, private; `force`: files that exist are
    replaced. They are written whatever the verdict.

    `k`, `l`, `t` and `missing_as` (what a missing or suppressed cell is) replace those of the spec; `require`: further
    privacy models, as `anonymize.spec.override` reads them. `encoding`: of the table; `no_header`: its first line is a
    row, and its columns are column_1, column_2, ... The rest describes a table without
    a spec; `numeric`: those of `sensitive` that are compared as numbers.
    """

    spec: Spec | None = None
    path: str | Path | None = None
    unit_from: str | Path | None = None
    original: str | Path | None = None
    link: str | Path | None = None
    st: str | None = None
    group: str | None = None
    manifest: str | None = None
    threshold: float = THRESHOLD
    further: Deeper = field(default_factory=Deeper)
    against: Against = field(default_factory=Against)
    reports: Sequence[str] = ()
    save_risk: str | Path | None = None
    force: bool = False

    k: int | None = None
    l: int | None = None  # noqa: E741
    t: float | None = None
    missing_as: Literal["own-category", "wildcard"] | None = None
    require: Sequence[str] = ()
    encoding: str | None = None

    quasi_identifiers: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    numeric: Sequence[str] = ()
    separator: str | None = None
    missing: Sequence[str] | None = None
    suppressed: str | None = None
    sampling_weight: str | None = None
    unit: str | None = None
    no_normalize: bool = False
    no_header: bool = False

    @property
    def thresholds(self) -> dict[str, float]:
        """The thresholds that were given, of k, l and t."""
        given = {"k": self.k, "l": self.l, "t": self.t}
        return {name: value for name, value in given.items() if value is not None}


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
    >>> table = Path(tempfile.mkdtemp()) / "released.csv"
    >>> _ = table.write_text("age,job,ill\\n30-39,cook,flu\\n30-39,cook,flu\\n50-59,clerk,flu\\n50-59,clerk,gout\\n")
    >>> measured = audit(Audit(path=table, quasi_identifiers=["age", "job"], sensitive=["ill"], k=2, l=2))
    >>> measured.satisfied, [(each.model, each.achieved) for each in measured.verdict.results]
    (False, [('k-anonymity', {'k': 2}), ('distinct-l-diversity', {'l': 1})])
    """
    refuse_tables(request.path)
    _check(request)
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
    spec = _effective(request)
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
    further = (request.unit_from, request.link, request.further.population, request.against.baseline)
    populations = any(each.population is not None for each in facts.requirements)
    return _is_input(request, facts.table.spec) or populations or any(each is not None for each in further)


def _is_input(request: Audit, spec: Spec) -> bool:
    """Whether the table is the spec's own input, and not a release of it."""
    own = spec.input.path
    return own is not None and (request.path is None or realpath(request.path) == realpath(own))


def _unit_from(request: Audit) -> str | Path | None:
    """The table that has the unit: the one that is named, or with a link alone that of a spec with a unit."""
    spec = request.spec
    if request.unit_from is not None or request.link is None or spec is None or spec.unit is None:
        return request.unit_from
    return None if _is_input(request, spec) else spec.input.path


def _original(request: Audit, spec: Spec) -> Original | None:
    """The table that has the unit, as the `spec` of it reads it, and how rows are matched with it."""
    path = _unit_from(request)
    if path is None:
        return None
    own = spec.input
    return Original(path, own.encoding, own.header, request.link, request.against.by_position)


def _measured(
    request: Audit,
    spec: Spec,
    manifest: Manifest,
    records: OutputFile | None,
) -> AuditFacts:
    """The table as it is, and together with the earlier release if there is one."""
    original = _original(request, request.spec or spec)
    classified, detached = request.spec is not None, manifest.detached
    if manifest.synthetic is not None:
        spec = spec.model_copy(update={"unit": None})  # invented rows are about nobody
    with ExitStack() as stack:
        table = stack.enter_context(
            opened(spec, request.path, classified=classified, unit_from=original, detached=detached)
        )
        if manifest.synthetic is not None:
            return _invented(table, manifest)
        requirements, checks = checks_asked(table.spec, grouped=detached is not None)
        measured = table.measured(checks, request.threshold)
        risk = deeper(table, request.further, request.threshold, records)
        methods = {name: each.method for name, each in manifest.changed.items()}
        verdict = with_changed(measured, table.spec.quasi_identifiers, methods)
        verdict = with_differential(verdict, table.spec, None)
        verdict = replace(verdict, passing=table.passing(request.original, request.spec or spec))
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
        return previous.Matching() if against.by_position else None
    link, other = load(request.link), load(against.previous_link)
    link.check(request.link, input=link.input.sha256, release=table.source.sha256)
    other.check(against.previous_link, input=link.input.sha256, release=earlier.source.sha256)
    return previous.Matching((pl.Series(link.rows), pl.Series(other.rows)))


# --- what is required ------------------------------------------------------------------------------------------------


def _check(request: Audit) -> None:
    """Raises UsageError for what makes no sense, whatever the spec."""
    request.further.check()
    against = request.against
    if not 0 < request.threshold <= 1:
        raise UsageError("--threshold: must be above 0 and at most 1")
    if against.no_regress and against.baseline is None:
        raise UsageError("--no-regress: needs a --baseline")
    _check_links(request)
    if against.by_position and against.previous is None and request.unit_from is None:
        raise UsageError("--by-position: needs a --previous or --unit-from")
    inputs = [request.path, request.original, against.previous, request.unit_from, request.further.population]
    inputs.append(request.st)
    if inputs.count("-") > 1:
        raise UsageError("two tables cannot both come from standard input")


def _check_links(request: Audit) -> None:
    """Raises UsageError for links that lead nowhere."""
    against, linked = request.against, request.against.previous_link is not None
    if linked and (against.previous is None or request.link is None):
        raise UsageError("--previous-link: needs --previous, the release that it belongs to, and --link for this table")
    if request.link is not None and _unit_from(request) is None and not linked:
        raise UsageError("--link: needs --unit-from, the table that it refers to, or --previous-link")
    if against.by_position and request.link is not None and (linked or against.previous is None):
        raise UsageError("--by-position: rows are matched by --link")


def _effective(request: Audit) -> Spec:
    """The spec by which the table is read and measured: its own, or one made of the options, with what replaces it."""
    spec = with_meaning(_required(request), request.missing_as)
    return _readable(with_populations(spec, request.further.population), request)


def _required(request: Audit) -> Spec:
    """The spec with the options' thresholds and models; without one, a spec made of the options."""
    if request.spec is None:
        made = require(_spec_of(request), request.require, PARAMETERS)
        _refuse_stray_t(request, made)
        return override(made, t=request.t)
    extra = sorted(name for name in APART if getattr(request, name))
    if extra:
        raise UsageError(
            [f"--{OPTION.get(name, name)}: cannot be given together with a spec, which contains it" for name in extra]
        )
    changed = require(request.spec, request.require, PARAMETERS)
    _refuse_stray_t(request, changed)
    return override(changed, k=request.k, l=request.l, t=request.t)


def _refuse_stray_t(request: Audit, spec: Spec) -> None:
    """Raises UsageError for a t where no t-closeness is required."""
    if request.t is not None and not any("t" in type(each.parameters).model_fields for each in spec.privacy.models):
        hint = f'add one: --require "t-closeness t={request.t:g}", or under `privacy.models` of a spec'
        raise UsageError(Problem("-t: there is no t-closeness model", hint=hint))


def _readable(spec: Spec, request: Audit) -> Spec:
    """The spec as it reads the table at hand: a release is UTF-8 and has names, whatever the spec's own input is."""
    header = not request.no_header and (spec.input.header or not _is_input(request, spec))
    if request.path is None and request.encoding is None:
        return spec.reading(header=header)
    return spec.reading(encoding=request.encoding or _encoding(spec, request.path), header=header)


def _encoding(spec: Spec, path: str | Path | None) -> str:
    """UTF-8, which a release is; that of the spec's own input for a CSV file which is not."""
    own = spec.input.encoding
    if own == "utf8" or path is None or not Path(path).is_file() or Path(path).suffix in (".gz", ".parquet", ".arrow"):
        return "utf8"
    try:
        check_bytes(Path(path), str(path))
    except (OSError, DataError):
        return own
    return "utf8"


def _spec_of(request: Audit) -> Spec:
    """A spec made of the options."""
    if not request.quasi_identifiers:
        raise UsageError("nothing to audit: give a spec, or the quasi-identifiers")
    strange = [name for name in request.numeric if name not in request.sensitive]
    if strange:
        raise UsageError([f"--numeric: {name} is not a sensitive attribute" for name in strange])
    table = {"separator": _separator(request), **{name: getattr(request, name) for name in ("encoding", "missing")}}
    values = {
        "version": 1,
        "input": {name: value for name, value in table.items() if value is not None}
        | {"normalize": not request.no_normalize},
        "quasi_identifiers": {name: {} for name in request.quasi_identifiers},
        **{name: value for name in ("unit", "sampling_weight") if (value := getattr(request, name))},
        "sensitive": {
            name: {"type": "numeric" if name in request.numeric else "categorical"} for name in request.sensitive
        },
        "privacy": {name: value for name, value in request.thresholds.items() if name != "t"},
        "output": {"suppressed": request.suppressed or "*"},
    }
    return make(values, PARAMETERS)


def _separator(request: Audit) -> str | None:
    """The separator that is given, or as `init` guesses it, but for a space; None for the default."""
    if request.separator is not None or request.path is None:
        return request.separator
    guess = layout_of(str(request.path), None, request.encoding).get("separator")
    return guess if guess in SEPARATORS else None


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
    hint = "`privacy: {differential: {epsilon: 1, delta: 1e-9}}` is what is judged of a synthetic table"
    said = "is of classes of people, and the rows are invented"
    if problems := [Problem(f"{name}: {said}", manifest.path, hint=hint) for name, wrong in given.items() if wrong]:
        raise UsageError(problems)
