"""The findings of a check, in the shape that every form is rendered from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from anonymize.claims import State, overall
from anonymize.errors import Problem

Level = Literal["error", "warning", "pass", "measured"]
LEVELS: Mapping[State, Level] = {
    State.MET: "pass",
    State.UNMET: "error",
    State.UNKNOWN: "error",
    State.NOTHING_REQUIRED: "measured",
}


@dataclass(frozen=True)
class Finding:
    """One result of a check.

    `rule`: the privacy model, or `direct-identifier`, `regression`, `warning`. `title`: the rule with what it
    requires. `level`: error (not met, or not `known` to be met), warning, pass (met) or measured (nothing was
    required). `file` and `line`: the spec and the line (from 1) that requires it, None where no spec does.
    """

    rule: str
    title: str
    message: str
    level: Level
    file: str | None = None
    line: int | None = None
    known: bool = True

    @property
    def state(self) -> State | None:
        """What the requirement comes to; None of a warning, which is about none."""
        if self.level == "error":
            return State.UNMET if self.known else State.UNKNOWN
        return {"pass": State.MET, "measured": State.NOTHING_REQUIRED}.get(self.level)


@dataclass(frozen=True)
class Checked:
    """A table that was checked: the report, and the findings that it comes down to. `command`: which one did it.
    `verdict`: what there is to say where nothing is wrong; None: what the report says of privacy."""

    report: dict[str, Any]
    findings: tuple[Finding, ...]
    command: str = "audit"
    verdict: str | None = None

    @property
    def table(self) -> str:
        """The table's name."""
        return str(self.report["input"]["path"])

    @property
    def state(self) -> State:
        """What all findings come to together."""
        return overall(each.state for each in self.findings if each.state is not None)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is not met or could not be shown, with the line of the spec that asks for it, where one does."""
        return tuple(Problem(each.message, file=each.file, line=each.line) for each in self.of_levels("error"))

    def of_levels(self, *levels: Level) -> list[Finding]:
        """The findings of some levels."""
        return [finding for finding in self.findings if finding.level in levels]


def state_of(errors: Iterable[Finding], *, required: bool) -> State:
    """What a check comes to whose findings of the level error are these. `required`: something was."""
    states = [each.state for each in errors if each.state is not None]
    return overall([*states, State.MET if required else State.NOTHING_REQUIRED])


def privacy_block(findings: Sequence[Finding], state: State) -> dict[str, Any]:
    """What everything comes to, as the block `privacy` of a report begins, and what could not be shown."""
    unknown = [finding.message for finding in findings if finding.level == "error" and not finding.known]
    return {"satisfied": state.satisfied, "state": str(state)} | ({"unknown": unknown} if unknown else {})


@dataclass(frozen=True)
class Concluded:
    """What a check came to. `checked`: what is printed of it."""

    state: State
    checked: Checked

    @property
    def satisfied(self) -> bool | None:
        """See `State.satisfied`."""
        return self.state.satisfied

    @property
    def report(self) -> dict[str, Any]:
        """What `--json` prints."""
        return self.checked.report

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is not met or could not be shown, with the line of the spec that asks for it: a table that has any must
        not be published."""
        return self.checked.problems
