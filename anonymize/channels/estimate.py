"""What a recipient can work out from a released table: the original distribution, how sure it is, answers to counts.

The unbiased estimate of the original distribution is P^-1 lambda, lambda the distribution that is observed. It sums to
1, and cells may be negative. Its covariance is, over draws of rows from a population and of the channel,
N^-1 (P^-1 diag(P pi) P'^-1 - pi pi') (formula 2: "population"), and over repeated passages of one table
N^-1 (P^-1 diag(P pi) P'^-1 - diag(pi)) ("table"). Both are estimated with lambda in place of P pi.

Source: Guo, Ying, Wu: formulas (2) and (4); the iterative Bayes estimate is that of Agrawal and Aggarwal (PODS 2001),
the projection to the simplex that of Held, Wolfe, Crowder (1974).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from anonymize import channels
from anonymize.channels import Floats
from anonymize.records import dataclass

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
    return channels.apply([channels.inverse(*each) for each in zip(p, observed.shape, strict=True)], observed)


def variances(observed: Floats, p: Sequence[float], rows: int, about: About, estimate: Floats | None = None) -> Floats:
    """The variance of each cell of `unbiased`: the diagonal of its covariance; same shape, never below 0.

    `estimate`: what `unbiased` gives, where it is known.
    """
    factors = [channels.inverse_squared(*each) for each in zip(p, observed.shape, strict=True)]
    result = channels.apply(factors, observed)
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
    factors = [channels.matrix(*each) for each in zip(p, observed.shape, strict=True)]
    pi = np.full(observed.shape, 1 / observed.size)
    for _ in range(STEPS):
        seen = channels.apply(factors, pi)
        ratio = np.divide(observed, seen, out=np.zeros_like(seen), where=seen > 0)
        before, pi = pi, pi * channels.apply(factors, ratio)  # P is symmetric
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
        weights = np.multiply.outer(weights, channels.apply([channels.inverse(each, len(each_chosen))], each_chosen))
    mean = float((weights * observed).sum())
    spread = mean if about == "table" else mean**2
    variance = max(float((weights**2 * observed).sum()) - spread, 0.0)
    return Count(rows * mean, float(np.sqrt(rows * variance)))


# --- confidence intervals ---------------------------------------------------------------------------------------------
# Confidence intervals of counts: all counts that the released table does not refute.
#
# A condition names some values of each of m attributes. A row's profile says for which of them the row has one of these
# values; there are 2^m profiles. The estimate is a sum over rows of a weight that depends on the observed profile
# alone. If the true count is c, the distribution of that sum is known, except for how the other rows are spread over
# the profiles, which is estimated. As that of Clopper and Pearson, the interval contains every c for which a sum at
# least as high as the observed one, and a sum at least as low, each have a probability of (1 - confidence) / 2 or more.
# For large counts this is the interval of the normal distribution. For small ones it is not: their sum is skewed, it
# moves in steps as wide as a row's weight, and the estimated variance is unreliable.
#
# A sum can be so low that it is improbable even for c = 0. Its probability is therefore compared with that for c = 0,
# so that an interval is never empty, and a low sum alone never refutes a small count. In return, the intervals of
# counts near 0 (and near the number of rows) hold the truth more often than they promise.
#
# The tails are saddlepoint approximations with a correction for the steps, and not exact. The documentation
# has the coverage of the intervals as measured.
#
# Sources: Clopper, Pearson (Biometrika 1934); Daniels, Tail probability approximations (International Statistical
# Review 1987), section 6, in the form of Barndorff-Nielsen; Read, Presentation of search results: the CLs technique
# (Journal of Physics G 2002).

FARTHEST = 600.0
"""A tilt times the spread of the weights is at most this: beyond it a tail is taken to be empty."""
TILTS = 60
HALVINGS = 60
PRECISE = 1e-4
"""The ends are within so many rows, or within this share of the distance between them and the estimate."""


def interval(
    observed: Floats, p: Sequence[float], chosen: Sequence[Floats], rows: int, about: About, confidence: float
) -> tuple[float, float]:
    """The lowest and the highest count that are not refuted; the arguments are those of `estimate.count`.

    45 of 200 rows show the first of five values. A row keeps its value with probability 0.8, and shows each other one
    with 0.05, so about (45 - 200 * 0.05) / 0.75 = 46.7 rows had it. Counts from 36 to 58 are compatible with that:

    >>> low, high = interval(np.array([45, 155, 0, 0, 0]) / 200, [0.8], [np.eye(5)[0]], 200, "table", 0.95)
    >>> round(low), round(high)
    (36, 58)
    """
    if not all(each_chosen.any() for each_chosen in chosen):
        return 0.0, 0.0
    table = observed
    for axis in reversed([axis for axis, each_chosen in enumerate(chosen) if each_chosen.all()]):
        table = table.sum(axis=axis)  # an attribute of which every value is chosen is not a condition
    conditions = [(each, each_chosen) for each, each_chosen in zip(p, chosen, strict=True) if not each_chosen.all()]
    if not conditions:
        return float(rows), float(rows)
    for _, each_chosen in conditions:  # each takes the first axis away, and appends one of what is not chosen and is
        table = np.tensordot(table, np.stack([1 - each_chosen, each_chosen], axis=1), axes=(0, 0))
    return _ends(Profiles(table.ravel() * rows, _chances(conditions), about), (1 - confidence) / 2)


def _chances(conditions: Sequence[tuple[float, Floats]]) -> tuple[tuple[float, float], ...]:
    """For each attribute the chance to show a chosen value: of a row that has none, and of one that has one."""
    chances = []
    for p, each_chosen in conditions:
        q, number = channels.other(p, len(each_chosen)), float(each_chosen.sum())
        chances.append((number * q, p + (number - 1) * q))
    return tuple(chances)


def _through(matrices: Sequence[Floats], tables: Floats) -> Floats:
    """(..., 2^m) the product with the Kronecker product of m matrices (2, 2), the first for the leading bit.

    Each step multiplies the leading bit's axis and moves it last, so that after m of them the order is the old one.
    """
    lead = tables.shape[:-1]
    for matrix in matrices:
        tables = (matrix @ tables.reshape(*lead, 2, -1)).swapaxes(-1, -2).reshape(*lead, -1)
    return tables


@dataclass(frozen=True)
class Profiles:
    """`counts` (2^m,): rows observed with each profile, the last of which meets the whole condition; the `chances` of
    `_chances`; what a count is `about`."""

    counts: Floats
    chances: tuple[tuple[float, float], ...]
    about: About

    @cached_property
    def rows(self) -> float:
        """Number of rows."""
        return float(self.counts.sum())

    @cached_property
    def channel(self) -> list[Floats]:
        """For each attribute (2, 2): from whether a row has a chosen value to whether it shows one."""
        return [np.array([[1 - out, out], [1 - inside, inside]]) for out, inside in self.chances]

    @cached_property
    def inverses(self) -> list[Floats]:
        """The inverse of each of these."""
        return [np.asarray(np.linalg.inv(matrix), np.float64) for matrix in self.channel]

    @cached_property
    def weights(self) -> Floats:
        """(2^m,) what a row of each profile adds to the estimate."""
        return _through(self.inverses, np.append(np.zeros(len(self.counts) - 1), 1.0))

    @cached_property
    def estimate(self) -> float:
        """The unbiased estimate of the count."""
        return float(self.weights @ self.counts)

    @cached_property
    def step(self) -> float:
        """By how much the estimate moves, at least, where a row comes to show all chosen values."""
        nearest = [len(self.counts) - 1 - (1 << bit) for bit in range(len(self.chances))]
        return float(self.weights[-1] - self.weights[nearest].max())

    @cached_property
    def others(self) -> Floats:
        """(2^m,) shares of the original profiles among the rows that do not meet the condition, estimated."""
        spread = np.maximum(_through([matrix.T for matrix in self.inverses], self.counts), 0.0)
        spread[-1] = 0
        if not spread.any():
            spread[:-1] = 1
        return np.asarray(spread / spread.sum())

    def logarithm(self, tilt: float, count: float) -> tuple[float, float, float]:
        """The cumulant generating function of the estimate where the true count is `count`, and two derivatives.

        With moments M of exp(tilt * weight) of a row by its original profile: the sum of log M over the rows of the
        table, or the log of the mean M over a population, of which every row is a draw.
        """
        exponents = tilt * self.weights
        top = float(exponents.max())
        grown = np.exp(exponents - top)
        moments = _through(self.channel, np.stack([grown, self.weights * grown, self.weights**2 * grown]))
        original = self.others * (self.rows - count)
        original[-1] = count
        if self.about == "population":
            moments, original = (moments @ original / self.rows)[:, None], np.array([self.rows])
        zeroth, first, second = moments
        mean = first / zeroth
        value = float(original @ np.log(zeroth)) + top * self.rows
        return value, float(original @ mean), float(original @ (second / zeroth - mean**2))

    def below(self, limit: float, count: float) -> float:
        """The chance of an estimate below a limit that lies between two steps, where the true count is `count`."""
        farthest = FARTHEST / max(float(np.ptp(self.weights)), 1e-12)
        _, mean, variance = self.logarithm(0.0, count)
        if variance <= 1e-12:
            return float(mean < limit)
        tilt = self._tilt(limit, count, farthest)
        if abs(tilt) >= farthest * (1 - 1e-6):
            return float(tilt > 0)
        if abs(tilt) * math.sqrt(variance) < 1e-3:  # so near the mean that the formula is 0 / 0
            return _normal((limit - mean) / math.sqrt(variance))
        value, _, variance = self.logarithm(tilt, count)
        root = math.copysign(math.sqrt(max(2 * (tilt * limit - value), 1e-300)), tilt)
        moved = 2 * math.sinh(tilt * self.step / 2) / self.step * math.sqrt(variance)
        return _normal(root + math.log(moved / root) / root)

    def _tilt(self, limit: float, count: float, farthest: float) -> float:
        """Where the first derivative is the limit; by Newton's steps, halved intervals where these leave them."""
        low, high, tilt = -farthest, farthest, 0.0
        for _ in range(TILTS):
            _, mean, variance = self.logarithm(tilt, count)
            low, high = (tilt, high) if mean < limit else (low, tilt)
            after = tilt + (limit - mean) / variance if variance > 0 else math.inf
            if not low < after < high:
                after = (low + high) / 2
            if abs(after - tilt) <= 1e-7 * abs(after):
                return after
            tilt = after
        return tilt


def _normal(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


def _ends(profiles: Profiles, tail: float) -> tuple[float, float]:
    """Both ends of the interval. Each tail counts the step that was observed, and is measured against that of the
    count at which it is largest: 0 for a low estimate, all rows for a high one."""
    rows, under, over = profiles.rows, profiles.estimate - profiles.step / 2, profiles.estimate + profiles.step / 2
    middle = min(max(profiles.estimate, 0.0), rows)
    if profiles.about == "table" and all(chances == (0.0, 1.0) for chances in profiles.chances):
        return middle, middle
    lowest, highest = profiles.below(over, 0.0), 1 - profiles.below(under, rows)
    low = _end(lambda count: 1 - profiles.below(under, count) >= tail * highest, middle, 0.0)
    high = _end(lambda count: profiles.below(over, count) >= tail * lowest, middle, rows)
    return low, high


def _end(possible: Callable[[float], bool], inside: float, outside: float) -> float:
    """Where, on the way from a possible count to the last one that there is, counts begin to be refuted."""
    if possible(outside):
        return outside
    start = inside
    for _ in range(HALVINGS):
        if abs(outside - inside) <= PRECISE * max(1.0, abs(inside - start)):
            break
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if possible(middle) else (inside, middle)
    return outside
