"""delta-disclosure privacy: no sensitive value is much more, or much less, frequent in a class than in the whole table.

Guarantees: an attacker who finds a person's class, and knows nothing else, changes the probability of any one sensitive
value, compared with the released table as a whole, by a factor of less than e^delta, up or down. It is the strictest
model of its kind: every class has every value of the table, so that nothing can be excluded either. Rare values lead to
large classes.

Does not bound: what the table as a whole already discloses: a value that most people have is about as probable in every
class. With `values`, those that are not protected may be excluded, or certain. An attacker who knows the values of
others in the class may still exclude a value, as each may occur there only once. The factor does not cover columns that
pass through, several releases of the same people, or asking what else the method could have released (minimality).

Formula: |ln(P(s) / Q(s))| < delta for every value s that the table has, in every class, P the distribution of the
values in the class, Q that of all released rows, ln the natural logarithm. Equality is not enough. A value that is
absent from a class is infinitely far.

Parameters: `delta` (a number above 0), `values` (the sensitive values that are protected; all if left out: the formula
is asked of these s alone, so that every class has each of them that the table has).

Example: with delta: 0.6, in the table (flu, flu, flu, flu, cold, cold, cold, cold), the class (flu, flu, flu, cold,
cold) passes and the class (flu, flu, flu, cold) fails.

Example: with delta: 0.5, values: [HIV], in the table (HIV, HIV, flu, flu, cold, cold), the class (HIV, flu, flu) passes
and the class (flu, cold) fails.

Monotone: yes. e^-delta Q(s) < P(s) < e^delta Q(s) in the parts, so in any mixture of them.

Missing values: do not count, neither in the class nor in the whole; a class with no present value is infinitely far.

Reference: J. Brickell, V. Shmatikov, "The cost of privacy: destruction of data-mining utility in anonymized data
publishing", KDD 2008, definition 2.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from anonymize.privacy import base, histogram
from anonymize.privacy.groups import Groups, Whole


class Parameters(base.Parameters):
    delta: float = Field(gt=0, description="bound of |ln| of a value's share in a class over that in the whole table")
    values: histogram.Values = None


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    histogram = groups.of(attribute)
    is_protected = histogram.protected(parameters.values)
    kinds = _kinds(histogram.whole, parameters.values)
    complete = (histogram.sum(is_protected.astype(np.int64)) == kinds) & (histogram.distinct() > 0)
    return np.where(complete, histogram.max(np.where(is_protected, np.abs(np.log(histogram.ratios())), 0)), np.inf)


def _kinds(whole: Whole, values: tuple[str, ...] | None) -> int:
    """How many different values the table has of those that are protected."""
    if values is None:
        return whole.distinct
    return int(np.count_nonzero(whole.counts[whole.protected(values)]))


MODEL = base.comparing("delta-disclosure", Parameters, measure, base.Limit("delta", "below"))
