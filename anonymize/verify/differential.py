"""Differential privacy, as a requirement: a property of how a table was drawn, which no file shows by itself.

What draws under it says what it has spent, and the check recomputes that by its own formulas from what is declared of
the mechanism. Everything else does not meet it, whatever its classes are: they follow from the rows, and whoever knows
all but one of these can tell whether that one was among them. Of a table of unknown origin it is not known.

What to do where it is not shown: hand on, with the release, the report of the run that drew it; `--public-report` makes
one for recipients. A synthetic table has its evidence in its manifest. To draw again, for the sake of a
report, spends epsilon again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from anonymize.claims import Basis, Parameters, Result, State
from anonymize.records import dataclass
from anonymize.spec import Spec
from anonymize.verify.verdict import Verdict

DIFFERENTIAL = "differential-privacy"
"""What a report calls the requirement."""
UNDRAWN = (
    "nothing of the release is differentially private: what it shows follows from the rows of the input (safepub, "
    "synthesize, and tabulate with `mechanism: dp` draw what they show)"
)
LOCAL = "values are distorted row by row, and what the other columns show follows from the rows of the input"
NO_FILE = (
    "a file does not show how it was drawn; the evidence is the report of the command that drew it (`-r report.html`; "
    "with `--public-report` one for recipients), in which what was spent was checked"
)
_NEGLIGIBLE = 1e-17
"""A term of a falling sum below this share of it does not change it."""
_TOLERANCE = 1e-9
"""By how much of itself a sum of what was spent may be above what is required, for rounding."""


@dataclass(frozen=True)
class Spent:
    """What a release has spent, as the check recomputes it from its mechanisms."""

    epsilon: float
    delta: float


def with_differential(verdict: Verdict, spec: Spec, known: Spent | str | None) -> Verdict:
    """The verdict with the differential privacy that the spec requires, if it does.

    `known`: what the release has spent; or why it is not differentially private; None: it is not known how the table
    was made.
    """
    if spec.privacy.differential is None:
        return verdict
    required: Parameters = spec.privacy.differential.model_dump()
    return replace(verdict, codes=(*verdict.codes, differential_result(required, known)))


def sampled_spent(search: float, beta: float, k: int) -> Spent:
    """What rows have spent that were drawn with the probability `beta`, of which classes of `k` and more are shown, at
    levels that were chosen with an epsilon of `search`.

    Drawing alone takes epsilon = -ln(1 - beta). Let gamma = (e^epsilon - 1 + beta) / e^epsilon. Delta is the largest
    probability that more than gamma n of n rows are drawn, over every n for which that can show a class of k, which is
    from k / gamma - 1 on. No further n is looked at once Chernoff's bound for it, which falls with n, is below.
    """
    epsilon = -math.log1p(-beta)
    gamma = 1 - (1 - beta) ** 2
    rate = gamma * math.log(gamma / beta) - (gamma - beta)
    delta, count = 0.0, max(1, math.ceil(k / gamma - 1))
    while math.exp(-count * rate) > delta:
        delta = max(delta, _tail(count, math.floor(gamma * count) + 1, beta))
        count += 1
    return Spent(search + epsilon, delta)


def _tail(count: int, least: int, beta: float) -> float:
    """The probability that at least so many of `count` rows are drawn, `least` being above what is expected, so that
    terms fall."""
    if least > count:
        return 0.0
    ways = math.lgamma(count + 1) - math.lgamma(least + 1) - math.lgamma(count - least + 1)
    term = math.exp(ways + least * math.log(beta) + (count - least) * math.log1p(-beta))
    total, odds = 0.0, beta / (1 - beta)
    for drawn in range(least, count + 1):
        total += term
        term *= odds * (count - drawn) / (drawn + 1)
        if term < total * _NEGLIGIBLE:
            break
    return total


def smallest_group(frame: pl.LazyFrame, columns: Sequence[str]) -> int | None:
    """The rows of the smallest group of a table that read the same; None without rows."""
    sizes = frame.group_by(columns).agg(pl.len().alias("rows")).select(pl.col("rows").min())
    smallest: int | None = sizes.collect(engine="streaming").item()
    return smallest


def differential_result(required: Parameters, known: Spent | str | None) -> Result:
    """What a requirement of differential privacy comes to; see `with_differential`."""
    nothing: Parameters = {"epsilon": None, "delta": None}
    unmet = Result(DIFFERENTIAL, None, required, nothing, State.UNMET, 0, 0, basis=Basis.DERIVED)
    if known is None:
        return unmet.unshown(NO_FILE)
    if isinstance(known, str):
        return replace(unmet, why=known)
    achieved: Parameters = {"epsilon": known.epsilon, "delta": known.delta}
    over = [name for name, value in achieved.items() if _exceeds(value, required[name])]
    why = f"{' and '.join(over)} that was spent is above what is required" if over else None
    return replace(unmet, achieved=achieved, state=State.of(not over), why=why)


def _exceeds(value: object, most: object) -> bool:
    assert isinstance(value, float) and isinstance(most, float)
    return not value <= most * (1 + _TOLERANCE)
