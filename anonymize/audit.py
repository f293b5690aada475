"""What the `audit` command does: any table, measured against privacy models, whoever made the table.

The table is read as text and measured by `anonymize.verify`; how it came about does not matter. Nothing is guessed:
what means missing, what a suppressed cell reads and which attributes are numbers comes from the spec or the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from anonymize.auditing import baseline, previous
from anonymize.auditing.buckets import BucketLayout
from anonymize.auditing.facts import AuditFacts
from anonymize.auditing.sample import Deeper, deeper
from anonymize.auditing.table import Original, opened
from anonymize.errors import Problem, UsageError
from anonymize.formats import Checked
from anonymize.names import parameters_of
from anonymize.privacy import PARAMETERS, Requirement, requirements
from anonymize.privacy.asked import diversities
from anonymize.spec import Spec, make, override, require
from anonymize.verify import THRESHOLD, Check, Verdict, checks_of

UNJUDGED = ("distinct-l-diversity", "entropy-l-diversity", "frequency-l-diversity")
"""What is measured of every sensitive attribute when nothing is required."""


OPTION = {"quasi_identifiers": "qi", "sampling_weight": "sampling-weight"}
"""What the command line calls an option, where it is not its name."""


class Options(TypedDict, total=False):
    """What the command line says. Columns and text are for an audit without a spec; k, l and t go before the spec's."""

    quasi_identifiers: Sequence[str]
    sensitive: Sequence[str]
    numeric: Sequence[str]
    """Those of `sensitive` that are compared as numbers."""
    k: int | None
    l: int | None  # noqa: E741
    t: float | None
    separator: str | None
    encoding: str | None
    missing: Sequence[str] | None
    suppressed: str | None
    missing_as: Literal["own-category", "wildcard"] | None
    """What a missing or suppressed cell is; goes before the spec's."""
    sampling_weight: str | None
    """The column of sampling weights."""
    unit: str | None
    """The column that says whom a row is about."""
    require: Sequence[str]
    """Further privacy models, as `anonymize.spec.require` reads them."""
    st: str | None
    """The ST, where the table is the QIT of a bucketized release."""
    group: str | None
    """The column of groups, where the table is bucketized; without it `group`, if there is an ST."""


@dataclass(frozen=True)
class Audit:
    """A table, measured: the verdict, and what is printed of it.

    `satisfied`: whether the table is safe to release; None where nothing was required. A table that has one of the
    spec's direct identifiers is not, whatever the models say.
    """

    verdict: Verdict
    satisfied: bool | None
    checked: Checked

    @property
    def report(self) -> dict[str, Any]:
        """What `--json` prints."""
        return self.checked.report

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is not met, with the line of the spec that asks for it: empty unless `satisfied` is False."""
        unmet = self.checked.at("error")
        return tuple(Problem(finding.message, file=finding.file, line=finding.line) for finding in unmet)


@dataclass(frozen=True)
class Against:
    """What a table is compared with: an earlier report (`baseline`), of which nothing may have become worse if
    `no_regress`; an earlier release of the same people (`previous`)."""

    baseline: str | Path | None = None
    no_regress: bool = False
    previous: str | Path | None = None


def audit(
    spec: Spec | None,
    path: str | Path | None = None,
    threshold: float = THRESHOLD,
    against: Against | None = None,
    wanted_risk: Deeper | None = None,
    unit_from: str | Path | None = None,
    **options: Unpack[Options],
) -> Audit:
    """Measures the table at `path` ("-": standard input; None: the spec's input) against a spec or the options.

    Where neither requires anything, k and the l of every sensitive attribute are measured and nothing is judged.
    `threshold`: risk above which a record counts as at risk. `wanted_risk`: what else is asked of the risk.
    `unit_from`: the table that this one was made of, row for row, which has the unit where this one does not. Raises
    UsageError or SpecError for options or a spec that make no sense; DataError for a table without rows, that cannot be
    read, lacks a column or has one without a role.
    """
    against, further = against or Against(), wanted_risk or Deeper()
    _check(threshold, against, further, [path, against.previous, unit_from, further.population, options.get("st")])
    before = None if against.baseline is None else baseline.read(against.baseline)
    meant = _meaning(_wanted(spec, options), options.get("missing_as"))
    wanted = _readable(_against_people(meant, further.population), path, options.get("encoding"))
    grouping = _grouping(wanted, path, options, against)
    asked, checks = _checks(wanted, grouped=grouping is not None)
    if asked:
        _refuse_randomized(path)
    encoding = wanted.input.encoding if spec is None else spec.input.encoding
    original = None if unit_from is None else Original(unit_from, encoding)
    alone = wanted.model_copy(update={"unit": None, "sampling_weight": None})
    with ExitStack() as stack:
        table = stack.enter_context(
            opened(wanted, path, classified=spec is not None, unit_from=original, grouping=grouping)
        )
        found = deeper(table, further, threshold)
        facts = AuditFacts(table, asked, table.measured(checks, threshold), found)
        if against.previous is not None:
            earlier = stack.enter_context(opened(alone, against.previous, classified=False))
            facts = replace(facts, together=previous.together(table, earlier, checks, threshold))
        table.source.unchanged()
    if before is not None:
        changes = tuple(baseline.compare(before, facts.report()))
        facts = replace(facts, baseline=against.baseline, changes=changes, no_regress=against.no_regress)
    return Audit(facts.verdict, facts.satisfied, Checked(facts.report(), facts.findings()))


# --- what is asked ---------------------------------------------------------------------------------------------------


def _check(threshold: float, against: Against, further: Deeper, inputs: Sequence[str | Path | None]) -> None:
    """Raises UsageError for what makes no sense, whatever the spec."""
    further.check()
    if not 0 < threshold <= 1:
        raise UsageError("--threshold: is above 0 and at most 1")
    if against.no_regress and against.baseline is None:
        raise UsageError("--no-regress: needs a --baseline")
    if inputs.count("-") > 1:
        raise UsageError("two tables cannot both come from standard input")


def _wanted(spec: Spec | None, options: Options) -> Spec:
    """The spec with the options' thresholds; without one, a spec made of the options."""
    thresholds = {name: options.get(name) for name in ("k", "l", "t") if options.get(name) is not None}
    texts = options.get("require", ())
    if spec is None:
        return require(_spec_of(options, thresholds), texts, PARAMETERS)
    beside = {"k", "l", "t", "encoding", "require", "missing_as", "st", "group"}
    extra = sorted(name for name in options.keys() - beside if options.get(name))
    if extra:
        raise UsageError(
            [f"--{OPTION.get(name, name)}: comes from the spec, it cannot be given beside one" for name in extra]
        )
    changed = require(spec, texts, PARAMETERS)
    return override(changed, k=options.get("k"), l=options.get("l"), t=options.get("t"))


def _meaning(spec: Spec, missing_as: str | None) -> Spec:
    """The spec with the meaning of missing that was asked for."""
    if missing_as is None:
        return spec
    return spec.model_copy(update={"privacy": spec.privacy.model_copy(update={"missing": missing_as})})


def _against_people(spec: Spec, population: str | Path | None) -> Spec:
    """The spec with a population for the journalist's risk, where it bounds that and names none."""
    entries = spec.privacy.models
    models = tuple(_with_population(each, population) if each.model == "risk" else each for each in entries)
    return spec.model_copy(update={"privacy": spec.privacy.model_copy(update={"models": models})})


def _with_population(entry: Any, population: str | Path | None) -> Any:
    given = entry.parameters
    if population is None or given.journalist_max is None or given.population is not None:
        return entry
    return entry.model_copy(update={"parameters": given.model_copy(update={"population": Path(population)})})


def _readable(spec: Spec, path: str | Path | None, encoding: str | None) -> Spec:
    """The spec with the encoding of the table at hand: a release is UTF-8, whatever the spec's own input is."""
    if path is None and encoding is None:
        return spec
    table = spec.input.model_copy(update={"encoding": encoding or "utf8"})
    return spec.model_copy(update={"input": table})


def _spec_of(options: Options, thresholds: Mapping[str, object]) -> Spec:
    if not options.get("quasi_identifiers"):
        raise UsageError("nothing to audit: give a spec, or the quasi-identifiers")
    numeric = options.get("numeric", ())
    strange = [name for name in numeric if name not in options.get("sensitive", ())]
    if strange:
        raise UsageError([f"--numeric: {name} is none of the sensitive attributes" for name in strange])
    table = {name: options.get(name) for name in ("separator", "encoding", "missing")}
    values = {
        "version": 1,
        "input": {name: value for name, value in table.items() if value is not None},
        "quasi_identifiers": {name: {} for name in options.get("quasi_identifiers", ())},
        **{name: options.get(name) for name in ("unit", "sampling_weight") if options.get(name)},
        "sensitive": {
            name: {"type": "numeric" if name in numeric else "categorical"} for name in options.get("sensitive", ())
        },
        "privacy": thresholds,
        "output": {"suppressed": options.get("suppressed") or "*"},
    }
    return make(values, PARAMETERS)


def _grouping(spec: Spec, path: str | Path | None, options: Options, against: Against) -> BucketLayout | None:
    """How the table is bucketized, if it is. Raises UsageError for what cannot be measured of groups."""
    found = BucketLayout.of(path, options.get("st"), options.get("group"))
    if found is not None:
        found.check(spec)
        if against.previous is not None:
            raise UsageError("--previous: is for releases with equivalence classes, and this one is bucketized")
    return found


def _refuse_randomized(path: str | Path | None) -> None:
    """Raises UsageError for a randomized table, as its parameters beside it tell: its risk depends on the original."""
    beside = None if path is None else parameters_of(str(path))
    if beside is not None:
        told = f"{path}: is randomized, as {beside} tells, and cannot be judged without its original"
        hint = "randomize has checked it; evaluate and reconstruct measure what it tells"
        raise UsageError(Problem(told, hint=hint))


def _checks(spec: Spec, *, grouped: bool) -> tuple[tuple[Requirement, ...], list[Check]]:
    """What the spec requires, and the checks that measure it, one each; if nothing, no requirement and every check.

    `grouped`: of the groups of a bucketized table, which have no k-anonymity.
    """
    privacy = spec.privacy
    if privacy.k is None and privacy.l is None and not privacy.models:
        found = _unjudged(spec)
        return (), [check for check in found if check.attribute] if grouped else found
    asked = diversities(spec) if grouped else requirements(spec)
    return asked, checks_of(spec, asked)


def _unjudged(spec: Spec) -> list[Check]:
    checks = [Check("k-anonymity", None, {})]
    for name, attribute in spec.sensitive.items():
        numeric = attribute.type == "numeric"
        models = (*UNJUDGED, "squared-error-diversity") if numeric else UNJUDGED
        checks += [Check(model, name, {}, numeric) for model in models]
    return checks
