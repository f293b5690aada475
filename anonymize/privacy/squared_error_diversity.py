"""Squared-error diversity: the numbers of every class are spread, not only different.

Guarantees: the squared deviations of a numeric sensitive attribute from the mean of its class sum to at least `error`
in every class. Incomes of 100, 101 and 102 thousand are three distinct values and still disclose the income; this model
distinguishes them from 1, 50 and 500 thousand.

Does not bound: how close most of the numbers are: one outlier may make up the whole sum, so that nine people of ten
have the same number; and as the sum grows with the class, a large class of nearly equal numbers meets it too. An
attacker who knows the number of the outlier is left with the others, and columns that pass through, or another release
of the same people, may distinguish them. The class is not compared with the table, and an attacker who knows the method
may ask which classes would have been too narrow (minimality).

Formula: sum over the rows of (s - mean)^2 >= error in every class. It is a sum, not a mean: in the square of the
attribute's unit, and it grows with the class. One that is beyond all floating-point numbers is not shown to be met.

Parameters: `error` (a number, at least 0).

Example: with error: 100, the class (1, 50, 100) passes and the class (100, 101, 102) fails.

Monotone: yes. Merging adds the squared deviations of the parts from their own means and those of the means.

Missing values: do not count; a class with no present value measures 0.

Reference: K. LeFevre, D. DeWitt, R. Ramakrishnan, "Workload-aware anonymization", KDD 2006, section 2.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from anonymize.privacy import base
from anonymize.privacy.groups import Groups


class Parameters(base.Parameters):
    error: float = Field(ge=0, description="sum of squared deviations from its mean that every class has at least")


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    histogram = groups.of(attribute)
    values = base.numbers(histogram)
    with np.errstate(over="ignore", invalid="ignore"):  # beyond all numbers: the check does not take that for met
        mean = histogram.sum(histogram.counts * values) / np.maximum(histogram.present(), 1)
        return histogram.sum(histogram.counts * (values - mean[histogram.classes]) ** 2)


MODEL = base.Model(
    id="squared-error-diversity",
    parameters=Parameters,
    measure=measure,
    limits=(base.Limit("error", rows=base.two_for_any),),
    sensitive="numeric",
    grows=True,
    by_default=True,
)
