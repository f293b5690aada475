"""What an audit found: the report, and the findings that every form of it is rendered from."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, Protocol

from anonymize.auditing.previous import Together
from anonymize.claims import State, said
from anonymize.errors import Caution, UsageError
from anonymize.formats import LEVELS, Finding, Level, privacy_block, state_of
from anonymize.privacy import MODELS, Model, Requirement, Worse
from anonymize.records import dataclass
from anonymize.report.data import verdict_blocks
from anonymize.report.head import TableSource, head, table_block
from anonymize.risk import merged
from anonymize.spec import Place, Spec, patterns
from anonymize.verify import BY_ORDER, DIFFERENTIAL, Result, Verdict
from anonymize.verify.risk import GIVEN, WORSE
from anonymize.verify.verdict import COMBINATION

# --- an earlier report ------------------------------------------------------------------------------------------------
# An earlier report, of a release or of an audit, and what is worse than it was.
#
# Which way a figure gets worse is declared where the figure is: by the limits of its privacy model, or next to the
# figures of the risk. A figure for which it is not declared is an error.

_TOLERANCE, _NEGLIGIBLE = 1e-9, 1e-12
PASSING = ("uniques", "uniques_with_quasi_identifiers", "uniques_with_sensitive")
"""Shares of the rows that columns that pass through single out; a report that is older than these has none."""
OF_CODES: Mapping[tuple[str, str], Worse | None] = {
    ("levels", "min"): "lower",
    ("levels", "max"): "higher",
    ("rare", "below"): "lower",
    (COMBINATION, "k"): "lower",
    **{(name, name): None for name in ("round", "top", "bottom")},
}
"""Which way a figure of what is declared of columns, or required of combinations, gets worse; None: it has no way, as a
top code is kept or not."""
BELOW = ("below_k", "below_k_with_quasi_identifiers", "below_k_with_sensitive")
"""Shares of the rows in groups of fewer than `k` by them."""


@dataclass(frozen=True)
class Figure:
    """What can be compared: the parameter of a model, a figure of the risk or of the columns that pass through, and
    which way it gets worse.

    `given`: what it was measured for, such as a distance. Figures for different ones are different figures.
    """

    source: str
    parameter: str
    attribute: str | None
    given: tuple[str, ...]
    worse: Worse

    def __str__(self) -> str:
        about = f" of {self.attribute}" if self.attribute else ""
        return f"{self.source} {self.parameter}{about}" + (f" ({', '.join(self.given)})" if self.given else "")


@dataclass(frozen=True)
class BaselineChange:
    """A figure that is not what it was. `was` and `now` are None where there is no bound."""

    figure: str
    was: float | None
    now: float | None
    worse: bool

    def __str__(self) -> str:
        return f"{self.figure} is {_number(self.now)}, and was {_number(self.was)}"


def _number(value: float | None) -> str:
    return "none" if value is None else format(value, ".6g")


def read(path: str | Path) -> dict[str, Any]:
    """A report. Raises UsageError for a file that is none."""
    try:
        report = json.loads(Path(path).read_text(encoding="utf-8"))
        figures(report)
    except OSError as error:
        raise UsageError(f"--baseline: {path}: cannot be read: {error.strerror}") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise UsageError(f"--baseline: {path}: is no JSON report of a release or an audit") from None
    assert isinstance(report, dict)
    return report


def compare(
    before: Mapping[str, Any], now: Mapping[str, Any], models: Mapping[str, Model] = MODELS
) -> list[BaselineChange]:
    """The figures of two reports that differ, in the order of the first; groups below k only where k is the same.

    Raises UsageError for a figure of the first that the second does not have: nothing can be said about it.
    """
    old, new = figures(before, models), figures(now, models)
    old = {figure: was for figure, was in old.items() if figure in new or figure.parameter not in BELOW}
    lacking = [str(figure) for figure in old if figure not in new]
    if lacking:
        hint = "ask for it with --require, and give the threshold that the baseline has"
        raise UsageError(
            [f"--baseline: {name} is in the baseline and is not measured here ({hint})" for name in lacking]
        )
    return [change for figure, was in old.items() if (change := _change(figure, was, new[figure])) is not None]


def figures(report: Mapping[str, Any], models: Mapping[str, Model] = MODELS) -> dict[Figure, float | None]:
    """What a report has of figures that can be compared. `models`: those that it may be about.

    Raises UsageError for a figure of which it is not known which way it gets worse; ValueError, LookupError, TypeError
    or AttributeError for what is not a report.
    """
    values: dict[Figure, float | None] = {}
    for result in report["privacy"]["models"]:
        values |= dict(_of_model(result, models.get(result["model"])))
    values |= dict(_of_risk(report["risk"], classed="classes" in report))
    if not all(value is None or (type(value) in (int, float) and math.isfinite(value)) for value in values.values()):
        raise ValueError("a figure is not a number")
    return values


def _of_model(result: Mapping[str, Any], model: Model | None) -> Iterator[tuple[Figure, float | None]]:
    name, achieved = result["model"], result["achieved"]
    names = () if model is None else model.given
    given = sorted(f"{each}={achieved[each]}" for each in names if each in achieved)
    if result.get("required", {}).get("population") is not None:
        given.append("of a population")
    for parameter in achieved:
        if parameter not in names:
            limit = None if model is None else model.limit(parameter)
            worse = OF_CODES.get((name, parameter)) if limit is None else limit.worse
            if worse is None and (name, parameter) not in OF_CODES:
                raise _unknown(f"{name} {parameter}")
            if worse is not None:
                yield Figure(name, parameter, result["attribute"], tuple(given), worse), achieved[parameter]


def _of_risk(risk: Mapping[str, Any], *, classed: bool) -> Iterator[tuple[Figure, float | None]]:
    for name in risk:
        if name not in WORSE and name != GIVEN and not isinstance(risk[name], Mapping | list):
            raise _unknown(f"risk {name}")
    for name, worse in WORSE.items() if classed or WORSE.keys() & risk.keys() else ():
        given = (f"{GIVEN}={risk[GIVEN]:g}",) if name == "records_at_risk" else ()
        yield Figure("risk", name, None, given, worse), risk[name]
    if isinstance(passing := risk.get("passing"), Mapping):
        for name in PASSING:
            yield Figure("passing", name, None, (), "higher"), passing[name]
        for name in BELOW if "k" in passing else ():
            yield Figure("passing", name, None, (f"k={passing['k']}",), "higher"), passing[name]


def _unknown(figure: str) -> UsageError:
    return UsageError(f"--baseline: {figure} cannot be compared: it is not known which way it gets worse")


def _change(figure: Figure, was: float | None, now: float | None) -> BaselineChange | None:
    higher = figure.worse == "higher"
    unbounded = math.inf if higher else -math.inf
    before, after = (unbounded if value is None else value for value in (was, now))
    if before == after or math.isclose(before, after, rel_tol=_TOLERANCE, abs_tol=_NEGLIGIBLE):
        return None
    return BaselineChange(str(figure), was, now, worse=(after > before) == higher)


# --- what was measured ------------------------------------------------------------------------------------------------


class AuditedTable(Protocol):
    """What has been measured. `exposed`: the direct identifiers that are in it; `warnings`: about how it was read."""

    @property
    def spec(self) -> Spec: ...
    @property
    def source(self) -> TableSource: ...
    @property
    def exposed(self) -> Sequence[str]: ...
    @property
    def warnings(self) -> Sequence[Caution]: ...


@dataclass(frozen=True)
class AuditFacts:
    """A table, what was required of it and what was measured.

    `requirements`: one for each result of the verdict; none where nothing was judged. `together`: with an earlier
    release. `changes`: against the report at `baseline`; if `no_regress`, nothing may be worse. `private`: the report
    tells more than the table and the spec do.
    """

    table: AuditedTable
    requirements: tuple[Requirement, ...]
    verdict: Verdict
    deeper: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the block `risk`."""
    together: Together | None = None
    baseline: str | Path | None = None
    changes: tuple[BaselineChange, ...] = ()
    no_regress: bool = False
    private: bool = True
    remarks: Sequence[Caution] = ()
    """What there is to say of columns and files of the release that nothing reads."""

    @property
    def state(self) -> State:
        """What everything that is required of the table comes to."""
        wrong = [finding for finding in self.findings() if finding.level == "error"]
        return state_of(wrong, required=self._required or self.no_regress)

    @property
    def _required(self) -> bool:
        return self.verdict.state is not State.NOTHING_REQUIRED

    def findings(self) -> tuple[Finding, ...]:
        """Everything that was examined: models, direct identifiers, what is worse than before, warnings."""
        findings = [*self._of_models(self.verdict.results, ""), *self._of_models(self.verdict.by_order, BY_ORDER)]
        passing = self.table.spec.place("privacy", "passing")
        line = None if passing is None else passing[0]
        findings += [*self._of_codes(), *(_finding(each, self._file, line) for each in self.verdict.by_passing)]
        gate: Level = "error" if self._required else "warning"
        findings += [Finding("direct-identifier", "direct identifier", text, gate, self._file) for text in self.exposed]
        if self.together is not None:
            findings += self._of_models(self.together.results, ", together with the previous release")
        level: Level = "error" if self.no_regress else "warning"
        findings += [Finding("regression", each.figure, str(each), level) for each in self.changes if each.worse]
        findings += [Finding("warning", "warning", text, "warning", self._file) for text in self._cautions()]
        return tuple(findings)

    @property
    def exposed(self) -> list[Caution]:
        """What the report says about columns in the table that a release of the spec leaves out."""
        return [patterns.withheld(self.table.spec, name, "the table") for name in self.table.exposed]

    @property
    def _file(self) -> str | None:
        return None if self.table.spec.path is None else str(self.table.spec.path)

    def _cautions(self) -> list[Caution]:
        of_both = [] if self.together is None else self.together.warnings
        return [*self.table.warnings, *self.remarks, *self.verdict.remarks, *self.verdict.cautions, *of_both]

    def _of_models(self, results: Sequence[Result], where: str) -> Iterator[Finding]:
        requirements: Sequence[Requirement | None] = self.requirements or [None] * len(results)
        # Without results there is nothing to find.
        for requirement, result in zip(requirements[: len(results)], results, strict=True):
            line = None if requirement is None else requirement.line
            file = self._file if line is not None else None
            yield _finding(result, file, line, where, known=result.state is not State.UNKNOWN)

    def _of_codes(self) -> Iterator[Finding]:
        """What is declared of levels and codes."""
        for result in self.verdict.codes:
            place = self._place_of(result)
            line = None if place is None else place[0]
            yield _finding(result, self._file, line, known=result.state is not State.UNKNOWN)

    def _place_of(self, result: Result) -> Place | None:
        """Where the spec asks for a level, a code or a combination."""
        spec = self.table.spec
        if result.model == DIFFERENTIAL:
            return spec.place("privacy", "differential")
        if result.model != COMBINATION:
            key = "hierarchy" if result.model == "rare" else result.model  # what declares it
            return spec.place("quasi_identifiers", result.attribute or "", key)
        required = (result.attribute, result.required["k"])
        rules = [(rule.name, rule.k) for rule in spec.privacy.combinations]
        return spec.place("privacy", "combinations", rules.index(required)) if required in rules else None

    def report(self) -> dict[str, Any]:
        """The blocks of a report that apply to a table of unknown origin."""
        source, verdict = self.table.source, self.verdict
        blocks = verdict_blocks(verdict)
        report = {
            **head(private=self.private),
            "input": table_block(source, verdict.rows),
            **blocks,
            "privacy": {**blocks["privacy"], **privacy_block(self.findings(), self.state)},
            "risk": merged(blocks.get("risk", {}), self.deeper),
        }
        if verdict.classes:
            report["classes"] = blocks["classes"] | {"suppressed_rows": verdict.suppressed_rows}
        if self.together is not None:
            report["previous"] = self.together.block()
        if self.baseline is not None:
            changes = [asdict(change) for change in self.changes]
            report["baseline"] = {"path": str(self.baseline), "changes": changes}
        remedy = "release with the settings of the baseline, or accept this report as the next `--baseline`"
        worse = [Caution.of(f"worse than in the baseline: {each}", remedy) for each in self.changes if each.worse]
        return report | {"warnings": [*self.exposed, *self._cautions(), *worse]}


def _finding(result: Result, file: str | None, line: int | None, where: str = "", *, known: bool = True) -> Finding:
    message = (str(result) if result.state.fails else _reached(result)) + where
    return Finding(result.model, _title(result) + where, message, LEVELS[result.state], file, line, known)


def _title(result: Result) -> str:
    values = result.required.items()
    required = ", ".join(f"{name}={each if isinstance(each, int | float) else said(each)}" for name, each in values)
    about = f" of {result.attribute}" if result.attribute else ""
    return result.model + (f" ({required})" if required else "") + about


def _reached(result: Result) -> str:
    reached = ", ".join(f"{name}={said(value)}" for name, value in result.achieved.items())
    return f"{_title(result)}{' is met' if result.state is State.MET else ''}: {reached}"
