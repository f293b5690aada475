"""The file that a randomized release comes with: what its recipient has to know to undo the distortion on average."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anonymize.errors import DataError, Problem, UsageError
from anonymize.randomization.kronecker import Floats
from anonymize.randomization.where import Comparison, Span

FORMAT = "anonymize-randomization"
VERSION = 1

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class DistortedAttribute:
    """An attribute: p, its values, and what each spans where they are numbers.

    `values` is None where the attribute was left alone: then they are those of the table.
    """

    name: str
    role: str
    p: float
    values: tuple[str, ...] | None = None
    bounds: tuple[Bounds | None, ...] | None = None
    half_open: bool = False

    def chosen(self, comparison: Comparison, values: tuple[str, ...]) -> Floats:
        """(values,) 1 for each value that a comparison selects, 0 for the others.

        Raises UsageError for a value that there is not, for a range over values that are no numbers, and for one that
        cuts an interval in two.
        """
        if comparison.span is not None:
            bounds = self.bounds or tuple(_as_number(value) for value in values)
            if not any(bounds):
                raise UsageError(f"--where: the values of {self.name} are not numbers")
            return np.array([self._within(comparison.span, each) for each in bounds], np.float64)
        if not set(comparison.values) <= set(values):
            raise UsageError(f"--where: {self.name} has no such value")
        equal = np.array([value in comparison.values for value in values], np.float64)
        return 1 - equal if comparison.negated else equal

    def _within(self, span: Span, bounds: Bounds | None) -> bool:
        """Whether a value lies in a span as a whole."""
        if bounds is None:
            return False
        low = -np.inf if bounds[0] is None else bounds[0]
        high = np.inf if bounds[1] is None else bounds[1]
        start = -np.inf if span.low is None else span.low
        stop = np.inf if span.high is None else span.high
        if low == high:
            return start < low < stop if span.open else start <= low <= stop
        half = self.half_open or span.open
        inside = start <= low and high <= stop
        outside = high < start or low > stop or (half and (high <= start or low >= stop))
        if not inside and not outside:
            hint = "choose bounds at the ends of the intervals"
            raise UsageError(f"--where: the range of {self.name} cuts an interval in two ({hint})")
        return inside


def _as_number(text: str) -> Bounds | None:
    """A value of a table as a number; None where it is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return (number, number) if math.isfinite(number) else None


def _end(value: object) -> float | None:
    """An end of bounds. Raises TypeError for what is neither a number nor nothing."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise TypeError
    return value


@dataclass(frozen=True)
class Parameters:
    """What a parameters file says. `rows`: of the release."""

    rows: int
    separator: str
    attributes: tuple[DistortedAttribute, ...]

    @classmethod
    def read(cls, path: str) -> Parameters:
        """The file's. Raises DataError for one that cannot be read or is not such a file."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(Problem(f"cannot be read: {error.strerror}", file=path)) from None
        except (ValueError, RecursionError):
            raise DataError(Problem("is no JSON", file=path)) from None
        try:
            if (content["format"], content["version"]) != (FORMAT, VERSION):
                raise ValueError
            attributes = tuple(_attribute(each) for each in content["attributes"])
            return cls(int(content["rows"]), str(content["separator"]), attributes)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            message = f"is not a file of parameters as randomize writes it (version {VERSION})"
            raise DataError(Problem(message, file=path)) from None

    def named(self, names: list[str]) -> list[DistortedAttribute]:
        """Some of the attributes. Raises UsageError for one that there is not, or is named twice."""
        by_name = {each.name: each for each in self.attributes}
        wrong = [f"{name!r} is not an attribute of the parameters, which have {', '.join(by_name)}" for name in names]
        wrong = [text for text, name in zip(wrong, names, strict=True) if name not in by_name]
        wrong += [f"{name!r} is named twice" for name in dict.fromkeys(names) if names.count(name) > 1]
        if wrong:
            raise UsageError(wrong)
        return [by_name[name] for name in names]


def _attribute(each: dict[str, Any]) -> DistortedAttribute:
    """An attribute. Raises an error of these kinds for what is none: lookup, type, value, attribute, arithmetic."""
    values = tuple(map(str, each["values"])) if "values" in each else None
    spans: list[Bounds | None] = [
        None if pair is None else (_end(pair[0]), _end(pair[1])) for pair in each.get("bounds") or ()
    ]
    p = float(each["p"])
    size = len(values or ())
    if not (p == 1 or (values is not None and 1 / size < p < 1)) or (spans and len(spans) != size):
        raise ValueError
    if values is not None and len(set(values)) != size:
        raise ValueError
    bounds = tuple(spans) if "bounds" in each else None
    return DistortedAttribute(
        str(each["name"]), str(each["role"]), p, values, bounds, bool(each.get("half_open", False))
    )
