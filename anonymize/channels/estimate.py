"""What a recipient can work out from a released table: the original distribution, how sure it is, answers to counts.

The unbiased estimate of the original distribution is P^-1 lambda, lambda the distribution that is observed. It sums to
1, and cells may be negative. Its covariance is, over draws of rows from a population and of the channel,
N^-1 (P^-1 diag(P pi) P'^-1 - pi pi') (formula 2: "population"), and over repeated passages of one table
N^-1 (P^-1 diag(P pi) P'^-1 - diag(pi)) ("table"). Both are estimated with lambda in place of P pi.

Source: Guo, Ying, Wu: formulas (2) and (4); the iterative Bayes estimate is that of Agrawal and Aggarwal (PODS 2001),
the projection to the simplex that of Held, Wolfe, Crowder (1974).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from anonymize.channels import kronecker
from anonymize.channels.kronecker import Floats

About: TypeAlias = Literal["population", "table"]
Method: TypeAlias = Literal["inverse", "simplex", "clip", "bayes"]
METHODS: tuple[Method, ...] = ("inverse", "simplex", "clip", "bayes")

STEPS = 1000
SETTLED = 1e-9
"""The iterative estimate ends when a step moves less than this much probability."""


def unbiased(observed: Floats, p: Sequence[float]) -> Floats:
    """P^-1 lambda, for an observed distribution (d1, ..., dm); same shape.

    60 % of the rows have the first of two values. With p = 0.8 it is shown by 0.6 * 0.8 + 0.4 * 0.2 of them:

    >>> unbiased(np.array([0.56, 0.44]), [0.8]).round(6).tolist()
    [0.6, 0.4]
    """
    return kronecker.apply([kronecker.inverse(*each) for each in zip(p, observed.shape, strict=True)], observed)


def variances(observed: Floats, p: Sequence[float], rows: int, about: About, estimate: Floats | None = None) -> Floats:
    """The variance of each cell of `unbiased`: the diagonal of its covariance; same shape, never below 0.

    `estimate`: what `unbiased` gives, where it is known.
    """
    factors = [kronecker.inverse_squared(*each) for each in zip(p, observed.shape, strict=True)]
    result = kronecker.apply(factors, observed)
    if estimate is None:
        estimate = unbiased(observed, p)
    result -= estimate if about == "table" else estimate**2
    result /= rows
    return np.maximum(result, 0.0, out=result)


def estimate(observed: Floats, p: Sequence[float], method: Method) -> Floats:
    """The original distribution by a method; but for `inverse` it is a distribution: no cell below 0, sum 1.

    `simplex`: the distribution nearest to the unbiased estimate. `clip`: that with negative cells set to 0, rescaled.
    `bayes`: the iteration pi <- pi * P' (lambda / (P pi)) from the uniform distribution, which climbs to the likeliest.
    """
    if method == "bayes":
        return bayes(observed, p)
    shares = unbiased(observed, p)
    if method == "simplex":
        return simplex(shares)
    if method == "clip":
        shares = np.maximum(shares, 0.0)
        return np.asarray(shares / shares.sum())
    return shares


def simplex(point: Floats) -> Floats:
    """The point with no coordinate below 0 and sum 1 that is nearest (Euclidean); same shape."""
    flat = np.sort(point, axis=None)[::-1]
    sums = np.cumsum(flat)
    sums -= 1
    positive = np.count_nonzero(flat * np.arange(1, len(flat) + 1) > sums)
    return np.asarray(np.maximum(point - sums[positive - 1] / positive, 0.0))


def bayes(observed: Floats, p: Sequence[float]) -> Floats:
    """The likeliest distribution, by at most STEPS steps of the iteration."""
    factors = [kronecker.matrix(*each) for each in zip(p, observed.shape, strict=True)]
    pi = np.full(observed.shape, 1 / observed.size)
    for _ in range(STEPS):
        seen = kronecker.apply(factors, pi)
        ratio = np.divide(observed, seen, out=np.zeros_like(seen), where=seen > 0)
        before, pi = pi, pi * kronecker.apply(factors, ratio)  # P is symmetric
        if np.abs(pi - before).sum() < SETTLED:
            break
    return pi


@dataclass(frozen=True)
class Count:
    """How many rows of the original meet a condition: the unbiased estimate and its standard error, in rows."""

    estimate: float
    standard_error: float


def count(observed: Floats, p: Sequence[float], chosen: Sequence[Floats], rows: int, about: About) -> Count:
    """The count of rows whose every attribute has a chosen value, from the observed distribution of these attributes.

    `chosen`: for each attribute (d,) 1 for the values that count, 0 for the others. With w the product of these, the
    answer is N w' P^-1 lambda, and its variance N^2 w' (covariance) w, from P^-1 w alone.
    """
    weights = np.ones(())
    for each, each_chosen in zip(p, chosen, strict=True):
        weights = np.multiply.outer(weights, kronecker.apply([kronecker.inverse(each, len(each_chosen))], each_chosen))
    mean = float((weights * observed).sum())
    spread = mean if about == "table" else mean**2
    variance = max(float((weights**2 * observed).sum()) - spread, 0.0)
    return Count(rows * mean, float(np.sqrt(rows * variance)))
