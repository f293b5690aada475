"""Data constraint rules of quasi-identifiers: what a release should keep apart, or be able to state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from anonymize.spec.base import Entry, Number, Positive, Value


class RuleRange(Entry):
    """Numbers from one to another, both included."""

    from_: Number = Field(alias="from")
    """The smallest number of the range."""
    to: Number
    """The largest number of the range."""


def _together_kind(value: object) -> str | None:
    if isinstance(value, dict | RuleRange):
        return "range"
    return "values" if isinstance(value, list | tuple) else None


Together = Annotated[
    Annotated[RuleRange, Tag("range")] | Annotated[Annotated[tuple[Value, ...], Field(min_length=1)], Tag("values")],
    Discriminator(
        _together_kind,
        custom_error_type="together_kind",
        custom_error_message="Input should be a list of values, or a range {from: 12, to: 18}",
    ),
]

KINDS = ("keep_apart", "keep_together", "keep")
"""A rule has one of these."""


class Rule(Entry):
    """A data constraint rule: one of `keep_apart`, `keep_together` and `keep`."""

    keep_apart: Annotated[tuple[Value, ...], Field(min_length=2, max_length=2)] | None = None
    """Two values that should not be shown as one. For numbers it is the boundary between them: [20, 21]."""
    keep_together: Together | None = None
    """A range {from: 12, to: 18} or a list of values that a release should be able to state: kept as a whole where none
    of them is shown as one with a value outside."""
    keep: Value | None = None
    """One value that should stay as it is: not shown as one with any other."""
    importance: Positive = 1.0
    """How much the rule counts next to the others, above 0."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which of KINDS it has: one, if the spec is right."""
        return tuple(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def values(self) -> tuple[float | str, ...]:
        """The values that it names; none of a range."""
        together = () if isinstance(self.keep_together, RuleRange) else self.keep_together
        return (*(self.keep_apart or ()), *(together or ()), *(() if self.keep is None else (self.keep,)))

    def named(self, compared: Callable[[str], str]) -> Rule:
        """The same rule, its texts as they are compared."""

        def one(value: float | str) -> float | str:
            return compared(value) if isinstance(value, str) else value

        update: dict[str, Any] = {}
        if self.keep_apart is not None:
            update["keep_apart"] = tuple(map(one, self.keep_apart))
        if isinstance(self.keep_together, tuple):
            update["keep_together"] = tuple(map(one, self.keep_together))
        if self.keep is not None:
            update["keep"] = one(self.keep)
        return self.model_copy(update=update)

    def as_json(self) -> dict[str, Any]:
        """As the spec has it."""
        return self.model_dump(by_alias=True, exclude_none=True, mode="json")

    def __str__(self) -> str:
        def one(value: float | str) -> str:
            return f"{value:g}" if isinstance(value, float | int) else value

        if self.keep_apart is not None:
            text = " | ".join(map(one, self.keep_apart))
        elif isinstance(self.keep_together, RuleRange):
            text = f"{self.keep_together.from_:g} to {self.keep_together.to:g}"
        else:
            text = ", ".join(map(one, self.values))
        return f"{text} ({self.importance:g})"
