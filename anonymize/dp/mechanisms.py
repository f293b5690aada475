"""A budget in zCDP, and the two mechanisms that draw from it: the discrete Gaussian on counts and the noisy maximum.

Noise and its privacy map are opendp's, with the system's entropy: nobody can draw the same again. The map is asserted
before every draw, and the sum of what was drawn is kept exactly; what would pass the budget is an error of the program,
and nothing is drawn.

A mechanism is rho-zCDP when the Rényi divergence of any order alpha between what it makes of two neighbouring tables is
at most rho times alpha (Bun and Steinke 2016). What is drawn one after the other adds up in rho exactly. Budgets are
such rho inside and (epsilon, delta) outside, which opendp converts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import run_starts
from anonymize.domain import Codes, Floats, Ints
from anonymize.errors import Problem, UsageError
from anonymize.records import dataclass
from anonymize.spec.model import EpsilonDelta

LIBRARY = "opendp"
"""What the extra `dp` installs: noise, private selection and accounting."""
_LEAST, _MOST = 1e-12, 1e6
"""The values of rho between which a budget is looked for."""
_HALVINGS = 100


def require() -> None:
    """Raises UsageError where the extra `dp` is not installed. Imports nothing."""
    try:
        present = find_spec(LIBRARY) is not None
    except (ImportError, ValueError):
        present = False
    if not present:
        raise missing_library()


def missing_library() -> UsageError:
    """What is said where the library of the extra is not installed."""
    hint = "pip install 'anonymize-toolkit[dp]'"
    return UsageError(Problem(f"differential privacy needs {LIBRARY}, which is not installed", hint=hint))


@cache
def opendp() -> Any:
    """The library of mechanisms. Raises UsageError where it is not installed."""
    try:
        import opendp.prelude as library
    except ImportError:
        raise missing_library() from None
    library.enable_features("contrib")
    return library


def gaussian_mechanism(sigma: float) -> Any:
    """opendp's discrete Gaussian on vectors of whole numbers; its map takes their L2 distance to a rho."""
    library = opendp()
    vectors = library.vector_domain(library.atom_domain(T="i64"))
    return library.m.make_gaussian(vectors, library.l2_distance(T="f64"), scale=float(sigma))


def _noisy_max(measure: Any, scale: float, *, monotonic: bool = False) -> Any:
    """opendp's largest of scores with Gumbel noise; its map takes their largest distance to a cost by the measure.
    `monotonic`: of neighbouring tables, all scores go the same way."""
    library = opendp()
    vectors = library.vector_domain(library.atom_domain(T="f64", nan=False))
    distance = library.linf_distance(T="f64", monotonic=monotonic)
    return library.m.make_noisy_max(vectors, distance, measure, scale=float(scale))


def epsilon_of(rho: float, delta: float) -> float:
    """The epsilon that rho of zCDP comes to at a delta: by the curve of privacy of a Gaussian of that rho.

    >>> round(epsilon_of(0.5, 1e-6), 3)
    5.222
    """
    mechanism = opendp().c.make_zCDP_to_approxDP(gaussian_mechanism((2 * rho) ** -0.5))
    return float(mechanism.map(1.0).epsilon(delta))


@cache
def rho_of(epsilon: float, delta: float) -> float:
    """The most zCDP that stays within (epsilon, delta); below it by less than one part in 10^12.

    >>> rho = rho_of(1, 1e-9)
    >>> epsilon_of(rho, 1e-9) <= 1 < epsilon_of(rho * (1 + 1e-9), 1e-9)
    True
    """
    low, high = _LEAST, _MOST
    for _ in range(_HALVINGS):
        middle = float((low * high) ** 0.5)
        if high <= low * (1 + 1e-12):
            break
        low, high = (middle, high) if epsilon_of(middle, delta) <= epsilon else (low, middle)
    return low


GAUSSIAN = "discrete Gaussian"
NOISY_MAX = "noisy max"


class BudgetExceeded(Exception):
    """A draw that the budget does not cover: an error of the program."""


@dataclass(frozen=True)
class Draw:
    """What was drawn: by which mechanism, of which columns, at which scale of the noise (the Gaussian's sigma, the
    Gumbel's scale), for which sensitivity (L2 for the Gaussian, of any score for the noisy maximum), at which rho."""

    mechanism: str
    columns: tuple[str, ...]
    scale: float
    sensitivity: float
    rho: float


class Spending:
    """A budget of `rho`, and what was drawn from it.

    >>> spending = Spending(0.5)
    >>> spending.gaussian(np.array([10, 20, 30]), sigma=2, sensitivity=1, of=("sex",)).shape
    (3,)
    >>> spending.spent, spending.entries[0].mechanism
    (0.125, 'discrete Gaussian')
    """

    def __init__(self, rho: float) -> None:
        self.rho = rho
        self.entries: list[Draw] = []

    @property
    def spent(self) -> float:
        """The rho of all draws, rounded once."""
        return float(self._sum())

    @property
    def left(self) -> float:
        """What is left of the budget, never more than that."""
        left = Fraction(self.rho) - self._sum()
        rounded = float(left)
        return max(0.0, rounded if Fraction(rounded) <= left else float(np.nextafter(rounded, 0)))

    def _sum(self) -> Fraction:
        return sum((Fraction(entry.rho) for entry in self.entries), Fraction(0))

    def gaussian(self, counts: Ints, sigma: float, sensitivity: float, of: tuple[str, ...]) -> Ints:
        """The counts with discrete Gaussian noise of scale `sigma` added to each. `sensitivity`: by how much the vector
        of counts of neighbouring tables differs at most, in L2. `of`: the columns of the counts."""
        mechanism = gaussian_mechanism(sigma)
        self._enter(Draw(GAUSSIAN, of, float(sigma), float(sensitivity), mechanism.map(float(sensitivity))))
        return np.array(mechanism(np.asarray(counts, np.int64).ravel().tolist()), np.int64)

    def noisy_max(self, scores: Floats, sensitivity: float, rho: float, of: tuple[str, ...] = ()) -> int:
        """The place of the largest score after Gumbel noise is added to each (the exponential mechanism), at a cost of
        at most `rho`. `sensitivity`: by how much any score of neighbouring tables differs at most."""
        scale = sensitivity / (2 * rho) ** 0.5 * (1 + 1e-12)
        mechanism = _noisy_max(opendp().zero_concentrated_divergence(), scale)
        self._enter(Draw(NOISY_MAX, of, scale, float(sensitivity), mechanism.map(float(sensitivity))))
        return int(mechanism([float(score) for score in scores]))

    def _enter(self, entry: Draw) -> None:
        """Records the entry before anything is drawn. Raises BudgetExceeded where the budget does not cover it."""
        if self._sum() + Fraction(entry.rho) > Fraction(self.rho):
            raise BudgetExceeded(f"{entry.mechanism}: rho {entry.rho} with {self.left} left of {self.rho}")
        self.entries.append(entry)


def exponential(scores: Floats, sensitivity: float, epsilon: float) -> int:
    """The place of the largest score by the exponential mechanism, at a cost of at most `epsilon` of pure differential
    privacy. `sensitivity`: by how much any score of neighbouring tables differs at most, all of them going the same
    way, up or down."""
    mechanism = _noisy_max(opendp().max_divergence(), sensitivity / epsilon * (1 + 1e-12), monotonic=True)
    if (cost := mechanism.map(float(sensitivity))) > epsilon:
        raise BudgetExceeded(f"{NOISY_MAX}: epsilon {cost} of {epsilon}")
    return int(mechanism([float(score) for score in scores]))


def rows_that_count(units: Codes | None, rows: int, most: int) -> NDArray[np.bool_]:
    """(rows,) which rows count, where of each of the `units` (rows,) no more than `most` do: drawn at random, by the
    system's entropy, where there are more. Without units every row is about somebody else, and all count."""
    kept: NDArray[np.bool_] = np.ones(rows, np.bool_)
    if units is None or not rows:
        return kept
    order = np.lexsort((np.random.default_rng().random(rows), units))
    starts = run_starts(units[order])
    place = np.arange(rows) - np.repeat(starts, np.diff(np.append(starts, rows)))
    kept[order[place >= most]] = False
    return kept


def sigma_of(rho: float, sensitivity: float) -> float:
    """The sigma of the discrete Gaussian that costs `rho`, by opendp's map, or less by one part in 10^12.

    >>> round(sigma_of(0.125, 1), 6)
    2.0
    """
    return float(sensitivity / (2 * rho) ** 0.5 * (1 + 1e-13))


ROW = "row"
"""The individual where every row is about somebody else."""
TOLERANCE = 1e-9
"""By how much of the cap a sum may be above it, for rounding."""


@dataclass(frozen=True)
class Charge:
    """What a release tells about people. `what`: the command. `individual`: ROW, or the column of the unit.

    `rho`, `slack`, `epsilon`, `delta`: of differentially private outputs, see the module; None for what has none.
    `local`: by column, the epsilon of values that are distorted one by one; None for one without bound. `input`: the
    hash of the table; `date`: ISO 8601, UTC.
    """

    what: str
    individual: str
    rho: float | None = None
    slack: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    local: Mapping[str, float | None] = field(default_factory=dict)
    input: str = ""
    date: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @classmethod
    def of_zcdp(cls, what: str, individual: str, bound: EpsilonDelta, rho: float, table: str = "") -> Charge:
        """A charge of outputs in zCDP, which come to a bound together. `table`: the hash of the input."""
        return cls(what, individual, float(rho), 0.0, bound.epsilon, bound.delta, input=table)

    @classmethod
    def of_approximate(cls, what: str, individual: str, epsilon: float, delta: float, table: str = "") -> Charge:
        """A charge of outputs of which an epsilon and a delta alone are known; with a delta of 0, of pure epsilon."""
        return cls(what, individual, epsilon**2 / 2, float(delta), float(epsilon), float(delta), input=table)

    @property
    def bounded(self) -> bool:
        """Whether it is of differentially private outputs, which are summed."""
        return self.rho is not None


@dataclass(frozen=True)
class Total:
    """What charges come to together: of those that are summed, `rho` and `slack`, and `epsilon` at the `delta` of a
    cap, which is infinite where the slacks take all of that; `plain`, the sums of their own epsilons and deltas."""

    rho: float
    slack: float
    plain: tuple[float, float]
    epsilon: float
    delta: float

    @classmethod
    def of(cls, charges: tuple[Charge, ...], delta: float) -> Total:
        """The sums, each rounded once."""
        bounded = [each for each in charges if each.bounded]
        rho, slack, *plain = (math.fsum(getattr(each, name) or 0 for each in bounded) for name in SUMMED)
        by_rho = math.inf if slack >= delta else epsilon_of(rho, delta - slack) if rho else 0.0
        by_sum = plain[0] if plain[1] <= delta * (1 + TOLERANCE) else math.inf
        return cls(rho, slack, (plain[0], plain[1]), min(by_rho, by_sum), delta)


SUMMED = ("rho", "slack", "epsilon", "delta")


def sentence(block: Mapping[str, Any]) -> str:
    """What a charge comes to, of the block `budget` of a private report."""
    charge, spent, cap = block["charge"], block["spent"], block["budget"]
    sums = f"{spent['epsilon']:.6g} of epsilon {cap['epsilon']:g} at delta {cap['delta']:g}"
    if "epsilon" not in charge:
        verb = "listed" if block["charged"] else "would be listed"
        return f"{verb} in the ledger, not summed: what it discloses has no epsilon for the table; the sum is {sums}"
    verb = "charged to the ledger" if block["charged"] else "would be charged to the ledger"
    own = f"epsilon {charge['epsilon']:.6g} at delta {charge['delta']:.3g}"
    return f"{verb}: {own}; together {sums}; {still_fits(block['left'])}"


def still_fits(left: Mapping[str, float]) -> str:
    """What `Entries.left` comes to; figures are rounded down, so that what is said to fit does."""
    if not left["epsilon"]:
        return "nothing more fits"
    rho = f" (rho {_rounded_down(left['rho'])} of zCDP is left)" if left.get("rho") else ""
    return f"one more of up to epsilon {_rounded_down(left['epsilon'])} at delta {left['delta']:.3g} still fits{rho}"


def _rounded_down(value: float) -> str:
    """Four significant digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{math.floor(value / unit * (1 + TOLERANCE)) * unit:.4g}"
