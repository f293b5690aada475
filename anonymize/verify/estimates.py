"""What a sample lets expect of what it was drawn from: its entropy, people like a class, and people who are unique.

Written from the papers that the models name, in plain Python and with polars for sums over rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import polars as pl

Sizes = Mapping[int, float]
"""How many classes there are of each size, ascending."""


# --- entropy ---------------------------------------------------------------------------------------------------------


def grassberger(count: float) -> float:
    """G of a number of rows: digamma(n) + (-1)^n (digamma((n + 1) / 2) - digamma(n / 2)) / 2."""
    sign = 1 if count % 2 == 0 else -1
    return digamma(count) + sign * (digamma((count + 1) / 2) - digamma(count / 2)) / 2


def digamma(x: float) -> float:
    """Its recurrence up to 10, then its asymptotic series."""
    below = 0.0
    while x < 10:
        below, x = below - 1 / x, x + 1
    square = 1 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return below + math.log(x) - 1 / (2 * x) - series


# --- people like a class ---------------------------------------------------------------------------------------------


def people_like(rows: int, fraction: float, estimator: str, significance: float) -> int:
    """The largest k that a class of so many rows meets: as many as its rows at least, and as many as there may be if so
    many rows are seen with the significance at most."""

    def improbable(k: int) -> bool:
        return at_least(rows, k * fraction, estimator) <= significance * (1 + 1e-9)

    high = 1
    while improbable(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if improbable(middle) else (low, middle)
    return max(rows, low)


def at_least(rows: int, mean: float, estimator: str) -> float:
    """The probability of so many rows or more where the mean is known: all terms away from the mean summed, beginning
    with the largest, so that none of those that matter is too small for a number."""
    if rows == 0:
        return 1.0
    above = mean < rows
    number = rows if above else rows - 1
    term, total = math.exp(number * math.log(mean) - mean - math.lgamma(number + 1)), 0.0
    while term > total * 1e-17 and number >= 0:
        total += term
        term *= mean / (number + 1) if above else number / mean
        number += 1 if above else -1
    tail = total if above else 1 - total
    return tail if estimator == "poisson" else tail / (1 - math.exp(-mean))


# --- unique people ---------------------------------------------------------------------------------------------------


def sizes_of(size: pl.Series, weight: pl.Series) -> dict[int, float]:
    """How many classes there are of each size, given what each stands for in rows."""
    rows = pl.DataFrame({"size": size, "weight": weight}).group_by("size").agg(pl.col("weight").sum()).sort("size")
    return {int(each): float(total) / int(each) for each, total in rows.iter_rows()}


def unique_people(sizes: Sizes, fraction: float, estimator: str) -> float:
    """The share of the population that is unique."""
    if not sizes.get(1):
        return 0.0
    safe = zayatz(sizes, fraction)
    if estimator == "dankar" and fraction > 0.1:
        fitted = snb(sizes, fraction)
        return safe if fitted is None else min(safe, fitted)
    fits: dict[str, Callable[[Sizes, float], float | None]] = {"dankar": pitman, "pitman": pitman, "snb": snb}
    other = fits[estimator](sizes, fraction) if estimator in fits else None
    return safe if other is None else other


def _rows(sizes: Sizes) -> float:
    return sum(size * classes for size, classes in sizes.items())


def _population(sizes: Sizes, fraction: float) -> int:
    return int(max(round(_rows(sizes) / fraction), _rows(sizes)))


def zayatz(sizes: Sizes, fraction: float) -> float:
    """Classes of one row, times how many of those that are seen once have one person."""
    rows, people = round(_rows(sizes)), _population(sizes, fraction)

    def log_choose(n: int, k: int) -> float:
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    seen_once = {
        size: classes * size * math.exp(log_choose(people - size, rows - 1) - log_choose(people, rows))
        for size, classes in sizes.items()
        if people - size >= rows - 1
    }
    if not sum(seen_once.values()):
        return 0.0
    return min(sizes[1] * seen_once.get(1, 0.0) / sum(seen_once.values()) / rows, 1.0)


def pitman(sizes: Sizes, fraction: float) -> float | None:
    """Pitman's sampling formula: theta and alpha of most likelihood, alpha at least 0."""
    rows, classes = round(_rows(sizes)), round(sum(sizes.values()))
    if classes < 2 or classes == rows:
        return None

    def by_theta(alpha: float) -> Callable[[float], float]:
        return lambda beyond: (
            inverses(classes, beyond, alpha) - digamma(beyond - alpha + rows) + digamma(beyond - alpha + 1)
        )

    def fitting(alpha: float) -> float:
        """How far theta is from -alpha."""
        above, low = by_theta(alpha), -math.log(rows)
        while above(math.exp(low)) < 0:
            low -= 10
        return math.exp(_falls_to_zero(lambda place: above(math.exp(place)), low, 5 + 3 * math.log(rows)))

    def by_alpha(alpha: float) -> float:
        beyond = fitting(alpha)
        of_sizes = sum(number * (digamma(size - alpha) - digamma(1 - alpha)) for size, number in sizes.items())
        if alpha < 1e-9:
            return classes * (classes - 1) / 2 / beyond - of_sizes
        return (classes - 1 - (beyond - alpha) * inverses(classes, beyond, alpha)) / alpha - of_sizes

    alpha = 0.0 if by_alpha(0.0) <= 0 else _falls_to_zero(by_alpha, 1e-9, 1 - 1e-9)
    theta = fitting(alpha) - alpha
    people = _population(sizes, fraction)
    share = math.exp(math.lgamma(1 + theta) - math.lgamma(alpha + theta) + (alpha - 1) * math.log(people))
    return min(1.0, share)


def inverses(classes: int, beyond: float, alpha: float) -> float:
    """The sum of 1 / (theta + i alpha) for i from 1 to classes - 1, where theta + alpha is `beyond`."""
    if alpha < 1e-9:
        return (classes - 1) / beyond
    return (digamma(beyond / alpha + classes - 1) - digamma(beyond / alpha)) / alpha


def _falls_to_zero(falling: Callable[[float], float], low: float, high: float, steps: int = 60) -> float:
    """Where a function is 0 that is above before and below after, by halving."""
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def snb(sizes: Sizes, fraction: float) -> float | None:
    """Shifted negative binomial classes: alpha and beta with the expected numbers of ones and of twos."""
    ones, twos, people = sizes[1], sizes.get(2, 0.0), _population(sizes, fraction)
    if not twos or fraction >= 1:
        return None
    classes = shlosser(sizes, fraction)
    if not 0 < classes <= people:
        return None

    def alpha_of(beta: float) -> float:
        """Twos over ones is scale x alpha (2 - x + alpha x) / (1 - x + alpha x), which grows with alpha."""
        x = (1 - fraction) * (1 - beta)
        scale = fraction * (1 - beta) / (2 * (1 - x))
        return _falls_to_zero(
            lambda alpha: twos / ones * (1 - x + alpha * x) - scale * alpha * (2 - x + alpha * x), 0.0, 1e12, steps=200
        )

    def excess(beta: float) -> float:
        x, alpha = (1 - fraction) * (1 - beta), alpha_of(beta)
        logs = alpha * math.log(beta / (1 - x)) + math.log1p(alpha * x / (1 - x))
        return math.log(classes * fraction / ones) + logs

    for step in range(398, 0, -1):
        low, high = step / 400, (step + 1) / 400
        below, above = excess(low), excess(high)
        if below * above <= 0:
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if excess(middle) * below > 0 else (low, middle)
            share = classes * high ** alpha_of(high) / people
            return share if 0 < share <= 1 else None
    return None


def shlosser(sizes: Sizes, fraction: float) -> float:
    """How many classes the population has."""
    p = fraction
    first = sum(i * p * p * (1 - p * p) ** (i - 1) * n for i, n in sizes.items())
    second = sum(((1 - p * p) ** i - (1 - p) ** i) * n for i, n in sizes.items())
    third = sum((1 - p) ** i * n for i, n in sizes.items())
    fourth = sum(i * p * (1 - p) ** (i - 1) * n for i, n in sizes.items())
    if not second or not fourth:
        return math.inf
    return sum(sizes.values()) + sizes[1] * first / second * (third / fourth) ** 2
