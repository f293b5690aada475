"""What a claim about a table comes to, and how that is known.

A claim says what is required of what, and what is achieved. Every check ends in a `State`, and every dispatch on a
verdict reads it: a requirement that could not be shown is neither met nor absent.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class State(StrEnum):
    """What a requirement, or all of them together, come to."""

    MET = "met"
    UNMET = "unmet"
    UNKNOWN = "unknown"
    """Required, and not shown to be met."""
    NOTHING_REQUIRED = "nothing required"

    @classmethod
    def of(cls, met: bool) -> State:
        """That of a requirement that was measured."""
        return cls.MET if met else cls.UNMET

    @property
    def fails(self) -> bool:
        """Whether it keeps a table from being published."""
        return self in (State.UNMET, State.UNKNOWN)

    @property
    def satisfied(self) -> bool | None:
        """As reports have it under `satisfied`; None of what is unknown, and where nothing is required."""
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
