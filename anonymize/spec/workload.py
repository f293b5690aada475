"""What the release is for: columns to be predicted, and selections of rows that will be asked for."""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator, Field, Tag

from anonymize.spec.base import Entry, Number, Text, Value
from anonymize.spec.columns import Kind


class Condition(Entry):
    """Which values of a column a selection takes; both ends included."""

    from_: Number | None = Field(default=None, alias="from")
    """The smallest number that is selected."""
    to: Number | None = None
    """The largest number that is selected."""
    in_: Annotated[tuple[Value, ...], Field(min_length=1)] | None = Field(default=None, alias="in")
    """The values that are selected."""


class Target(Entry):
    """The settings of a column that a model will be trained to predict."""

    type: Kind | None = None
    """numeric: regression. categorical: classification. Left out: a quasi-identifier's own type, else categorical."""


def _target_kind(value: object) -> str | None:
    if isinstance(value, str):
        return "name"
    return "settings" if isinstance(value, dict) else None


TargetEntry = Annotated[
    Annotated[Text, Tag("name")]
    | Annotated[Annotated[dict[str, Target], Field(min_length=1, max_length=1)], Tag("settings")],
    Discriminator(
        _target_kind, custom_error_type="target_kind", custom_error_message="Input should be a column or its settings"
    ),
]


class Workload(Entry):
    """What the release is for."""

    targets: tuple[TargetEntry, ...] = ()
    """Columns that a model will be trained to predict, as names or as {NAME: {type: numeric}}; they pass through as
    they are."""
    selections: tuple[Annotated[dict[str, Condition], Field(min_length=1)], ...] = ()
    """Selections of rows that will be asked for: a condition per column, all of which hold."""

    @property
    def target_names(self) -> tuple[str, ...]:
        """The targets' columns."""
        return tuple(entry if isinstance(entry, str) else next(iter(entry)) for entry in self.targets)

    @property
    def target_types(self) -> tuple[Kind | None, ...]:
        """The type that each target's entry gives, if it gives one."""
        return tuple(None if isinstance(entry, str) else next(iter(entry.values())).type for entry in self.targets)
