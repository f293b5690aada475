"""Entropy l-diversity: the sensitive values of every class are as uncertain as l equally frequent ones.

Guarantees: the perplexity of the sensitive values in every class is at least l. Stronger than distinct l-diversity with
the same l (perplexity <= number of values). Demanding when one value is frequent in the whole table: the table itself
has to meet it.

Does not bound: the share of one value by 1/l: a class of eight rows, four with the same value and four with others that
are all different, has perplexity 4, and a guess is right for half of them (see frequency l-diversity). Similar values
count as different ones, and values that are rare in the table may be frequent in a class. The perplexity is that of an
attacker who knows the class alone; knowledge about others in it, columns that pass through, several releases of the
same people, and the question what the method would have released otherwise (minimality) may all leave less.

Formula: exp(H) >= l in every class, H = -sum over s of p(s) ln p(s) = ln n - (sum over s of n(s) ln n(s)) / n, n(s)
the rows of the class with the sensitive value s, n their sum, p(s) = n(s) / n.

Parameters: `l`, equally frequent values (a number, at least 1, not necessarily whole).

Example: with l: 1.8, the class (flu, flu, cold) passes and the class (flu, flu, flu, cold) fails.

Monotone: yes. Entropy is concave: a mixture's is at least the mean of the parts', hence at least the smaller one.

Missing values: do not count, not in n either; a class with no present value measures 0.

Reference: A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity",
ICDE 2006 and TKDD 1(1), 2007.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from anonymize.privacy import base
from anonymize.privacy.groups import Groups


class Parameters(base.Parameters):
    l: float = Field(ge=1, description="equally frequent values that every class is as uncertain as")  # noqa: E741


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    histogram = groups.of(attribute)
    counts = histogram.counts.astype(np.float64)
    logs = histogram.sum(counts * np.log(counts))
    present = histogram.present().astype(np.float64)
    size = np.maximum(present, 1)
    return np.where(present > 0, np.exp(np.log(size) - logs / size), 0.0)


MODEL = base.ClassModel(
    id="entropy-l-diversity",
    parameters=Parameters,
    measure=measure,
    limits=(base.Limit("l", rows=base.as_many),),
    diverse=True,
    by_default=True,
)
