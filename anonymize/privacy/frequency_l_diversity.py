"""Frequency l-diversity: the most frequent sensitive value of every class has at most the share 1/l.

Guarantees: whoever finds a person's class and bets on its most frequent sensitive value is right with probability at
most 1/l. The l-diversity of Anatomy and of Xiao and Tao's work; ((alpha,k)-anonymity bounds the same share of one
value.)

Formula: n / max over s of n(s) >= l in every class, n(s) the rows of the class with the sensitive value s, n their
sum.

Parameters: `l` (a number, at least 1, not necessarily whole).

Example: with l: 2, the class (flu, flu, cold, angina) passes and the class (flu, flu, flu, cold) fails.

Monotone: yes. max(a + b) <= max(a) + max(b) <= n(a)/l + n(b)/l.

Missing values: do not count, not in n either, so that missing values cannot dilute the most frequent one; a class
with no present value measures 0.

Reference: X. Xiao, Y. Tao, "Anatomy: simple and effective privacy preservation", VLDB 2006.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from anonymize.privacy import base
from anonymize.privacy.groups import Groups


class Parameters(base.Parameters):
    l: float = Field(ge=1, description="1/l is the largest share that one value has in any class")  # noqa: E741


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    histogram = groups.of(attribute)
    return histogram.present() / np.maximum(histogram.max(histogram.counts), 1)


MODEL = base.ClassModel(
    id="frequency-l-diversity",
    parameters=Parameters,
    measure=measure,
    limits=(base.Limit("l", rows=base.as_many),),
    diverse=True,
    by_default=True,
)
