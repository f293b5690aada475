"""(k,e)-anonymity: every class has k different numbers, and they span at least e.

Guarantees: an attacker who finds a person's class, and knows nothing else, faces at least k different numbers of a
numeric sensitive attribute, the largest of which exceeds the smallest by at least e.

Does not bound: where the numbers between the two lie, and how often each occurs: of 0, 1, 2 and 50, three are close
together (see squared-error diversity), and nearly all rows of a class may have the same one. An attacker who knows the
number of one person, the smallest or the largest, may be left with a narrow range; columns that pass through and
several releases of the same people have the same effect. To an attacker who knows the method, a class that was
generalized because its numbers were too close discloses that they were (minimality).

Formula: |{s : n(s) > 0}| >= k and max s - min s >= e in every class, n(s) the rows of the class with the number s.

Parameters: `k`, numbers (a whole number, at least 1), `e` (a number, at least 0, in the attribute's unit).

Example: with k: 3, e: 50, the class (0, 1, 2, 50) passes and the class (0, 1, 2, 3) fails.

Monotone: yes. A merged class has the numbers of both.

Missing values: do not count; a class with no present value measures 0 and 0.

Reference: Q. Zhang, N. Koudas, D. Srivastava, T. Yu, "Aggregate query answering on anonymized tables", ICDE 2007. There
k is about different sensitive values, not about rows; for rows, ask for k-anonymity.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from anonymize.privacy import base
from anonymize.privacy.groups import Groups


class Parameters(base.Parameters):
    k: int = Field(ge=1, description="different numbers that every class has at least")
    e: float = Field(ge=0, description="what the numbers of every class span at least")


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    histogram = groups.of(attribute)
    values = base.numbers(histogram)
    return np.column_stack((histogram.distinct(), histogram.max(values) - histogram.min(values)))


MODEL = base.Model(
    id="k-e-anonymity",
    parameters=Parameters,
    measure=measure,
    limits=(base.Limit("k", count=True, rows=base.as_many), base.Limit("e", rows=base.two_for_any)),
    sensitive="numeric",
    grows=True,
)
