"""The kinds of meaning that a column can have, and what stands of each in a manifest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

DEFINED = {
    "exact": "the value itself",
    "spans": "an interval, a node or a set that the value lies in, or a suppressed cell",
    "channel": "what a mechanism with known probabilities made of the value",
    "detached": "a value of the row's group, whoever has it",
    "moved": "another person's value",
    "aggregate": "a count or a sum that a mechanism released",
    "invented": "a value of nobody",
}
"""The meanings that there are, in the words of a reader."""


class Meaning(ABC):
    """What a cell of a column says of the person behind it."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """Which of `DEFINED` it is."""

    @property
    def read(self) -> bool:
        """Whether anything here reads cells of it; of others it is only known what they are called."""
        return True

    def entry(self) -> dict[str, Any]:
        """What its reader has to know beside the kind, as JSON."""
        return {}


@dataclass(frozen=True)
class Exact(Meaning):
    """The value passed through as it was."""

    kind: ClassVar[str] = "exact"


@dataclass(frozen=True)
class Spanning(Meaning):
    """The value is among those that the cell covers: an interval, a node, a set, or anything where it is suppressed.

    `labels`: numbers, too, are shown as nodes of their hierarchies.
    """

    kind: ClassVar[str] = "spans"
    labels: bool = False

    def entry(self) -> dict[str, Any]:
        """Whether numbers are labels."""
        return {"labels": True} if self.labels else {}


@dataclass(frozen=True)
class Detached(Meaning):
    """The value is one of the row's group, and it is not said which. `by`: the column of groups; `table`: the path of
    the table with the values of each group, None where they are dealt out to the rows."""

    kind: ClassVar[str] = "detached"
    by: str
    table: str | None = None

    def entry(self) -> dict[str, Any]:
        """The column of groups, and the other table by the name that it has beside the manifest."""
        return {"by": self.by} | ({} if self.table is None else {"table": self.table})


@dataclass(frozen=True)
class Named(Meaning):
    """A meaning of which it is known what it is called, and that nothing here reads. `details`: what else is said."""

    called: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.called

    @property
    def read(self) -> bool:
        return False

    def entry(self) -> dict[str, Any]:
        """What else is said of it."""
        return dict(self.details)
