"""What every privacy model is made of.

A model is one module: its docstring is its manual, and it has the members of `Model`. A class is a column of a
`Groups`; everything is measured for all classes at once. `measure` is the one thing to write; `satisfied` and
`achieved` follow from it.

Requirements of the kind "at least" are compared with a relative tolerance of 1e-9 towards satisfied, so that 3
equally frequent values have entropy l-diversity 3 whatever the rounding of the logarithms. Those of the kind "at most"
have the same, and an absolute one of 1e-12 beside it, as they may be 0. A strict requirement ("less than") is compared
with the same tolerance towards not satisfied, so that equality stays a violation.

A model of scope "table" bounds figures of the table as a whole: it is met where all that is `achieved` is at most what
is asked for. Its `satisfied` is what a search asks of every class: enough for the table to meet the model, and no more
than the model where all rows are one class.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from anonymize.privacy.groups import Groups

TOLERANCE = 1e-9
NEGLIGIBLE = 1e-12

Achieved = dict[str, float | int | str | None]


class Parameters(BaseModel):
    """Base of every model's parameters: frozen, no other key, no conversion from text, no infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Model(Protocol):
    """The members of a privacy model's module."""

    ID: str
    """Name in a spec."""
    Parameters: Any
    """Subclass of `base.Parameters`."""
    MONOTONE: bool
    """Merging two classes that meet the model always gives a class that meets it: a search may prune with it."""
    GROWING: bool
    """A class that meets the model still does with any further rows, whether these meet it or not."""
    BY_SIZE: bool
    """A class meets the model if and only if it has `minimum_rows` rows."""
    SCOPE: Literal["class", "table"]
    """What must meet the model: every class, or the table as a whole."""
    SENSITIVE: Literal["none", "any", "numeric"]
    """The sensitive attribute that the model is about."""

    def minimum_rows(self, parameters: Any) -> int:
        """The fewest rows with which a class can meet the model; 1 where that is no matter of rows."""

    def measure(self, groups: Groups, attribute: str | None, parameters: Any) -> NDArray[np.float64]:
        """(C,) per class, the strongest value of the parameter that the class meets; (C, parameters) of several."""

    def satisfied(self, measured: NDArray[np.float64], parameters: Any) -> NDArray[np.bool_]:
        """(C,) whether each class meets the model."""

    def achieved(self, measured: NDArray[np.float64], parameters: Any) -> Achieved:
        """The strongest parameters that all classes meet; None where there are no classes or no bound."""


def at_least(measured: NDArray[np.float64], required: float) -> NDArray[np.bool_]:
    """Elementwise `measured >= required`, within the tolerance."""
    return measured >= required * (1 - TOLERANCE)


def at_most(measured: NDArray[np.float64], required: float) -> NDArray[np.bool_]:
    """Elementwise `measured <= required`, within the tolerance."""
    return measured <= required * (1 + TOLERANCE) + NEGLIGIBLE


def within(achieved: Achieved, parameters: Parameters) -> bool:
    """Whether every figure that is bounded from above is at most what the parameters say; None is without a bound."""
    asked = parameters.model_dump(exclude_none=True)
    figures = {name: np.inf if value is None else value for name, value in achieved.items()}
    return all(bool(at_most(np.array(value), asked[name])) for name, value in figures.items())


def below(measured: NDArray[np.float64], required: float) -> NDArray[np.bool_]:
    """Elementwise `measured < required`; equality within the tolerance is not below."""
    return measured < required * (1 - TOLERANCE)


def lowest(measured: NDArray[np.float64]) -> float | None:
    """The smallest of the classes' figures; None of no classes."""
    return float(measured.min()) if measured.size else None


def lowest_count(measured: NDArray[np.float64]) -> int | None:
    """As `lowest`, for figures that are counts."""
    return int(measured.min()) if measured.size else None


def highest(measured: NDArray[np.float64]) -> float | None:
    """The largest of the classes' figures; None of no classes, or when one is infinite."""
    return float(measured.max()) if measured.size and np.isfinite(measured.max()) else None
