"""Population uniqueness: the share of a population that is unique on the quasi-identifiers, estimated from a sample.

Two estimators, of the classes' sizes in the sample and the sampling fraction alone. Zayatz: how likely a class that is
unique in the sample is unique in the population, if the classes of the population had the sizes of the sample's.
Pitman: the sizes follow Pitman's sampling formula, of which two parameters are fitted by maximum likelihood. Which one
is better depends on the fraction; the rule is that of Dankar and others: Pitman up to a tenth, if its fit converges,
else Zayatz. (For larger fractions their rule has a third estimator beside Zayatz, the slide negative binomial, and
takes the smaller of the two; it is not here, so that Zayatz alone answers, on the safe side.)

L. Zayatz, "Estimation of the percent of unique population elements on a microdata file using the sample", US Bureau of
the Census, 1991; N. Hoshino, "Applying Pitman's sampling formula to microdata disclosure risk assessment", JOS 17(4),
2001; F. Dankar, K. El Emam, A. Neisa, T. Roffey, "Estimating the re-identification risk of clinical data sets", BMC
Medical Informatics and Decision Making 12, 2012.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from anonymize.risk.frequency import Floats, Ints

SMALL_FRACTION = 0.1
_ROUNDS = 300
_ACCURATE = 1e-9


@dataclass(frozen=True)
class PopulationUniqueness:
    """`share` of the population that is unique, by an estimator, for a sampling fraction."""

    fraction: float
    share: float
    estimator: Literal["none", "zayatz", "pitman"]

    def as_dict(self) -> dict[str, Any]:
        """The estimate in a report."""
        return {"sampling_fraction": self.fraction, "uniques": self.share, "estimator": self.estimator}


def population_uniques(counts: Ints, fraction: float) -> PopulationUniqueness:
    """The estimate for classes of `counts` (C,) rows in a sample that is a share of the population, in (0, 1].

    A sample without uniques gives 0. ValueError for any other fraction.
    """
    if not 0 < fraction <= 1:
        raise ValueError("a sampling fraction is above 0 and at most 1")
    sizes, classes = np.unique(counts, return_counts=True)
    if not len(sizes) or sizes[0] != 1:
        return PopulationUniqueness(fraction, 0.0, "none")
    if fraction <= SMALL_FRACTION:
        share = pitman(sizes, classes, fraction)
        if share:
            return PopulationUniqueness(fraction, share, "pitman")
    return PopulationUniqueness(fraction, zayatz(sizes, classes, fraction), "zayatz")


def zayatz(sizes: Ints, classes: Ints, fraction: float) -> float:
    """The share of Zayatz: `classes` (S,) of each of the `sizes` (S,), ascending from 1."""
    rows = int((sizes * classes).sum())
    population = max(round(rows / fraction), rows)
    once = _drawn_once(population, sizes, rows) * classes
    if not once.sum():
        return 0.0
    still_unique = once[0] / once.sum()
    return min(float(classes[0] * still_unique / (rows / population) / population), 1.0)


def _drawn_once(population: int, sizes: Ints, rows: int) -> Floats:
    """(S,) the probability that a sample of `rows` has exactly one of a class of each size (hypergeometric)."""
    size = sizes.astype(np.float64)
    possible = population - size >= rows - 1
    logs = np.array([_log_ways(population - int(each), rows - 1) for each in sizes[possible]])
    probability = np.zeros(len(sizes))
    probability[possible] = np.exp(np.log(size[possible]) + logs - _log_ways(population, rows))
    return probability


def _log_ways(total: int, chosen: int) -> float:
    """The logarithm of the number of ways to choose some of all."""
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)


def pitman(sizes: Ints, classes: Ints, fraction: float) -> float | None:
    """The share by Pitman's sampling formula; None where the fit does not converge to parameters that make sense."""
    rows, count = int((sizes * classes).sum()), int(classes.sum())
    twice = classes[sizes == 2].sum()
    if count < 2 or rows < 2 or not twice or count == rows:
        return None
    with np.errstate(all="ignore"):
        fitted = _fitted(sizes, classes, rows, count, _start(rows, count, int(classes[0]), int(twice)))
    if fitted is None:
        return None
    theta, alpha = fitted
    population = max(round(rows / fraction), rows)
    share = math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha) + (alpha - 1) * math.log(population))
    return share if 0 < share <= 1 else None


def _start(rows: int, count: int, ones: int, twos: int) -> tuple[float, float]:
    """Where the search begins: theta and alpha by the method of moments."""
    c = ones * (ones - 1) / twos
    below = 2 * ones * count + ones * c - rows * c
    theta = (rows * count * c - ones * (rows - 1) * (2 * count + c)) / below if below else float("nan")
    return theta, (theta * (ones - rows) + (rows - 1) * ones) / (rows * count)


def _fitted(
    sizes: Ints, classes: Ints, rows: int, count: int, start: tuple[float, float]
) -> tuple[float, float] | None:
    """Newton and Raphson on the two equations of the likelihood's maximum."""
    at_class = np.arange(1, count, dtype=np.float64)
    at_row = np.arange(1, rows, dtype=np.float64)
    at_size = np.arange(1, int(sizes[-1]), dtype=np.float64)
    larger = classes.sum() - np.cumsum(np.bincount(sizes, classes, minlength=int(sizes[-1]) + 1))[1:-1]
    theta, alpha = start
    for _ in range(_ROUNDS):
        inverse, by_row, by_size = 1 / (theta + at_class * alpha), 1 / (theta + at_row), 1 / (at_size - alpha)
        first = inverse.sum() - by_row.sum()
        second = at_class @ inverse - larger @ by_size
        square = inverse**2
        cross = -(at_class @ square)
        jacobian = np.array(
            [[(by_row**2).sum() - square.sum(), cross], [cross, -(at_class**2 @ square) - larger @ by_size**2]]
        )
        if not np.isfinite(jacobian).all() or not np.linalg.det(jacobian):
            return None
        step = np.linalg.solve(jacobian, np.array([first, second]))
        theta, alpha = theta - float(step[0]), alpha - float(step[1])
        if np.abs(step).max() < _ACCURATE * max(1.0, abs(theta)):
            return (theta, alpha) if theta > -alpha and 0 <= alpha < 1 else None
    return None
