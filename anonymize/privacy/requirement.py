"""One thing that a release must meet: a model, the attribute it is about, its parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from anonymize.privacy.base import Parameters
from anonymize.spec.base import Means


@dataclass(frozen=True)
class Requirement:
    """A model with its parameters, on one sensitive attribute (None for a model of quasi-identifiers alone)."""

    model: str
    attribute: str | None
    parameters: Parameters
    line: int | None = field(default=None, compare=False)
    """Line of the spec that asks for it."""

    def required(self) -> dict[str, float | int | str | list[str]]:
        """The parameters that are given, as the report shows them."""
        return self.parameters.model_dump(mode="json", exclude_none=True)

    @property
    def population(self) -> Path | None:
        """The table of the population that it is about."""
        return cast("Path | None", self.parameters.given(Means.POPULATION))

    def __str__(self) -> str:
        text = ", ".join(f"{name}={_parameter_text(value)}" for name, value in self.required().items())
        return f"{self.model} ({text})" + (f" of {self.attribute}" if self.attribute else "")


def _parameter_text(value: float | int | str | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(value)}]"
    return value if isinstance(value, str) else format(value, "g")
