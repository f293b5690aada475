"""(k,e)-anonymity: every class has k different numbers, and they span at least e.

Guarantees: of a numeric sensitive attribute, whoever finds a person's class faces at least k different numbers, the
largest of which exceeds the smallest by at least e. It does not say where the others lie: of 0, 1, 2 and 50, three are
close together (see squared-error diversity), nor how often each occurs.

Formula: |{s : n(s) > 0}| >= k and max s - min s >= e in every class, n(s) the rows of the class with the number s.

Parameters: `k`, numbers (a whole number, at least 1), `e` (a number, at least 0, in the attribute's unit).

Monotone: yes. A merged class has the numbers of both.

Missing values: do not count; a class with no present value measures 0 and 0.

Reference: Q. Zhang, N. Koudas, D. Srivastava, T. Yu, "Aggregate query answering on anonymized tables", ICDE 2007. There
k is about different sensitive values, not about rows; for rows, ask for k-anonymity.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from anonymize.privacy import base
from anonymize.privacy.groups import Groups

ID = "k-e-anonymity"
MONOTONE = True
GROWING = True
BY_SIZE = False
SCOPE: Literal["class", "table"] = "class"
SENSITIVE: Literal["none", "any", "numeric"] = "numeric"


class Parameters(base.Parameters):
    k: int = Field(ge=1, description="different numbers that every class has at least")
    e: float = Field(ge=0, description="what the numbers of every class span at least")


def minimum_rows(parameters: Parameters) -> int:
    return max(parameters.k, 1 + (parameters.e > 0))


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> NDArray[np.float64]:
    histogram = groups.of(attribute)
    if histogram.values is None:
        raise TypeError(f"{ID} of a histogram without numbers: this is probably a bug")
    span = histogram.max(histogram.values) - histogram.min(histogram.values)
    return np.column_stack((histogram.distinct(), span))


def satisfied(measured: NDArray[np.float64], parameters: Parameters) -> NDArray[np.bool_]:
    return (measured[:, 0] >= parameters.k) & base.at_least(measured[:, 1], parameters.e)


def achieved(measured: NDArray[np.float64], parameters: Parameters) -> base.Achieved:
    return {"k": base.lowest_count(measured[:, 0]), "e": base.lowest(measured[:, 1])}
