"""What every privacy model is made of.

A model is one module: its docstring is its manual, and it has `Parameters`, a function `measure`, and one record,
`MODEL`. The record names a limit for each figure that is measured: the parameter that the figure is compared with, and
how. Whether a class meets the model, what all classes achieve, the fewest rows of a class, and which way a figure gets
worse follow from it. A model that differs in one of these subclasses the record, and overrides that method alone.

Models of equivalence classes are monotone: merging two classes that meet one gives a class that meets it. Searches
prune with that, and the tests try it on every model of the registry. Where a parameter makes a model of which that does
not hold, `merges` says so, and only searches that conclude nothing from it take it.

Limits of the kind "at least" are compared with a relative tolerance of 1e-9 towards satisfied, so that 3 equally
frequent values have entropy l-diversity 3 whatever the rounding of the logarithms. Those of the kind "at most" have the
same, and an absolute one of 1e-12 in addition, as they may be 0. A strict limit ("below") is compared with the same
tolerance towards not satisfied, so that equality stays a violation. Counts are compared as they are.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict

from anonymize.privacy.groups import Groups, Histogram
from anonymize.privacy.histogram import values_of
from anonymize.records import dataclass
from anonymize.spec.base import Means, ModelParameters

TOLERANCE = 1e-9
NEGLIGIBLE = 1e-12
SMALLEST_FRACTION = 1e-10
"""The smallest share of a population: no table of one row is a smaller share of mankind."""
UNREACHED_ROWS = 2**60
"""More rows than any table has."""

Achieved = dict[str, float | int | str | list[str] | None]
Measured = NDArray[np.float64]
About = Literal["classes", "table", "channel"]
"""What a model is about: every class, the table as a whole, or the channel that values went through."""
Worse = Literal["higher", "lower"]
"""Which way a figure gets worse."""
Needed = Literal["any", "numeric", "order", "hierarchy"]
"""What a model may need of a sensitive attribute."""


class Parameters(ModelParameters):
    """Base of every model's parameters: frozen, no other key, no conversion from text, no infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


# --- limits ----------------------------------------------------------------------------------------------------------


def as_many(required: float) -> int:
    """The fewest rows, where a figure is never above the number of rows."""
    return required if isinstance(required, int) else math.ceil(required * (1 - TOLERANCE))


def one_in(required: float) -> int:
    """The fewest rows, where a figure is never below one over the number of rows."""
    return math.ceil(min((1 - TOLERANCE) / required, UNREACHED_ROWS))


def more_than(number: float) -> int:
    """The smallest whole number that is above another, and not equal to it within the tolerance."""
    return math.floor(min(number / (1 - TOLERANCE), UNREACHED_ROWS)) + 1


def two_for_any(required: float) -> int:
    """The fewest rows, where a figure is 0 in a class of one row."""
    return 1 + (required > 0)


@dataclass(frozen=True)
class Limit:
    """A parameter, and how the figure of a class compares with it."""

    parameter: str
    comparison: Literal["at least", "at most", "below"] = "at least"
    count: bool = False
    """The figure is a whole number."""
    size: bool = False
    """The figure is the number of rows of a class."""
    rows: Callable[[float], int] | None = None
    """The fewest rows with which a class can meet it, given the parameter; None where rows do not matter."""

    @property
    def worse(self) -> Worse:
        """Which way the figure gets worse."""
        return "lower" if self.comparison == "at least" else "higher"

    def meets(self, figures: Measured, required: float) -> NDArray[np.bool_]:
        """Elementwise whether figures are within the limit."""
        if self.count:
            return figures >= required if self.comparison == "at least" else figures <= required
        if self.comparison == "at least":
            return figures >= required * (1 - TOLERANCE)
        return at_most(figures, required) if self.comparison == "at most" else figures < required * (1 - TOLERANCE)

    def strongest(self, figures: Measured) -> float | int | None:
        """The strongest parameter that all figures meet; None if there are no classes, and where no number is enough,
        or none is too much."""
        if not figures.size:
            return None
        extreme = float(figures.min() if self.worse == "lower" else figures.max())
        if math.isinf(extreme):
            return None
        return int(extreme) if self.count else extreme


def at_most(figures: Measured, required: float | Measured) -> NDArray[np.bool_]:
    """Elementwise `figures <= required`, within the tolerance."""
    return figures <= required * (1 + TOLERANCE) + NEGLIGIBLE


def beyond(count: int, rows: int, share: float) -> int:
    """How many of a count have to go so that the others are at most a share of the rows."""
    return max(0, count - math.floor(share * rows * (1 + TOLERANCE) + NEGLIGIBLE * rows))


# --- records ---------------------------------------------------------------------------------------------------------


def unmeasured(groups: Groups, attribute: str | None, parameters: Any) -> Measured:
    """In place of `measure`, for a model that is not about classes."""
    raise TypeError("a model of a channel has no figure of classes: this is probably a bug")


@dataclass(frozen=True, kw_only=True)
class Model:
    """A privacy model: everything is measured for all classes at once, unless it is about a channel."""

    id: str
    """Name in a spec."""
    parameters: type[Parameters]
    """Defined in the model's own module."""
    limits: tuple[Limit, ...]
    """In the order of the figures that `measure` gives."""
    about: About = "classes"
    """What must be within the limits. For a model of the table, `satisfied` is what a search may ask of every class:
    enough for the table to meet the model, and no more than the model where all rows are one class. A search that can
    weigh classes against each other asks `necessary` of them, and the table for the rest."""
    measure: Callable[[Groups, str | None, Any], Measured] = unmeasured
    """(C,) the figure of each class, given the attribute and the parameters; (C, limits) where there are several."""
    given: tuple[str, ...] = ()
    """Parameters that say what is measured. They are not compared; figures for different ones are different figures."""
    sensitive: Literal["none", "any", "numeric"] = "any"
    """The sensitive attribute that the model is about."""

    grows: bool = False
    """A class that meets the model still does with any further rows, whether these meet it or not."""
    by_size: bool = False
    """A class meets the model if and only if it has `minimum_rows` rows, unless a population is asked about."""
    compares: bool = False
    """Classes are compared with all rows that are released: another row can break the model in every class."""
    diverse: bool = False
    """It is about the sensitive values of a group alone, and a group of enough values, each of them once, meets it."""
    alike: bool = False
    """It counts how diverse sensitive values are: those that look alike are one, and what reads as unknown is none."""
    by_default: bool = False
    """It is measured where nothing is required; that takes no parameters."""
    rank: str | None = None
    """A parameter that is given, a whole number from 1, of which a smaller one asks for less."""

    @property
    def manual(self) -> str:
        """The docstring of the model's module."""
        return sys.modules[self.parameters.__module__].__doc__ or ""

    def limit(self, parameter: str) -> Limit | None:
        """The limit that a parameter sets; None for one that is given, and for a name that the model does not know."""
        return next((limit for limit in self.limits if limit.parameter == parameter), None)

    def needs(self, parameters: Any) -> Needed:
        """What a sensitive attribute has to be, so that the model can be measured on it."""
        return "numeric" if self.sensitive == "numeric" else "any"

    def minimum_rows(self, parameters: Any) -> int:
        """The fewest rows with which a class can meet the model; 1 where rows do not matter.

        Where single values are protected, a class without any of them meets all but limits on its size.
        """
        exempt = values_of(parameters) is not None
        limits = ((limit, required) for limit, required in self.required(parameters) if limit.size or not exempt)
        return max([1, *(limit.rows(required) for limit, required in limits if limit.rows)])

    def necessary_rows(self, parameters: Any) -> int:
        """The fewest rows of a class in any table that meets the model."""
        return self.minimum_rows(parameters) if self.about == "classes" else 1

    def least_values(self, parameters: Any) -> int:
        """The fewest values, each of them once, with which a group meets a diverse model, whichever they are."""
        return max([1, *(limit.rows(required) for limit, required in self.required(parameters) if limit.rows)])

    def needs_everybody(self, parameters: Any) -> bool:
        """Whether everybody of a population has to be under some class."""
        return False

    def required(self, parameters: Any) -> Iterator[tuple[Limit, float]]:
        """The limits that are set, and to what."""
        for limit in self.limits:
            if (required := getattr(parameters, limit.parameter)) is not None:
                yield limit, required

    def satisfied(self, measured: Measured, parameters: Any) -> NDArray[np.bool_]:
        """(C,) whether each class meets the model."""
        first, *others = self._columns(measured)
        met = first[0].meets(first[1], getattr(parameters, first[0].parameter))
        for limit, figures in others:
            met &= limit.meets(figures, getattr(parameters, limit.parameter))
        return met

    def merges(self, parameters: Any) -> bool:
        """Whether a class that is made of classes which meet the model meets it."""
        return not self.weighs(parameters)

    def weighs(self, parameters: Any) -> bool:
        """Whether it looks at how much of the information each class keeps, which merging loses."""
        return False

    def growing(self, parameters: Any) -> bool:
        """Whether a class that meets the model still does with any further rows."""
        return self.grows and not self.weighs(parameters)

    def sized(self, parameters: Any) -> bool:
        """Whether the rows of a class decide, unless a population is asked about."""
        return self.by_size and not self.weighs(parameters)

    def asks_table(self, parameters: Any) -> bool:
        """Whether something is asked of the table as a whole."""
        return self.about == "table"

    def necessary(self, measured: Measured, parameters: Any) -> NDArray[np.bool_]:
        """(C,) whether each class meets what is asked of every class, without which no table meets the model."""
        if self.about == "classes":
            return self.satisfied(measured, parameters)
        return np.ones(len(measured), np.bool_)

    def rows_over(self, sizes: NDArray[np.int64], rows: int, parameters: Any) -> int:
        """For a model of the table, a lower bound on the suppressed rows if classes of these `sizes` (C,), of `rows` in
        all, are released, or any that they are made of. 0 where nothing is known."""
        return 0

    def achieved(self, measured: Measured, parameters: Any) -> Achieved:
        """The strongest parameters that all classes meet, None where no number is enough, and those that are given."""
        reached: Achieved = {limit.parameter: limit.strongest(figures) for limit, figures in self._columns(measured)}
        given = {name: getattr(parameters, name) for name in self.given}
        return reached | {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in given.items()
            if value is not None
        }

    def _columns(self, measured: Measured) -> list[tuple[Limit, Measured]]:
        """Each limit, and the figure (C,) of every class that it is about."""
        columns = (measured,) if measured.ndim == 1 else tuple(measured.T)
        return list(zip(self.limits, columns, strict=True))

    def within(self, achieved: Achieved, parameters: Any) -> bool:
        """Whether all that is achieved is within the limits that are set; None is within none."""
        bounds = ((limit, achieved[limit.parameter], required) for limit, required in self.required(parameters))
        return all(value is not None and bool(limit.meets(np.array(value), bound)) for limit, value, bound in bounds)


@dataclass(frozen=True, kw_only=True)
class DiversityModel(Model):
    """A model by which the sensitive values of a group are worth at least `l` different ones, by some count of them.
    A figure is at most the number of rows. The strongest such l is measured where nothing is required."""

    limits: tuple[Limit, ...] = (Limit("l", rows=as_many),)
    diverse: bool = True
    alike: bool = True
    by_default: bool = True


def comparing(
    id: str, parameters: type[Parameters], measure: Callable[[Groups, str | None, Any], Measured], limit: Limit
) -> Model:
    """A model with one limit that compares how frequent the protected `values` are in a class with the whole table."""
    return Model(id=id, parameters=parameters, measure=measure, limits=(limit,), given=("values",), compares=True)


def numbers(histogram: Histogram) -> Measured:
    """(R,) the number of each entry. TypeError for a categorical attribute."""
    if histogram.values is None:
        raise TypeError("a histogram without numbers: this is probably a bug")
    return histogram.values


# --- a requirement ----------------------------------------------------------------------------------------------------
# One thing that a release must meet: a model, the attribute it is about, its parameters.


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
