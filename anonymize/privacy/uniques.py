"""How many classes of a population are unique, estimated from a sample: the estimators.

They look at the classes' sizes in the sample and at the sampling fraction alone. Zayatz: how likely a class that is
unique in the sample is unique in the population, if the classes of the population had the sizes of the sample's.
Pitman: the sizes follow Pitman's sampling formula, of which two parameters are fitted by maximum likelihood, alpha from
0 to 1 and theta above -alpha; where the likelihood falls from alpha = 0 on, it is Ewens' formula. SNB: the sizes, less
one, follow a negative binomial distribution, whose two parameters are chosen so that as many classes of one
and of two rows are expected as there are; the number of classes in the population is Shlosser's estimate.

L. Zayatz, "Estimation of the percent of unique population elements on a microdata file using the sample", US Bureau of
the Census, 1991; N. Hoshino, "Applying Pitman's sampling formula to microdata disclosure risk assessment", JOS 17(4),
2001; G. Chen, S. Keller-McNulty, "Estimation of identification disclosure risk in microdata", JOS 14(1), 1998; P. Haas,
L. Stokes, "Estimating the number of classes in a finite population", JASA 93, 1998 (Shlosser).
"""

from __future__ import annotations

import math

import numpy as np

from anonymize.classes import Floats, Ints

_LAST_STEP = 1e-6
"""From here one step of Newton's is as exact as numbers are."""
_FAR = 2.0
SMALL_FRACTION = 0.1


def share_of_uniques(counts: Ints, fraction: float, estimator: str) -> tuple[float, str]:
    """The share of the population that is unique, and the estimator that gave it: zayatz, pitman, snb, or `none` where
    the sample has no uniques.

    `counts` (C,): sizes of the classes. `estimator`: one of these, or `dankar`: Pitman up to a fraction of a tenth,
    else the smaller one of Zayatz and SNB. Zayatz answers where another has no fit.
    """
    sizes, classes = np.unique(counts, return_counts=True)
    if not len(sizes) or sizes[0] != 1:
        return 0.0, "none"
    if estimator == "dankar":
        estimator = "pitman" if fraction <= SMALL_FRACTION else "smaller"
    share = zayatz(sizes, classes, fraction)
    if estimator == "pitman":
        fitted = pitman(sizes, classes, fraction)
        return (share, "zayatz") if fitted is None else (fitted, "pitman")
    if estimator in ("snb", "smaller"):
        fitted = snb(sizes, classes, fraction)
        if fitted is not None and (estimator == "snb" or fitted <= share):
            return fitted, "snb"
    return share, "zayatz"


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
    """The share by Pitman's sampling formula; None where the likelihood has no maximum: every row alone, or one row."""
    rows, count = int((sizes * classes).sum()), int(classes.sum())
    if count < 2 or count == rows:
        return None
    theta, alpha = _Likelihood(sizes, classes, rows, count).maximum()
    population = max(round(rows / fraction), rows)
    share = math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha) + (alpha - 1) * math.log(population))
    return min(share, 1.0)


class _Likelihood:
    """The logarithm of the likelihood of theta and alpha, by its derivatives.

    For an alpha its derivative by theta is infinite at -alpha, below 0 from some theta on, and 0 once between; so theta
    follows from alpha, and what is left is a function of alpha alone, whose derivative falls below any number towards
    1. Newton's steps go to its root, and a step that leaves the bracket around it is replaced by the middle of that.
    Newton's method in both at once, begun by the method of moments, often leaves what theta and alpha may be; scipy's
    `root` would have the same trouble, and takes four times as long to be imported as numpy, in every report.
    """

    def __init__(self, sizes: Ints, classes: Ints, rows: int, count: int) -> None:
        self.by_class = np.arange(1, count, dtype=np.float64)
        self.by_row = np.arange(1, rows, dtype=np.float64)
        self.by_size = np.arange(1, int(sizes[-1]), dtype=np.float64)
        self.larger = count - np.cumsum(np.bincount(sizes, classes, minlength=int(sizes[-1]) + 1))[1:-1]

    def maximum(self) -> tuple[float, float]:
        """Theta and alpha; any one of several maxima, which do not occur in practice."""
        place = self._place(0.0, math.log(len(self.by_class)))
        slope, step = self._by_alpha(place, 0.0)
        if slope <= 0:
            return math.exp(place), 0.0
        alpha, low, high, last = 0.0, 0.0, 1.0, False
        while not last:
            last = abs(step) < _LAST_STEP or high - low < _LAST_STEP**2
            alpha = alpha + step if low < alpha + step < high else (low + high) / 2
            place = self._place(alpha, place)
            slope, step = self._by_alpha(place, alpha)
            low, high = (alpha, high) if slope > 0 else (low, alpha)
        return math.exp(place) - alpha, alpha

    def _place(self, alpha: float, place: float) -> float:
        """The logarithm of theta + alpha for an alpha, by Newton's steps from a `place`."""
        low, high, step = -math.inf, math.inf, 1.0
        while abs(step) > _LAST_STEP and high - low > _LAST_STEP**2:
            slope, curve = self._by_theta(math.exp(place), alpha)
            low, high = (place, high) if slope > 0 else (low, place)
            scaled = slope + math.exp(place) * curve
            step = -slope / scaled if scaled < 0 else math.copysign(_FAR, slope)
            following = place + min(max(step, -_FAR), _FAR)
            if low < following < high:
                place = following
            elif abs(step) > _LAST_STEP:
                place = (low + high) / 2
        return place

    def _by_theta(self, beyond: float, alpha: float) -> tuple[float, float]:
        """The first and the second derivative by theta, where theta is so far `beyond` -alpha."""
        of_class, of_row = 1 / (beyond + (self.by_class - 1) * alpha), 1 / (beyond + (self.by_row - alpha))
        return float(of_class.sum() - of_row.sum()), float((of_row**2).sum() - (of_class**2).sum())

    def _by_alpha(self, place: float, alpha: float) -> tuple[float, float]:
        """Where theta is that of alpha: the derivative by alpha, and Newton's step; one that leads nowhere where the
        derivative does not fall."""
        beyond = math.exp(place)
        of_class, of_size = 1 / (beyond + (self.by_class - 1) * alpha), 1 / (self.by_size - alpha)
        times = self.by_class * of_class
        slope = float(times.sum() - (self.larger * of_size).sum())
        both, alone = (times * of_class).sum(), (times**2).sum() + (self.larger * of_size**2).sum()
        curve = float(-alone - both**2 / self._by_theta(beyond, alpha)[1])
        return slope, -slope / curve if curve < 0 else math.inf


# --- shifted negative binomial ---------------------------------------------------------------------------------------


def snb(sizes: Ints, classes: Ints, fraction: float) -> float | None:
    """The share by the shifted negative binomial model; None where it has no fit. The arguments are as above.

    With alpha and beta, x = (1 - fraction) (1 - beta), and K classes in the population, K fraction (beta / (1 - x)) ^
    alpha (1 + alpha x / (1 - x)) classes of one row are expected and half K fraction^2 alpha (1 - beta) beta^alpha
    (1 - x)^(-alpha - 2) (2 + (alpha - 1) x) of two; K beta^alpha are unique in the population.
    """
    ones, twos = float(classes[0]), float(classes[sizes == 2].sum())
    rows = float((sizes * classes).sum())
    population = max(round(rows / fraction), rows)
    if not twos or fraction >= 1:
        return None
    total = _shlosser(sizes, classes, fraction)
    if not math.isfinite(total) or total <= 0 or total > population:
        return None
    fitted = _fit_snb(total, fraction, ones, twos)
    if fitted is None:
        return None
    alpha, beta = fitted
    share = total * beta**alpha / population
    return share if 0 < share <= 1 else None


def _shlosser(sizes: Ints, classes: Ints, fraction: float) -> float:
    """How many classes the population has, as Haas and Stokes modify Shlosser's estimate."""
    size, number = sizes.astype(np.float64), classes.astype(np.float64)
    unseen = (1 - fraction) ** size
    first = (size * fraction**2 * (1 - fraction**2) ** (size - 1)) @ number
    second = ((1 - fraction**2) ** size - unseen) @ number
    third = unseen @ number
    fourth = (size * fraction * (1 - fraction) ** (size - 1)) @ number
    if not second or not fourth:
        return math.inf
    return float(number.sum() + number[0] * (first / second) * (third / fourth) ** 2)


def _fit_snb(total: float, fraction: float, ones: float, twos: float) -> tuple[float, float] | None:
    """Alpha and beta. For a beta, the two expected numbers have a ratio that grows with alpha, which gives alpha; the
    beta with the expected number of ones is then bisected between neighbours of a grid, the largest there is."""

    def excess(beta: float) -> float:
        alpha = _alpha(fraction, beta, ones, twos)
        if alpha <= 0:
            return math.nan
        x = (1 - fraction) * (1 - beta)
        expected = alpha * math.log(beta / (1 - x)) + math.log1p(alpha * x / (1 - x))
        return math.log(total * fraction / ones) + expected

    grid = [step / 400 for step in range(399, 0, -1)]
    values = [excess(beta) for beta in grid]
    for high, low, above, under in zip(grid, grid[1:], values, values[1:], strict=False):
        if above * under <= 0:
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if excess(middle) * under > 0 else (low, middle)
            return _alpha(fraction, high, ones, twos), high
    return None


def _alpha(fraction: float, beta: float, ones: float, twos: float) -> float:
    """The alpha with which ones and twos are expected in their ratio: a quadratic equation, its positive root."""
    x = (1 - fraction) * (1 - beta)
    scale = fraction * (1 - beta) / (2 * (1 - x))
    a, b, c = scale * x, scale * (2 - x) - twos / ones * x, -twos / ones * (1 - x)
    if abs(a) < 1e-300:
        return -c / b if b > 0 else -1.0
    return (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a)
