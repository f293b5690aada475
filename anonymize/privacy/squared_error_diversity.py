"""Squared-error diversity: the numbers of every class are spread, not only different.

Guarantees: the squared deviations of a numeric sensitive attribute from the mean of its class sum to at least `error`
in every class. Incomes of 100, 101 and 102 thousand are three distinct values and still tell the income; this model
tells them from 1, 50 and 500 thousand.

Formula: sum over the rows of (s - mean)^2 >= error in every class. It is a sum, not a mean: in the square of the
attribute's unit, and it grows with the class.

Parameters: `error` (a number, at least 0).

Monotone: yes. Merging adds the squared deviations of the parts from their own means and those of the means.

Missing values: do not count; a class with no present value measures 0.

Reference: K. LeFevre, D. DeWitt, R. Ramakrishnan, "Workload-aware anonymization", KDD 2006, section 2.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from anonymize.privacy import base
from anonymize.privacy.groups import Groups

ID = "squared-error-diversity"
MONOTONE = True
GROWING = True
BY_SIZE = False
SCOPE: Literal["class", "table"] = "class"
SENSITIVE: Literal["none", "any", "numeric"] = "numeric"


class Parameters(base.Parameters):
    error: float = Field(ge=0, description="sum of squared deviations from its mean that every class has at least")


def minimum_rows(parameters: Parameters) -> int:
    return 1 + (parameters.error > 0)


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> NDArray[np.float64]:
    histogram = groups.of(attribute)
    if histogram.values is None:
        raise TypeError(f"{ID} of a histogram without numbers: this is probably a bug")
    present = np.maximum(histogram.present(), 1)
    mean = histogram.sum(histogram.counts * histogram.values) / present
    with np.errstate(over="ignore"):  # beyond all numbers is more than any error that is asked for
        return histogram.sum(histogram.counts * (histogram.values - mean[histogram.classes]) ** 2)


def satisfied(measured: NDArray[np.float64], parameters: Parameters) -> NDArray[np.bool_]:
    return base.at_least(measured, parameters.error)


def achieved(measured: NDArray[np.float64], parameters: Parameters) -> base.Achieved:
    return {"error": base.lowest(measured)}
