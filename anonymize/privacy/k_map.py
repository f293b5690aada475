"""k-map: of the population, k people at least look like everybody in the release.

Guarantees: whoever does not know that a person is in the table, and links it to the population, faces at least k people
whose quasi-identifiers lie under what the person's class shows. Weaker than k-anonymity, and enough where being in the
table is a secret. The population has to be one: people whom the table of it lacks are not counted.

Does not bound: anything for people who are known to be in the table: a class may have a single row. Nor does it bound
what the rows of a class have in common: a sensitive value that all of them share is known. Whoever knows that some of
the k people are not in the table, knows columns that pass through of them, or has several releases of the same people
may be left with fewer than k.

Formula: F >= k for every class, F the rows of the population all of whose quasi-identifiers lie under the labels and
intervals that the class shows. A suppressed cell shows everything; a missing value lies under the missing value.

Parameters: `k`, people (a whole number, at least 1), `population` (a table with the same quasi-identifiers).

Example: with k: 4, the class (flu) passes with 4 people under it, and the class (flu, cold) fails with 3 people under
it.

Monotone: yes. What a merged class shows has under it all that its parts show.

Missing values: a missing quasi-identifier is a value like any other, in the table and in the population.

Reference: L. Sweeney, "Computational disclosure control: a primer on data privacy protection", PhD thesis, MIT 2001.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from anonymize.privacy import base
from anonymize.privacy.groups import Groups
from anonymize.spec.base import SpecPath


class Parameters(base.Parameters):
    k: int = Field(ge=1, description="people of the population that every class has under it at least")
    population: SpecPath = Field(description="a table of the population, with the same quasi-identifiers")


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    return groups.crowd(parameters.population).matched.astype(np.float64)


MODEL = base.ClassModel(
    id="k-map",
    parameters=Parameters,
    measure=measure,
    limits=(base.Limit("k", count=True),),
    sensitive="none",
    grows=True,
)
