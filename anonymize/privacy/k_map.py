"""k-map: everybody in the release looks like at least k people of the population.

Guarantees: an attacker who does not know that a person is in the table, and links it to the population, faces at least
k people whose quasi-identifiers lie under what the person's class shows. It is weaker than k-anonymity, and enough if
it is secret who is in the table. The population has to be complete: people who are missing from its table are not
counted.

Does not bound: anything for people who are known to be in the table: a class may have a single row. Nor does it bound
what the rows of a class have in common: a sensitive value that all of them share is known. An attacker who knows that
some of the k people are not in the table, knows their values in columns that pass through, or has several releases of
the same people may be left with fewer than k.

Without a table of the population, the table is treated as a random sample of it, and the number of people who look like
a class is estimated from its rows. With `fraction` p, the share of the population that is in the table, a class of F
people has a number of rows that is Poisson distributed with mean p F (`estimator: poisson`), or that of a class which
is not empty (`zero-truncated`, the default). A class of f rows meets the model if f or more rows would have a
probability of at most `significance` (0.01 if left out) if the class had k people, or if it has k rows. This is a
statistical test, and gives no certainty about a single class: a table that is not a random sample, say of one hospital,
may have far fewer people like a class in its population.

Formula: F >= k for every class, F the rows of the population all of whose quasi-identifiers lie under the labels and
intervals that the class shows. A suppressed cell shows everything; a missing value lies under the missing value.

With `fraction`: P(X >= f) <= significance for X of mean p k, or f >= k.

Parameters: `k`, people (a whole number, at least 1), and either `population` (a table with the same quasi-identifiers)
or `fraction` (at least 1e-10, at most 1) with `estimator` (poisson or zero-truncated) and `significance` (above 0,
below 1).

Example: with k: 3, fraction: 0.001, the class (flu, cold) passes and the class (flu) fails.

Example: with k: 4, the class (flu) passes with 4 people under it, and the class (flu, cold) fails with 3 people under
it.

Monotone: yes. What a merged class shows has under it all that its parts show.

Missing values: a missing quasi-identifier is a value like any other, in the table and in the population.

Reference: L. Sweeney, "Computational disclosure control: a primer on data privacy protection", PhD thesis, MIT 2001;
K. El Emam, F. Dankar, "Protecting privacy using k-anonymity", JAMIA 15(5), 2008 (estimates D3 and D4).
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from anonymize.privacy import base
from anonymize.privacy.groups import Groups
from anonymize.spec.base import Means, SpecPath


class Parameters(base.Parameters):
    k: Annotated[int, Means.PEOPLE] = Field(
        ge=1, description="people of the population that every class has under it at least"
    )
    population: Annotated[SpecPath | None, Means.POPULATION] = Field(
        default=None, description="a table of the population, with the same quasi-identifiers"
    )
    fraction: float | None = Field(
        default=None,
        ge=base.SMALLEST_FRACTION,
        le=1,
        description="in place of one: the share of the population that is in the table",
    )
    estimator: Literal["poisson", "zero-truncated"] | None = Field(
        default=None, description="beside fraction, how rows are distributed; zero-truncated if left out"
    )
    significance: float | None = Field(
        default=None, gt=0, lt=1, description="beside fraction, how probable an error may be; 0.01 if left out"
    )

    @model_validator(mode="after")
    def _one_population(self) -> Self:
        if (self.population is None) == (self.fraction is None):
            raise ValueError("give a population, or the fraction of it that is in the table")
        if self.fraction is None and (self.estimator or self.significance):
            raise ValueError("estimator and significance are for fraction")
        return self


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    if parameters.population is None:
        return estimated(groups.sizes, parameters)
    return groups.crowd(parameters.population).matched.astype(np.float64)


def estimated(sizes: NDArray[np.int64], parameters: Parameters) -> base.Measured:
    """(C,) the largest k that classes of `sizes` (C,) rows meet."""
    rows, of_class = np.unique(sizes, return_inverse=True)
    reached = [max(size, largest(size, parameters)) for size in rows.tolist()]
    return np.array(reached, np.float64)[of_class]


def largest(rows: int, parameters: Parameters) -> int:
    """The largest k for which so many rows are improbable enough; the probability grows with k, so it is bisected."""
    fraction, significance = parameters.fraction or 1.0, parameters.significance or SIGNIFICANCE
    low, high = 0.0, float(rows + 1)
    while high - low > 1e-13 * high and high > base.SMALLEST_FRACTION / 2:
        middle = (low + high) / 2
        low, high = (middle, high) if _tail(rows, middle, parameters) <= significance else (low, middle)
    return math.floor(low / fraction * (1 + base.TOLERANCE))


def _tail(rows: int, mean: float, parameters: Parameters) -> float:
    """The probability of so many rows or more."""
    from scipy.special import gammainc  # P(X >= n) of a Poisson variable is a regularized gamma function

    above = float(gammainc(rows, mean)) if rows else 1.0
    return above if parameters.estimator == "poisson" else above / -math.expm1(-mean)


SIGNIFICANCE = 0.01

MODEL = base.Model(
    id="k-map",
    parameters=Parameters,
    measure=measure,
    limits=(base.Limit("k", count=True),),
    given=("fraction", "estimator", "significance"),
    sensitive="none",
    grows=True,
)
