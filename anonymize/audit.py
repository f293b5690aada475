"""What the `audit` command does: any table, measured against privacy models, whoever made the table.

The table is read as text and measured by `anonymize.verify`; how it came about does not matter. Nothing is guessed:
what means missing, what a suppressed cell reads and which attributes are numbers comes from the spec or the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from anonymize import __version__
from anonymize.errors import DataError, Problem, UsageError
from anonymize.names import sensitive_table_of
from anonymize.privacy import PARAMETERS, Requirement, requirements
from anonymize.privacy.asked import diversities
from anonymize.report.data import SCHEMA_VERSION, verdict_blocks
from anonymize.spec import Spec, make, override
from anonymize.table.source import Source
from anonymize.verify import THRESHOLD, Check, Verdict, checks_of, measure
from anonymize.verify_bucketized import COUNT, Reading, measure_bucketized

if TYPE_CHECKING:
    import polars as pl

UNJUDGED = ("distinct-l-diversity", "entropy-l-diversity", "frequency-l-diversity")
"""What is measured of every sensitive attribute when nothing is required."""


OPTION = {"quasi_identifiers": "qi"}
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
    st: str | None
    """The ST, where the table is the QIT of a bucketized release."""
    group: str | None
    """The column of groups, where the table is bucketized; without it `group`, if there is an ST."""


@dataclass(frozen=True)
class Audit:
    """A table, measured: the verdict, and what `--json` prints.

    `satisfied`: whether the table is safe to release; None where nothing was required. A table that has one of the
    spec's direct identifiers is not, whatever the models say.
    """

    verdict: Verdict
    satisfied: bool | None
    report: dict[str, Any]
    problems: tuple[Problem, ...]
    """What is not met, with the line of the spec that asks for it: empty unless `satisfied` is False."""


def audit(
    spec: Spec | None, path: str | Path | None = None, threshold: float = THRESHOLD, **options: Unpack[Options]
) -> Audit:
    """Measures the table at `path` ("-": standard input; None: the spec's input) against a spec or the options.

    Where neither requires anything, k and the l of every sensitive attribute are measured and nothing is judged.
    `threshold`: risk above which a record counts as at risk. Raises UsageError or SpecError for options or a spec that
    make no sense; DataError for a table without rows, that cannot be read, lacks a column or has one without a role.
    """
    wanted = _readable(_wanted(spec, options), path, options.get("encoding"))
    with ExitStack() as stack:
        source = stack.enter_context(Source.open(wanted, path))
        groups = Groups.of(wanted, source, options.get("group"), _sensitive_table(wanted, path, options, stack))
        columns = _released_columns(wanted, source.columns if groups is None else groups.columns, source.name)
        exposed = [name for name in wanted.identifiers if name in source.columns]
        if spec is not None:
            _refuse_unclassified(wanted, columns, source, () if groups is None else (groups.name,))
        asked, checks = _checks(wanted, grouped=groups is not None)
        source.check()
        if not source.rows:
            raise DataError(Problem("has no rows", file=source.name))
        released = [name for names in columns.values() for name in names]
        null_missing = source.format != "csv" or "" in wanted.input.missing
        if groups is not None:
            reading = Reading(groups.name, wanted.input.missing, null_missing, threshold)
            verdict = measure_bucketized(source.scan(), groups.sensitive(), released, checks, reading)
        else:
            verdict = measure(
                source.scan(),
                released,
                checks,
                wanted.input.missing,
                suppressed=wanted.output.suppressed,
                threshold=threshold,
                null_missing=null_missing,
            )
        source.unchanged()
        satisfied = verdict.satisfied if verdict.satisfied is None else verdict.satisfied and not exposed
        report = _report(wanted, source, verdict, satisfied, _warnings(exposed))
    return Audit(verdict, satisfied, report, tuple(_problems(wanted, asked, verdict, exposed)) if asked else ())


# --- what is asked ---------------------------------------------------------------------------------------------------


def _wanted(spec: Spec | None, options: Options) -> Spec:
    """The spec with the options' thresholds; without one, a spec made of the options."""
    thresholds = {name: options.get(name) for name in ("k", "l", "t") if options.get(name) is not None}
    if spec is None:
        return _spec_of(options, thresholds)
    beside = {"k", "l", "t", "encoding", "st", "group"}
    extra = sorted(name for name in options.keys() - beside if options.get(name))
    if extra:
        raise UsageError(
            [f"--{OPTION.get(name, name)}: comes from the spec, it cannot be given beside one" for name in extra]
        )
    return override(spec, k=options.get("k"), l=options.get("l"), t=options.get("t"))


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
    table = {name: options.get(name) for name in ("separator", "encoding", "missing")}
    values = {
        "version": 1,
        "input": {name: value for name, value in table.items() if value is not None},
        "quasi_identifiers": {name: {} for name in options.get("quasi_identifiers", ())},
        "sensitive": {
            name: {"type": "numeric" if name in numeric else "categorical"} for name in options.get("sensitive", ())
        },
        "privacy": thresholds,
        "output": {"suppressed": options.get("suppressed") or "*"},
    }
    return make(values, PARAMETERS)


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


# --- groups ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Groups:
    """That a table is bucketized: its column of groups, its columns with the sensitive ones, and the ST, if apart."""

    name: str
    columns: tuple[str, ...]
    st: Source | None

    @classmethod
    def of(cls, spec: Spec, source: Source, name: str | None, st: Source | None) -> Groups | None:
        """None where neither an ST nor a column of groups is there. Raises DataError for columns that are lacking."""
        if name is None and st is None:
            return None
        name = name or "group"
        wanted = [(source, name), *([(st, each) for each in (name, COUNT, *spec.sensitive)] if st else [])]
        lacking = [
            Problem(f"has no column {each}", file=table.name, hint=f"it has {', '.join(table.columns)}")
            for table, each in wanted
            if each not in table.columns
        ]
        if lacking:
            raise DataError(lacking)
        return cls(name, (*source.columns, *(each for each in spec.sensitive if st)), st)

    def sensitive(self) -> pl.LazyFrame | None:
        """The ST's rows, once it has been found sound."""
        if self.st is None:
            return None
        self.st.check()
        return self.st.scan()


def _sensitive_table(spec: Spec, path: str | Path | None, options: Options, stack: ExitStack) -> Source | None:
    """The ST that is named, or that lies beside a table called `.qit`."""
    st = options.get("st") or (sensitive_table_of(str(path)) if path is not None else None)
    return None if st is None else stack.enter_context(Source.open(spec, st))


# --- the table's columns ---------------------------------------------------------------------------------------------


def _released_columns(spec: Spec, present: Sequence[str], file: str) -> dict[str, list[str]]:
    """The columns in which the table shows each quasi-identifier. Raises DataError for columns that it lacks.

    A number may be shown as NAME_low and NAME_high: whatever is there of the three counts, and where no spec says that
    it is a number, the pair stands in for a column that is not there.
    """
    roles = spec.roles()
    shown: dict[str, list[str]] = {}
    for name, attribute in spec.quasi_identifiers.items():
        bounds = [column for column in (f"{name}_low", f"{name}_high") if column in present and column not in roles]
        own = [name] if name in present else []
        declared = attribute.type == "numeric" and spec.path is not None
        shown[name] = own + bounds if declared or (not own and len(bounds) == 2) else own
    lacking = [name for name, columns in shown.items() if name not in columns and len(columns) != 2]
    lacking += [name for name in spec.sensitive if name not in present]
    if lacking:
        hint = f"it has {', '.join(present)}"
        raise DataError([Problem(f"has no column {name}", file=file, hint=hint) for name in lacking])
    return shown


def _refuse_unclassified(spec: Spec, shown: Mapping[str, Sequence[str]], source: Source, more: Sequence[str]) -> None:
    """Raises DataError for columns to which the spec gives no role: they may be anything."""
    known = spec.roles().keys() | {column for columns in shown.values() for column in columns} | set(more)
    strange = [column for column in source.columns if column not in known]
    if strange:
        hint = "list them under identifiers, quasi_identifiers, sensitive or insensitive"
        raise DataError(
            Problem(f"columns without a role in the spec: {', '.join(strange)}", file=source.name, hint=hint)
        )


def _warnings(exposed: Iterable[str]) -> list[str]:
    return [f"column {name} is a direct identifier, and it is in the table" for name in exposed]


# --- what was found --------------------------------------------------------------------------------------------------


def _problems(spec: Spec, asked: Iterable[Requirement], verdict: Verdict, exposed: Iterable[str]) -> Iterable[Problem]:
    file = None if spec.path is None else str(spec.path)
    for requirement, result in zip(asked, verdict.results, strict=True):
        if not result.satisfied:
            yield Problem(str(result), file=file, line=requirement.line)
    yield from (Problem(text, file=file) for text in _warnings(exposed))


def _report(
    spec: Spec, source: Source, verdict: Verdict, satisfied: bool | None, warnings: Sequence[str]
) -> dict[str, Any]:
    """The blocks of a report that apply to a table of unknown origin."""
    blocks = verdict_blocks(verdict)
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "anonymize", "version": __version__},
        "input": {
            "path": source.name,
            "sha256": source.sha256,
            "rows": verdict.rows,
            "columns": len(source.columns),
        },
        **blocks,
        "privacy": blocks["privacy"] | {"satisfied": satisfied},
        "classes": blocks["classes"] | {"suppressed_rows": verdict.suppressed_rows},
        "warnings": list(warnings),
    }
