"""How often an attack succeeds, beside how often it would have succeeded anyway, with intervals.

The excess is what an attacker learns because of the release, as a share of what there was left to learn: (rate -
baseline) / (1 - baseline), or, against people who are not in the release, (rate - control) / (1 - control). Below 0
nothing is learned.

Rates have Wilson's 95 % intervals. The release and the baseline are tried on the same people, so the interval of their
difference is that of pairs, with half a pair added to each of the four outcomes (Agresti and Min, Statistics in
Medicine 2005); people of the control are others, so that the errors of both rates add up, as in Anonymeter. A success
may be a chance, such as 1/5 of picking the right one of five rows: intervals are then wider than they need to be.

Source: Giomi, Boenisch, Wehmeyer and Tasnádi, A unified framework for quantifying privacy risk in synthetic data,
PoPETs 2023, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import sqrt
from typing import Any

import numpy as np

from anonymize.classes import Floats

Z = 1.959963984540054
"""The quantile of the normal distribution for 95 %."""


@dataclass(frozen=True)
class ExcessEstimate:
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float


def wilson(successes: float, tries: int) -> ExcessEstimate:
    """The rate of `successes` in at least one try, with Wilson's interval."""
    rate = successes / tries
    scale = 1 + Z**2 / tries
    middle = (rate + Z**2 / (2 * tries)) / scale
    error = Z * sqrt(max(rate * (1 - rate), 0.0) / tries + Z**2 / (4 * tries**2)) / scale
    return ExcessEstimate(rate, max(middle - error, 0.0), min(middle + error, 1.0))


def over_baseline(hits: Floats, baseline: Floats) -> ExcessEstimate:
    """The excess of `hits` over `baseline`, (tries,) both, of the same tries. 0 where nothing was left to learn."""
    share = float(baseline.mean())
    if share >= 1:
        return ExcessEstimate(0.0, 0.0, 0.0)
    difference, tries = hits - baseline, len(hits) + 2
    middle = float(difference.sum()) / tries
    spread = (float(np.square(difference).sum()) + 1) / tries - middle**2
    error = Z * sqrt(max(spread, 0.0) / tries)
    value = float(difference.mean())
    low, high = min(middle - error, value), max(middle + error, value)
    return ExcessEstimate(value / (1 - share), low / (1 - share), min(high / (1 - share), 1.0))


def over_control(hits: Floats, control: Floats) -> ExcessEstimate:
    """The excess of `hits` over those of other people, (tries,) and (others,). 0 where nothing was left to learn."""
    rate, other = (wilson(float(each.sum()), len(each)) for each in (hits, control))
    if other.value >= 1:
        return ExcessEstimate(0.0, 0.0, 0.0)
    left = 1 - other.value
    value = (rate.value - other.value) / left
    rate_error, other_error = ((each.high - each.low) / 2 for each in (rate, other))
    error = sqrt((rate_error / left) ** 2 + ((rate.value - 1) * other_error / left**2) ** 2)
    return ExcessEstimate(value, value - error, min(value + error, 1.0))


@dataclass(frozen=True)
class Success:
    """What an attacker achieved.

    `about`: the column that he attacked; None where he attacks people as a whole. `hits` (tries,): 1 for a success, 0
    for none, or the chance of one; `baseline` (tries,): the same without the release; `control` (others,): the same
    attack on people who are not in the release, None where it cannot be made. `complete`: whether everything that could
    be tried was, so that there is no error of sampling. `figures`: further ones, by name.
    """

    hits: Floats
    baseline: Floats
    control: Floats | None = None
    about: str | None = None
    complete: bool = False
    figures: Mapping[str, float | int | None] = field(default_factory=dict)

    @property
    def excess(self) -> ExcessEstimate | None:
        """What is learned because of the release: over the control where there is one, else over the baseline. None
        where nobody could be attacked."""
        if not len(self.hits):
            return None
        if self.control is not None and len(self.control):
            return over_control(self.hits, self.control)
        estimate = over_baseline(self.hits, self.baseline)
        return ExcessEstimate(estimate.value, estimate.value, estimate.value) if self.complete else estimate

    def block(self) -> dict[str, Any]:
        """As it stands in a report; figures are None where nobody could be attacked."""
        excess, control = self.excess, self.control if self.control is not None and len(self.control) else None
        return {
            "about": self.about,
            "targets": len(self.hits),
            "successes": float(self.hits.sum()),
            "rate": _rate(self.hits),
            "baseline": _rate(self.baseline),
            "control": None if control is None else {"targets": len(control)} | (_rate(control) or {}),
            "against": "baseline" if control is None else "control",
            "excess": None if excess is None else asdict(excess),
            "figures": dict(self.figures),
        }


def _rate(hits: Floats) -> dict[str, float] | None:
    return asdict(wilson(float(hits.sum()), len(hits))) if len(hits) else None
