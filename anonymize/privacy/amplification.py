"""Amplification: no row of a distorted table lifts a belief about a sensitive value from rho1 to rho2.

Guarantees: for any prior belief of an attacker about a person, and any value that the person's row shows of the
sensitive attribute, there is neither an upward rho1-to-rho2 privacy breach (a property of the sensitive value that has
a probability of at most rho1 before the row is seen, and of at least rho2 after) nor a downward one (from at least rho2
to at most rho1). It holds for every row that can be observed, not on average.

Does not bound: a belief that is above rho1 before the row is seen. Prior beliefs include whatever the table as a whole
discloses about groups of people, and whatever quasi-identifiers and columns that pass through show, even if that is
close to certainty. As with local differential privacy (which bounds the same ratio) the guarantee is for one release of
one attribute: several attributes that depend on each other, several rows of one person, and several releases of the
same rows amplify more.

Formula: gamma < rho2 (1 - rho1) / (rho1 (1 - rho2)), where gamma is the largest amplification by the distortion P: the
largest P(v | u) / P(v | u') over released values v and possible true values u, u'. Where one of d values is kept
with probability p, and becomes each other one with q = (1 - p) / (d - 1), gamma is p / q. Measured: gamma rho1 / (1 -
rho1 + gamma rho1), which rho2 has to exceed; 1 where p is 1. Equality is not enough.

Parameters: `rho1`, `rho2` (probabilities, above 0 and below 1; rho1 below rho2).

Monotone: not defined; it is not a property of equivalence classes. It is for distorted values alone: the p of the
sensitive attribute is chosen so small that gamma is below the bound. Quasi-identifiers do not count, distorted or not.

Missing values: a missing sensitive value is a value like any other.

Reference: A. Evfimievski, J. Gehrke, R. Srikant, "Limiting privacy breaches in privacy preserving data mining", PODS
2003, definitions 1 and 2 and statement 1.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from anonymize.privacy import base

STRICTLY = 1 - 1e-8
"""A ratio that has to stay below a bound is at most this much of it."""


class Parameters(base.Parameters):
    rho1: float = Field(gt=0, lt=1, description="probability of a property before a row is seen, at most")
    rho2: float = Field(gt=0, lt=1, description="probability that it does not reach once the row is seen")

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.rho1 >= self.rho2:
            raise ValueError("`rho1` has to be below `rho2`")
        return self

    @property
    def gamma(self) -> float:
        """What p / q is at most, just below the bound."""
        return self.rho2 * (1 - self.rho1) / (self.rho1 * (1 - self.rho2)) * STRICTLY


MODEL = base.Model(
    about="channel",
    id="amplification",
    parameters=Parameters,
    limits=(base.Limit("rho2", "below"),),
    given=("rho1",),
)
