"""A claim about a table: what is required of what, what is achieved, what that comes to, and how it is known.

Every check ends in a `State`, and every dispatch on a verdict reads it: a requirement that could not be shown is
neither met nor absent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, field, replace
from enum import StrEnum
from typing import Any

from anonymize.records import dataclass

Parameters = dict[str, float | int | str | list[str] | None]


class State(StrEnum):
    """What a requirement, or all of them together, come to."""

    MET = "met"
    UNMET = "unmet"
    UNKNOWN = "unknown"
    """Required, and not shown to be met."""
    NOTHING_REQUIRED = "nothing required"

    @classmethod
    def of(cls, met: bool) -> State:
        """The state of a requirement that was measured."""
        return cls.MET if met else cls.UNMET

    @property
    def fails(self) -> bool:
        """Whether it keeps a table from being published."""
        return self in (State.UNMET, State.UNKNOWN)

    @property
    def satisfied(self) -> bool | None:
        """The figure `satisfied` of reports; None of what is unknown, and where nothing is required."""
        return {State.MET: True, State.UNMET: False}.get(self)


def overall(states: Iterable[State]) -> State:
    """What several states come to together: unmet where one is; else unknown where one is; met only where something is
    required, and all of it is known to be met."""
    present = set(states)
    worst_first = (State.UNMET, State.UNKNOWN, State.MET)
    return next((state for state in worst_first if state in present), State.NOTHING_REQUIRED)


class Basis(StrEnum):
    """How it is known what a requirement comes to."""

    MEASURED = "measured"
    """From the text of the table."""
    DERIVED = "derived"
    """From a mechanism that is declared, against which the table was tested."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Result:
    """A claim about a table: what is required, what is achieved over all rows, and how that is known, which whoever
    makes a claim has to say. `unknown`: why it could not be shown, where its `state` is unknown."""

    model: str
    attribute: str | None
    required: Parameters
    achieved: Parameters
    state: State
    failing_classes: int
    failing_rows: int
    basis: Basis = field(kw_only=True)
    unknown: str | None = None
    alike: int = 0
    """Different values that look like another one or read as unknown, where fewer rows would fail were they counted."""
    before_treatment: bool = False
    """Whether it was measured on the values before a step of `treatments` changed them."""
    why: str | None = None
    """Why it is not met, where no row fails and no figure says it."""

    def unshown(self, why: str) -> Result:
        """The result of this requirement where it could not be shown whether it is met."""
        return replace(self, state=State.UNKNOWN, basis=Basis.UNKNOWN, unknown=why)

    @property
    def satisfied(self) -> bool | None:
        return self.state.satisfied

    def as_dict(self) -> dict[str, Any]:
        """Its block in a report; without `unknown` and `why` where nothing is, `alike` where it is 0, and
        `before_treatment` where it was not."""
        entry = {("satisfied" if name == "state" else name): value for name, value in asdict(self).items()}
        entry |= {"satisfied": self.satisfied, "basis": str(self.basis)}
        left_out = {"unknown": None, "alike": 0, "before_treatment": False, "why": None}
        return {name: value for name, value in entry.items() if value != left_out.get(name, ...)}

    def __str__(self) -> str:
        about = f" of {self.attribute}" if self.attribute else ""
        if self.unknown is not None:
            return f"{self.model} ({listed(self.required)}){about} could not be shown: {self.unknown}"
        if self.why is not None:
            return f"{self.model} ({listed(self.required)}){about} is not met: {self.why}"
        failing = _failing(self.failing_rows, self.failing_classes)
        said = f"{self.model} ({listed(self.required)}){about} is not met: {listed(self.achieved)}; {failing}"
        return f"{said}; {alike_counted(self.alike)}" if self.alike else said


def alike_counted(values: int) -> str:
    """That so many values do not count by themselves, and what says that they do."""
    several = f"{values} values, which look like others or read"
    look = "1 value, which looks like another one or reads" if values == 1 else several
    return f"not counting {look} as unknown (`normalize: exact` of the column does)"


def _failing(rows: int, classes: int) -> str:
    """How many rows fail, in how many classes."""
    if rows == 1:
        return "1 row in 1 class fails"
    return f"{rows} rows in {classes} class{'' if classes == 1 else 'es'} fail"


def listed(figures: Parameters) -> str:
    """Figures by their names, as a message has them."""
    return ", ".join(f"{name}={said(value)}" for name, value in figures.items())


def said(value: float | int | str | list[str] | None) -> str:
    """A parameter, or what is achieved of it."""
    if isinstance(value, list):
        return f"[{', '.join(value)}]"
    return "none" if value is None else format(value, ".6g") if isinstance(value, float) else str(value)
