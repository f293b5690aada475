"""An earlier report, of a release or of an audit, and what is worse than it was.

Which way a figure gets worse is declared where the figure is: by the limits of its privacy model, or beside the figures
of the risk. A figure for which it is not declared is an error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anonymize.errors import UsageError
from anonymize.privacy import ALL, Model, Worse
from anonymize.verify.risk import GIVEN, WORSE
from anonymize.verify.verdict import COMBINATION

_TOLERANCE, _NEGLIGIBLE = 1e-9, 1e-12
PASSING = ("uniques", "uniques_with_quasi_identifiers", "uniques_with_sensitive")
"""Shares of the rows that columns that pass through single out; a report that is older than these has none."""
OF_CODES: Mapping[tuple[str, str], Worse | None] = {
    ("levels", "min"): "lower",
    ("levels", "max"): "higher",
    ("rare", "below"): "lower",
    (COMBINATION, "k"): "lower",
    **{(name, name): None for name in ("round", "top", "bottom")},
}
"""Which way a figure of what is declared of columns, or required of combinations, gets worse; None: it has no way, as a
top code is kept or not."""
BELOW = ("below_k", "below_k_with_quasi_identifiers", "below_k_with_sensitive")
"""Shares of the rows in groups of fewer than `k` by them."""


@dataclass(frozen=True)
class Figure:
    """What can be compared: the parameter of a model, a figure of the risk or of the columns that pass through, and
    which way it gets worse.

    `given`: what it was measured for, such as a distance. Figures for different ones are different figures.
    """

    source: str
    parameter: str
    attribute: str | None
    given: tuple[str, ...]
    worse: Worse

    def __str__(self) -> str:
        about = f" of {self.attribute}" if self.attribute else ""
        return f"{self.source} {self.parameter}{about}" + (f" ({', '.join(self.given)})" if self.given else "")


@dataclass(frozen=True)
class BaselineChange:
    """A figure that is not what it was. `was` and `now` are None where there is no bound."""

    figure: str
    was: float | None
    now: float | None
    worse: bool

    def __str__(self) -> str:
        return f"{self.figure} is {_number(self.now)}, and was {_number(self.was)}"


def _number(value: float | None) -> str:
    return "none" if value is None else format(value, ".6g")


def read(path: str | Path) -> dict[str, Any]:
    """A report. Raises UsageError for a file that is none."""
    try:
        report = json.loads(Path(path).read_text(encoding="utf-8"))
        figures(report)
    except OSError as error:
        raise UsageError(f"--baseline: {path}: cannot be read: {error.strerror}") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise UsageError(f"--baseline: {path}: is no JSON report of a release or an audit") from None
    assert isinstance(report, dict)
    return report


def compare(
    before: Mapping[str, Any], now: Mapping[str, Any], models: Mapping[str, Model] = ALL
) -> list[BaselineChange]:
    """The figures of two reports that differ, in the order of the first; groups below k only where k is the same.

    Raises UsageError for a figure of the first that the second does not have: nothing can be said about it.
    """
    old, new = figures(before, models), figures(now, models)
    old = {figure: was for figure, was in old.items() if figure in new or figure.parameter not in BELOW}
    lacking = [str(figure) for figure in old if figure not in new]
    if lacking:
        hint = "ask for it with --require, and give the threshold that the baseline has"
        raise UsageError(
            [f"--baseline: {name} is in the baseline and is not measured here ({hint})" for name in lacking]
        )
    return [change for figure, was in old.items() if (change := _change(figure, was, new[figure])) is not None]


def figures(report: Mapping[str, Any], models: Mapping[str, Model] = ALL) -> dict[Figure, float | None]:
    """What a report has of figures that can be compared. `models`: those that it may be about.

    Raises UsageError for a figure of which it is not known which way it gets worse; ValueError, LookupError, TypeError
    or AttributeError for what is not a report.
    """
    values: dict[Figure, float | None] = {}
    for result in report["privacy"]["models"]:
        values |= dict(_of_model(result, models.get(result["model"])))
    values |= dict(_of_risk(report["risk"], classed="classes" in report))
    if not all(value is None or (type(value) in (int, float) and math.isfinite(value)) for value in values.values()):
        raise ValueError("a figure is not a number")
    return values


def _of_model(result: Mapping[str, Any], model: Model | None) -> Iterator[tuple[Figure, float | None]]:
    name, achieved = result["model"], result["achieved"]
    names = () if model is None else model.given
    given = sorted(f"{each}={achieved[each]}" for each in names if each in achieved)
    if result.get("required", {}).get("population") is not None:
        given.append("of a population")
    for parameter in achieved:
        if parameter not in names:
            limit = None if model is None else model.limit(parameter)
            worse = OF_CODES.get((name, parameter)) if limit is None else limit.worse
            if worse is None and (name, parameter) not in OF_CODES:
                raise _unknown(f"{name} {parameter}")
            if worse is not None:
                yield Figure(name, parameter, result["attribute"], tuple(given), worse), achieved[parameter]


def _of_risk(risk: Mapping[str, Any], *, classed: bool) -> Iterator[tuple[Figure, float | None]]:
    for name in risk:
        if name not in WORSE and name != GIVEN and not isinstance(risk[name], Mapping | list):
            raise _unknown(f"risk {name}")
    for name, worse in WORSE.items() if classed or WORSE.keys() & risk.keys() else ():
        given = (f"{GIVEN}={risk[GIVEN]:g}",) if name == "records_at_risk" else ()
        yield Figure("risk", name, None, given, worse), risk[name]
    if isinstance(passing := risk.get("passing"), Mapping):
        for name in PASSING:
            yield Figure("passing", name, None, (), "higher"), passing[name]
        for name in BELOW if "k" in passing else ():
            yield Figure("passing", name, None, (f"k={passing['k']}",), "higher"), passing[name]


def _unknown(figure: str) -> UsageError:
    return UsageError(f"--baseline: {figure} cannot be compared: it is not known which way it gets worse")


def _change(figure: Figure, was: float | None, now: float | None) -> BaselineChange | None:
    higher = figure.worse == "higher"
    unbounded = math.inf if higher else -math.inf
    before, after = (unbounded if value is None else value for value in (was, now))
    if before == after or math.isclose(before, after, rel_tol=_TOLERANCE, abs_tol=_NEGLIGIBLE):
        return None
    return BaselineChange(str(figure), was, now, worse=(after > before) == higher)
