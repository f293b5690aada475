"""Single sensitive values that are protected, where a spec names them: `values: [positive]`.

A model that bounds something for each sensitive value then bounds it for these alone. The others still count: as rows
of the class, as values that a protected one hides among, and as part of what a class is compared with.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, WithJsonSchema

from anonymize.spec.base import Means, ModelParameters
from anonymize.spec.missing import normalized

Names: TypeAlias = Sequence[str] | NDArray[np.float64]
"""How the values of an attribute read; of a numeric one, its numbers."""


def _as_text(value: object) -> object:
    """A number where a text is meant, as a spec that is not a file may have it."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Text = Annotated[str, BeforeValidator(_as_text), WithJsonSchema({"type": ["string", "number", "boolean"]})]

Values: TypeAlias = Annotated[
    tuple[Text, ...] | None,
    Field(min_length=1, description="the sensitive values that are protected; every value where it is left out"),
    Means.PROTECTED,
]
"""The type of a model's parameter `values`."""


def readings(value: str) -> set[str]:
    """The texts of a column that are this value of the spec: as it stands, and as values are compared."""
    return {value, normalized(value)}


def as_number(text: str) -> float | None:
    """A text as a number; None where it is not one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def mask(names: Names, values: Iterable[str]) -> NDArray[np.bool_]:
    """(names,) which of them are among the values."""
    if isinstance(names, np.ndarray):
        numbers = [number for value in values if (number := as_number(value)) is not None]
        return np.isin(names, numbers)
    texts = {text for value in values for text in readings(value)}
    return np.fromiter((name in texts for name in names), np.bool_, len(names))


def absent(names: Names, values: Iterable[str]) -> list[str]:
    """The values that are none of the names."""
    if isinstance(names, np.ndarray):
        numbers = set(names.tolist())
        return [value for value in values if as_number(value) not in numbers]
    present = set(names)
    return [value for value in values if present.isdisjoint(readings(value))]


def values_of(parameters: ModelParameters) -> tuple[str, ...] | None:
    """The values that parameters restrict a model to; None where all are protected, if some by other limits."""
    return cast("tuple[str, ...] | None", parameters.given(Means.PROTECTED))
