"""Frequency l-diversity: the most frequent sensitive value of every class has at most the share 1/l.

Guarantees: an attacker who finds a person's class, knows nothing else, and bets on its most frequent sensitive value is
right with probability at most 1/l. This is the l-diversity of Anatomy and of Xiao and Tao's work. ((alpha,k)-anonymity
bounds the same share of one value.)

Does not bound: an attacker who knows the method, and asks what else it could have released: a class that was
generalized only because too many of its people share a value discloses this value, in some tables with certainty
(minimality), unless the release is made with `--mask-minimality`, which not all algorithms have. An attacker who knows
the values of others in the class is left with fewer rows to bet on, and so is one who has columns that pass through or
another release of the same people. A value that one person in a thousand has may have the share 1/l in a class (see
beta-likeness), and values that are similar count as different ones.

Formula: n / max over s of n(s) >= l in every class, n(s) the rows of the class with the sensitive value s, n their
sum.

Parameters: `l` (a number, at least 1, not necessarily whole), `values` (the sensitive values that are protected; all if
left out: the maximum is over these s, n still counts the rows of all values, and a class that has none of these s meets
every l).

Example: with l: 2, the class (flu, flu, cold, angina) passes and the class (flu, flu, flu, cold) fails.

Example: with l: 3, values: [HIV], the class (HIV, flu, flu) passes and the class (HIV, HIV, flu, cold, angina) fails.

Monotone: yes. max(a + b) <= max(a) + max(b) <= n(a)/l + n(b)/l.

Missing values: do not count, not in n either, so that missing values cannot dilute the most frequent one; a class
with no present value measures 0.

Reference: X. Xiao, Y. Tao, "Anatomy: simple and effective privacy preservation", VLDB 2006.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from anonymize.privacy import base, histogram
from anonymize.privacy.groups import Groups


class Parameters(base.Parameters):
    l: float = Field(ge=1, description="1/l is the largest share that one value has in any class")  # noqa: E741
    values: histogram.Values = None


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    histogram = groups.of(attribute)
    most = histogram.max(np.where(histogram.protected(parameters.values), histogram.counts, 0))
    present = histogram.present()
    figures = np.where(present > 0, np.inf, 0.0)
    return np.asarray(np.divide(present, most, out=figures, where=most > 0))


MODEL = base.DiversityModel(
    id="frequency-l-diversity",
    parameters=Parameters,
    measure=measure,
    given=("values",),
)
