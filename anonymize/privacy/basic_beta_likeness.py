"""Basic beta-likeness: no sensitive value is much more frequent in a class than in the whole table.

Guarantees: an attacker who finds a person's class, and knows nothing else, raises the probability of any one sensitive
value, compared with the released table as a whole, by at most beta times its previous value. Unlike t-closeness it
protects rare values as well as frequent ones, as the gain is relative.

Does not bound: losses: an attacker may learn that a person does not have a value (see delta-disclosure). A beta of 1 /
q - 1 or more does not bind a value with the share q: everybody in a class may then have it (see the enhanced model).
The distribution in the table as a whole counts as known. Knowledge about others in the class, columns that pass
through, and several releases of the same people may raise a probability further, and so may asking what else the method
could have released (minimality).

Formula: (P(s) - Q(s)) / Q(s) <= beta for every value s of every class, P the distribution of the values in the class,
Q that of all released rows.

Parameters: `beta` (a number above 0), `values` (the sensitive values that are protected; all if left out: the formula
is asked of these s alone).

Example: with beta: 0.5, in the table (flu, flu, flu, flu, cold, cold, cold, cold), the class (flu, flu, flu, cold)
passes and the class (flu, flu, flu, flu) fails.

Example: with beta: 0.5, values: [HIV], in the table (HIV, HIV, flu, flu, flu, flu, cold, cold), the class (HIV, flu,
flu) passes and the class (HIV, HIV, flu) fails.

Monotone: yes. P(s) <= (1 + beta) Q(s) in the parts, so in any mixture of them.

Missing values: do not count, neither in the class nor in the whole; in a class with no present value no beta is met.

Reference: J. Cao, P. Karras, "Publishing microdata with a robust privacy guarantee", PVLDB 5(11), 2012, definition 2.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from anonymize.privacy import base, histogram
from anonymize.privacy.groups import Groups, Histogram


class Parameters(base.Parameters):
    beta: float = Field(gt=0, description="relative gain that any value has at most in a class")
    values: histogram.Values = None


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    histogram = groups.of(attribute)
    return np.where(histogram.distinct() > 0, histogram.max(gains(histogram, parameters.values)), np.inf)


def gains(histogram: Histogram, values: tuple[str, ...] | None) -> base.Measured:
    """(R,) how much more frequent each entry is in its class than in the whole, as a share of the latter; 0 of what is
    none of the values."""
    return np.where(histogram.protected(values), np.maximum(histogram.ratios() - 1, 0), 0)


MODEL = base.comparing("basic-beta-likeness", Parameters, measure, base.Limit("beta", "at most"))
