"""(alpha,k)-anonymity: every class has k rows, and no sensitive value has more than the share alpha of them.

Guarantees: an attacker who finds a person's class, and knows nothing else, faces k rows, and is right with probability
at most alpha when betting on any one sensitive value.

Does not bound: how many values there are: with alpha of 0.5 two are enough, and they may be similar. A value that is
rare in the table may still have the share alpha in a class (see beta-likeness). An attacker who knows the values of
other people in the class, distinguishes its rows by columns that pass through, or compares several releases of the same
people may be right more often. So may an attacker who knows the method and asks which classes would have been smaller
if their values had met alpha (minimality).

Formula: the size of every class >= k, and max over s of n(s) / n <= alpha in every class, n(s) the rows of the class
with the sensitive value s, n those with any.

Parameters: `alpha` (a share, above 0, at most 1), `k`, rows (a whole number, at least 1), `values` (the sensitive
values that alpha binds; all if left out: the maximum is over these s, and n still counts the rows of all values).

Example: with alpha: 0.5, k: 4, the class (flu, flu, cold, angina) passes and the class (flu, flu, flu, cold) fails.

Example: with alpha: 0.25, k: 4, values: [HIV], the class (HIV, flu, flu, flu) passes and the class (HIV, HIV, flu,
cold) fails.

Monotone: yes. max(a + b) <= max(a) + max(b) <= alpha n(a) + alpha n(b); and a merged class has the rows of both.

Missing values: count as rows of the class and towards k. They have no share and are not in n, so that missing values
cannot dilute the most frequent one; in a class with no present value no alpha is met.

Reference: R. Wong, J. Li, A. Fu, K. Wang, "(alpha,k)-anonymity: an enhanced k-anonymity model for privacy-preserving
data publishing", KDD 2006; there alpha binds one sensitive value, as with `values`, or each (the general model).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from anonymize.privacy import base, histogram
from anonymize.privacy.groups import Groups
from anonymize.spec.base import Means


class Parameters(base.Parameters):
    alpha: float = Field(gt=0, le=1, description="largest share of a class that one value may have")
    k: Annotated[int, Means.PEOPLE] = Field(ge=1, description="rows that every class has at least")
    values: histogram.Values = None


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    histogram = groups.of(attribute)
    present = histogram.present()
    share = np.full(present.size, np.inf)
    counts = np.where(histogram.protected(parameters.values), histogram.counts, 0)
    np.divide(histogram.max(counts), present, out=share, where=present > 0)
    return np.column_stack((share, groups.sizes))


MODEL = base.Model(
    id="alpha-k-anonymity",
    parameters=Parameters,
    measure=measure,
    limits=(
        base.Limit("alpha", "at most", rows=base.one_in),
        base.Limit("k", count=True, size=True, rows=base.as_many),
    ),
    given=("values",),
    alike=True,
)
