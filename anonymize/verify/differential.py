"""Differential privacy, as a requirement: a property of how a table was drawn, which no file shows by itself.

What draws under it says what it has spent, and the check recomputes that by its own formulas from what is declared of
the mechanism. Everything else does not meet it, whatever its classes are: they follow from the rows, and whoever knows
all but one of these can tell whether that one was among them. Of a table of unknown origin it is not known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from anonymize.claims import Basis, Parameters, Result, State
from anonymize.spec import Spec
from anonymize.verify.verdict import Verdict

DIFFERENTIAL = "differential-privacy"
"""What a report calls the requirement."""
UNDRAWN = "nothing of the release is differentially private: what it shows follows from the rows of the input"
LOCAL = "values are randomized row by row, and what the other columns show follows from the rows of the input"
NO_FILE = "a file does not show how it was drawn; the report of the command that made it does"
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
