"""Local differential privacy: the sensitive value that a row shows is almost as probable for any other true value.

Guarantees: seeing a row of a randomized table changes an attacker's odds between any two sensitive values by at most
the factor e^epsilon, for any prior belief, even if the attacker knows whose row it is and everything else about the
person. It holds for every row that can be observed, not on average, for every person and every table.

Does not bound: several attributes, several rows of one person, or several releases of the same rows together: their
epsilons add up. Nor does it bound what the table as a whole discloses about groups of people, or what quasi-identifiers
and columns that pass through show. A large epsilon bounds little: with 5 the odds may change by a factor of 148.

Formula: P(v | u) <= e^epsilon P(v | u') for every value v that can be shown and any two possible true values u, u'; P
is the distortion of the attribute. With randomized response over d values that is ln(p / q) <= epsilon, q = (1 - p) /
(d - 1); infinite where p is 1.

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
