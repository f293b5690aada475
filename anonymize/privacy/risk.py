"""Risk thresholds: the probability that a record of the release is linked to a person, by three kinds of attacker.

Guarantees: each where its parameter is given. No record is linked with a higher probability than `prosecutor_max` by
whoever knows that the person is in the table, than `journalist_max` by whoever does not; of all records the share of
`marketer` at most is expected to be linked correctly by whoever links all of them; and the share of `records_at_risk`
at most has a prosecutor risk above `threshold`. None says anything about the sensitive values that the rows of a class
have in common.

Formula: with classes of sizes f and N rows, prosecutor risk of a row = 1 / f; prosecutor_max its maximum; marketer its
mean = classes / N; records_at_risk = rows with 1 / f > threshold, over N. The journalist's risk is 1 / F, F the rows of
the `population` whose quasi-identifiers lie under what the class shows, as in k-map; without a population it is the
prosecutor's, which is never lower where everybody in the table is in the population.

How a search enforces it. The two maxima bound the size of every class, that of the journalist its people in the
population, where there is one. `marketer` and `records_at_risk` are figures of
the table; a search asks every class for what is enough: 1 / marketer rows, and 1 / threshold rows. A release may be
within the bound with some smaller classes too, which the check and `audit` grant and a search does not use.

Parameters: at least one of `prosecutor_max`, `journalist_max` (probabilities, above 0, at most 1), `marketer` (a share,
above 0, at most 1), `records_at_risk` (a share, from 0 to 1) with its `threshold` (a probability, above 0, at most 1);
beside `journalist_max`, `population` (a table with the same quasi-identifiers).

Monotone: yes. A merged class has the rows of both, and there is one class less.

Missing values: a missing quasi-identifier is a value like any other.

Reference: K. El Emam, "Guide to the de-identification of personal health information", CRC Press 2013; F. Dankar,
K. El Emam, "A method for evaluating marketer re-identification risk", PAIS 2010.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from anonymize.privacy import base
from anonymize.privacy.groups import Groups
from anonymize.spec.base import SpecPath

ID = "risk"
MONOTONE = True
GROWING = True
BY_SIZE = True
SCOPE: Literal["class", "table"] = "table"
SENSITIVE: Literal["none", "any", "numeric"] = "none"


class Parameters(base.Parameters):
    prosecutor_max: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="highest risk of a row, if the attacker knows that it is in the table",
    )
    journalist_max: float | None = Field(
        default=None, gt=0, le=1, description="highest risk of a row, if the attacker does not know it"
    )
    marketer: float | None = Field(
        default=None, gt=0, le=1, description="share of the rows that may be expected to be linked correctly"
    )
    records_at_risk: float | None = Field(
        default=None, ge=0, le=1, description="share of the rows whose risk may be above the threshold"
    )
    threshold: float | None = Field(
        default=None, gt=0, le=1, description="risk above which a row counts in records_at_risk"
    )
    population: SpecPath | None = Field(
        default=None, description="for journalist_max, a table of the population, with the same quasi-identifiers"
    )

    @model_validator(mode="after")
    def _some_bound(self) -> Parameters:
        if (self.records_at_risk is None) != (self.threshold is None):
            raise ValueError("records_at_risk and threshold go together: give both")
        if self.population is not None and self.journalist_max is None:
            raise ValueError("population is for journalist_max: give that, too")
        if not self.model_dump(exclude_none=True):
            raise ValueError("give at least one of prosecutor_max, journalist_max, marketer, records_at_risk")
        return self


def minimum_rows(parameters: Parameters) -> int:
    bounds = [parameters.prosecutor_max, parameters.marketer]
    if parameters.population is None:
        bounds.append(parameters.journalist_max)
    if parameters.records_at_risk is not None and parameters.records_at_risk < 1:
        bounds.append(parameters.threshold)
    return max([1, *(_fewest(bound) for bound in bounds if bound is not None)])


def _fewest(risk: float) -> int:
    """The fewest among whom nobody is found with a higher probability."""
    return int(np.ceil((1 - base.TOLERANCE) / risk))


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> NDArray[np.float64]:
    people = groups.sizes if parameters.population is None else groups.crowd(parameters.population).matched
    return np.column_stack((groups.sizes, people)).astype(np.float64)


def satisfied(measured: NDArray[np.float64], parameters: Parameters) -> NDArray[np.bool_]:
    enough = measured[:, 0] >= minimum_rows(parameters)
    return (
        enough if parameters.journalist_max is None else enough & (measured[:, 1] >= _fewest(parameters.journalist_max))
    )


def achieved(measured: NDArray[np.float64], parameters: Parameters) -> base.Achieved:
    sizes, people = measured[measured[:, 0] > 0].T
    rows = float(sizes.sum())
    nobody = bool((people == 0).any())
    found: dict[str, Any] = {"prosecutor_max": base.highest(1 / sizes)}
    found["journalist_max"] = None if nobody else base.highest(1 / people)
    found["marketer"] = sizes.size / rows if rows else None
    if parameters.threshold is not None:
        at_risk = ~base.at_most(1 / sizes, parameters.threshold)
        found["records_at_risk"] = float(sizes[at_risk].sum()) / rows if rows else None
        found["threshold"] = parameters.threshold
    asked = parameters.model_dump(exclude_none=True)
    return {name: value for name, value in found.items() if name in asked}
