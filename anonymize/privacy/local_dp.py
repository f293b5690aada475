"""Local differential privacy: what a row shows of its sensitive value is almost as probable for any other value.

Guarantees: an attacker who sees a row of a randomized table, and even knows whose it is, and everything else about the
person, changes the odds between any two sensitive values by at most the factor e^epsilon, whatever was believed before.
It holds for every row that can be observed, not on average, and of every person, whatever the table.

Does not bound: several attributes, several rows of one person, or several releases of the same rows together: their
epsilons add up. Nor does it bound what the table as a whole tells of groups of people, which an attacker may have
believed before, nor what quasi-identifiers and columns that pass through show. A large epsilon bounds little: with 5
the odds may change by a factor of 148.

Formula: P(v | u) <= e^epsilon P(v | u') for every value v that can be shown and any two values u, u' that it may have
been; P the distortion of the attribute. With randomized response over d values that is ln(p / q) <= epsilon, q = (1 -
p) / (d - 1); infinite where p is 1.

Parameters: `epsilon` (a number above 0).

Monotone: not defined; it is not a property of equivalence classes. Only `randomize` takes it: the p of the sensitive
attribute is then at most e^epsilon / (e^epsilon + d - 1). Quasi-identifiers do not count, distorted or not.

Missing values: a missing sensitive value is a value like any other.

Reference: J. Duchi, M. Jordan, M. Wainwright, "Local privacy and statistical minimax rates", FOCS 2013; the bound of
the randomized response of S. Warner, JASA 60, 1965.
"""

from __future__ import annotations

import math

from pydantic import Field

from anonymize.privacy import base

LARGEST_EPSILON = 700.0
"""An epsilon whose factor is a number still."""


class Parameters(base.Parameters):
    epsilon: float = Field(gt=0, description="log of the factor by which a row changes the odds of two values at most")

    @property
    def gamma(self) -> float:
        """What p / q is at most."""
        return math.exp(min(self.epsilon, LARGEST_EPSILON))


MODEL = base.Model(
    about="channel",
    id="local-dp",
    parameters=Parameters,
    limits=(base.Limit("epsilon", "at most"),),
)
