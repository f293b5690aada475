"""What an audit found: the report, and the findings that every form of it is rendered from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from anonymize.auditing.baseline import BaselineChange
from anonymize.auditing.previous import Together
from anonymize.claims import State, said
from anonymize.errors import Caution
from anonymize.formats.base import LEVELS, Finding, Level, privacy_block, state_of
from anonymize.privacy import Requirement
from anonymize.report.data import verdict_blocks
from anonymize.report.head import TableSource, head, table_block
from anonymize.risk import merged
from anonymize.spec import Place, Spec
from anonymize.spec.patterns import withheld
from anonymize.verify import BY_ORDER, Result, Verdict
from anonymize.verify.verdict import COMBINATION


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
        return state_of(self.findings_at("error"), required=self._required or self.no_regress)

    @property
    def _required(self) -> bool:
        """Whether something was required of the table."""
        return self.verdict.state is not State.NOTHING_REQUIRED

    def findings_at(self, level: Level) -> list[Finding]:
        """Those of one level."""
        return [finding for finding in self.findings() if finding.level == level]

    def findings(self) -> tuple[Finding, ...]:
        """Everything that was examined: models, direct identifiers, what is worse than before, warnings."""
        findings = [*self._of_models(self.verdict.results, ""), *self._of_models(self.verdict.by_order, BY_ORDER)]
        findings += [*self._of_codes(), *self._of_passing()]
        findings += [
            Finding("direct-identifier", "direct identifier", text, self._gate, self._file) for text in self.exposed
        ]
        if self.together is not None:
            findings += self._of_models(self.together.results, ", together with the previous release")
        level: Level = "error" if self.no_regress else "warning"
        findings += [Finding("regression", each.figure, str(each), level) for each in self.changes if each.worse]
        findings += [Finding("warning", "warning", text, "warning", self._file) for text in self._cautions()]
        return tuple(findings)

    @property
    def exposed(self) -> list[Caution]:
        """What the report says about columns in the table that a release of the spec leaves out."""
        return [withheld(self.table.spec, name, "the table") for name in self.table.exposed]

    @property
    def _gate(self) -> Level:
        return "error" if self._required else "warning"

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
            message = (str(result) if result.state.fails else _reached(result)) + where
            level, known = LEVELS[result.state], result.state is not State.UNKNOWN
            file = self._file if line is not None else None
            yield Finding(result.model, _title(result) + where, message, level, file, line, known)

    def _of_codes(self) -> Iterator[Finding]:
        """What is declared of levels and codes."""
        for result in self.verdict.codes:
            place = self._place_of(result)
            message = str(result) if result.state.fails else _reached(result)
            line, known = None if place is None else place[0], result.state is not State.UNKNOWN
            yield Finding(result.model, _title(result), message, LEVELS[result.state], self._file, line, known)

    def _place_of(self, result: Result) -> Place | None:
        """Where the spec asks for a level, a code or a combination."""
        spec = self.table.spec
        if result.model != COMBINATION:
            return spec.place("quasi_identifiers", result.attribute or "", self._key(result.model))
        required = (result.attribute, result.required["k"])
        rules = [(rule.name, rule.k) for rule in spec.privacy.combinations]
        return spec.place("privacy", "combinations", rules.index(required)) if required in rules else None

    @staticmethod
    def _key(model: str) -> str:
        """The key of a quasi-identifier that declares what a model measures."""
        return "hierarchy" if model == "rare" else model

    def _of_passing(self) -> Iterator[Finding]:
        """What is required of the columns that pass through."""
        place = self.table.spec.place("privacy", "passing")
        for result in self.verdict.by_passing:
            message = str(result) if result.state.fails else _reached(result)
            line = None if place is None else place[0]
            yield Finding(result.model, _title(result), message, LEVELS[result.state], self._file, line)

    def report(self) -> dict[str, Any]:
        """The blocks of a report that apply to a table of unknown origin."""
        source, verdict = self.table.source, self.verdict
        blocks = verdict_blocks(verdict)
        report = {
            **head(private=self.private),
            "input": table_block(source, verdict.rows),
            **blocks,
            "privacy": self._privacy(blocks["privacy"]),
            "risk": merged(blocks.get("risk", {}), self.deeper),
        }
        if verdict.classes:
            report["classes"] = blocks["classes"] | {"suppressed_rows": verdict.suppressed_rows}
        if self.together is not None:
            report["previous"] = self.together.block()
        if self.baseline is not None:
            changes = [asdict(change) for change in self.changes]
            report["baseline"] = {"path": str(self.baseline), "changes": changes}
        return report | {"warnings": [*self.exposed, *self._cautions(), *self._worse()]}

    def _privacy(self, block: Mapping[str, Any]) -> dict[str, Any]:
        """The block of the table's own verdict, with what everything comes down to."""
        return {**block, **privacy_block(self.findings(), self.state)}

    def _worse(self) -> list[Caution]:
        remedy = "release with the settings of the baseline, or accept this report as the next `--baseline`"
        return [Caution.of(f"worse than in the baseline: {each}", remedy) for each in self.changes if each.worse]


def _title(result: Result) -> str:
    required = ", ".join(
        f"{name}={value if isinstance(value, int | float) else said(value)}" for name, value in result.required.items()
    )
    return (
        result.model + (f" ({required})" if required else "") + (f" of {result.attribute}" if result.attribute else "")
    )


def _reached(result: Result) -> str:
    reached = ", ".join(f"{name}={said(value)}" for name, value in result.achieved.items())
    return f"{_title(result)}{' is met' if result.state is State.MET else ''}: {reached}"
