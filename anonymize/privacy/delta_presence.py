"""delta-presence: bounds the probability that a person of the population is in the table.

Guarantees: an attacker who knows the population, and nothing else, and links a person of it to the release, finds that
the probability of the person being in the table is between `min` and `max`. The population has to be complete, and to
contain everybody in the table.

Does not bound: anything about sensitive values: for a person known to be in the table, everything that the rows of the
class have in common is known. An attacker who knows for some people under a class whether they are in the table finds a
different probability for the rest; so does an attacker who knows a smaller population, or columns that pass through of
the people in it. Two releases of a table that people join or leave may together disclose who they are.

Formula: min <= f / F <= max for every class, f its rows, F the rows of the population all of whose quasi-identifiers
lie under the labels and intervals that the class shows. A person under no class is in the table with probability 0:
with `min` above 0 there may be no such people. Regions with gaps between them (mondrian) leave some, so use such a
`min` with full-domain generalization; rows can then not be left out.

Parameters: `min` and `max` (probabilities, from 0 to 1), `population` (a table with the same quasi-identifiers).

Example: with min: 0, max: 0.5, the class (flu, cold) passes with 4 people under it, and the class (flu, cold) fails
with 3 people under it.

Monotone: yes. The share of a merged class lies between those of its parts, if it shows no more than they do together.

Missing values: a missing quasi-identifier is a value like any other, in the table and in the population.

Reference: M. Nergiz, M. Atzori, C. Clifton, "Hiding the presence of individuals from shared databases", SIGMOD 2007.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from anonymize.privacy import base
from anonymize.privacy.groups import Groups
from anonymize.spec.base import Means, SpecPath


class Parameters(base.Parameters):
    min: float = Field(ge=0, le=1, description="lowest probability that a person of the population is in the table")
    max: float = Field(ge=0, le=1, description="highest probability that a person of the population is in the table")
    population: Annotated[SpecPath, Means.POPULATION] = Field(
        description="a table of the population, with the same quasi-identifiers"
    )

    @model_validator(mode="after")
    def _in_order(self) -> Parameters:
        if self.min > self.max:
            raise ValueError("min is above max")
        return self


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    crowd = groups.crowd(parameters.population)
    share = np.full(groups.sizes.size, np.inf)
    np.divide(groups.sizes, crowd.matched, out=share, where=crowd.matched > 0)
    return np.column_stack((np.zeros_like(share) if crowd.outside else share, share))


class Presence(base.Model):
    """Whoever is under no class is in the table with probability 0."""

    def needs_everybody(self, parameters: Parameters) -> bool:
        return parameters.min > 0


MODEL = Presence(
    id="delta-presence",
    parameters=Parameters,
    measure=measure,
    limits=(base.Limit("min"), base.Limit("max", "at most")),
    sensitive="none",
)
