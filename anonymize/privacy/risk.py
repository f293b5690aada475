"""Risk thresholds: the probability that a record of the release is linked to a person, by three kinds of attacker.

Guarantees: each where its parameter is given. No record is linked with a higher probability than `prosecutor_max` by
whoever knows that the person is in the table, than `journalist_max` by whoever does not; of all records the share of
`marketer` at most is expected to be linked correctly by whoever links all of them; and the share of `records_at_risk`
at most has a prosecutor risk above `threshold`. None says anything about the sensitive values that the rows of a class
have in common.

Formula: with classes of sizes f and N rows, prosecutor risk of a row = 1 / f; prosecutor_max its maximum; marketer its
mean = classes / N; records_at_risk = rows with 1 / f > threshold, over N. The journalist's risk is 1 / F, F the rows of
the population in the class; without a population it is the prosecutor's, which is never lower.

How a search enforces it. The two maxima bound the size of every class. `marketer` and `records_at_risk` are figures of
the table; a search asks every class for what is enough: 1 / marketer rows, and 1 / threshold rows. A release may be
within the bound with some smaller classes too, which the check and `audit` grant and a search does not use.
`journalist_max` is enforced as if it were the prosecutor's.

Parameters: at least one of `prosecutor_max`, `journalist_max` (probabilities, above 0, at most 1), `marketer` (a share,
above 0, at most 1), `records_at_risk` (a share, from 0 to 1) with its `threshold` (a probability, above 0, at most 1).

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

    @model_validator(mode="after")
    def _some_bound(self) -> Parameters:
        if (self.records_at_risk is None) != (self.threshold is None):
            raise ValueError("records_at_risk and threshold go together: give both")
        if not self.model_dump(exclude_none=True):
            raise ValueError("give at least one of prosecutor_max, journalist_max, marketer, records_at_risk")
        return self


def minimum_rows(parameters: Parameters) -> int:
    bounds = [parameters.prosecutor_max, parameters.journalist_max, parameters.marketer]
    if parameters.records_at_risk is not None and parameters.records_at_risk < 1:
        bounds.append(parameters.threshold)
    return max([1, *(int(np.ceil((1 - base.TOLERANCE) / bound)) for bound in bounds if bound is not None)])


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> NDArray[np.float64]:
    return groups.sizes.astype(np.float64)


def satisfied(measured: NDArray[np.float64], parameters: Parameters) -> NDArray[np.bool_]:
    return measured >= minimum_rows(parameters)


def achieved(measured: NDArray[np.float64], parameters: Parameters) -> base.Achieved:
    sizes = measured[measured > 0]
    rows = float(sizes.sum())
    highest = base.highest(1 / sizes)
    found: dict[str, Any] = {"prosecutor_max": highest, "journalist_max": highest}
    found["marketer"] = sizes.size / rows if rows else None
    if parameters.threshold is not None:
        at_risk = ~base.at_most(1 / sizes, parameters.threshold)
        found["records_at_risk"] = float(sizes[at_risk].sum()) / rows if rows else None
        found["threshold"] = parameters.threshold
    asked = parameters.model_dump(exclude_none=True)
    return {name: value for name, value in found.items() if name in asked}
