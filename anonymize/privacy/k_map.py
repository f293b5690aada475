"""k-map: of the population, k people at least look like everybody in the release.

Guarantees: whoever does not know that a person is in the table, and links it to the population, faces at least k people
whose quasi-identifiers lie under what the person's class shows. Weaker than k-anonymity, and enough where being in the
table is a secret. It protects nobody of whom an attacker knows that: a class may have a single row. The population
has to be one: people whom the table of it lacks are not counted.

Formula: F >= k for every class, F the rows of the population all of whose quasi-identifiers lie under the labels and
intervals that the class shows. A suppressed cell shows everything; a missing value lies under the missing value.

Parameters: `k`, people (a whole number, at least 1), `population` (a table with the same quasi-identifiers).

Monotone: yes. What a merged class shows has under it all that its parts show.

Missing values: a missing quasi-identifier is a value like any other, in the table and in the population.

Reference: L. Sweeney, "Computational disclosure control: a primer on data privacy protection", PhD thesis, MIT 2001.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from anonymize.privacy import base
from anonymize.privacy.groups import Groups
from anonymize.spec.base import SpecPath

ID = "k-map"
MONOTONE = True
GROWING = True
BY_SIZE = False
SCOPE: Literal["class", "table"] = "class"
SENSITIVE: Literal["none", "any", "numeric"] = "none"


class Parameters(base.Parameters):
    k: int = Field(ge=1, description="people of the population that every class has under it at least")
    population: SpecPath = Field(description="a table of the population, with the same quasi-identifiers")


def minimum_rows(parameters: Parameters) -> int:
    return 1


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> NDArray[np.float64]:
    return groups.crowd(parameters.population).matched.astype(np.float64)


def satisfied(measured: NDArray[np.float64], parameters: Parameters) -> NDArray[np.bool_]:
    return measured >= parameters.k


def achieved(measured: NDArray[np.float64], parameters: Parameters) -> base.Achieved:
    return {"k": base.lowest_count(measured)}
