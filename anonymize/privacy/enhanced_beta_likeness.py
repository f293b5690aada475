"""Enhanced beta-likeness: as basic beta-likeness, with a tighter bound for frequent values.

Guarantees: an attacker who finds a person's class, and knows nothing else, raises the probability of any one sensitive
value, compared with the released table as a whole, by at most beta times its previous value, and by less for a frequent
one: a value of the share q never becomes more probable than q (1 - ln q), which is below 1.

Does not bound: losses: an attacker may learn that a person does not have a value (see delta-disclosure). A value that
is frequent in the table may be so in every class, as the distribution in the whole table counts as known. The limit q
(1 - ln q) holds for an attacker who knows only the class: an attacker who knows the values of others in it, has columns
that pass through or another release of the same people, or asks what else the method could have released (minimality)
may become certain.

Formula: (P(s) - Q(s)) / Q(s) <= min(beta, -ln Q(s)) for every value s of every class, P the distribution of the values
in the class, Q that of all released rows. Measured: the least beta that a class meets; infinite where some value gains
more than -ln Q(s), which no beta allows.

Parameters: `beta` (a number above 0), `values` (the sensitive values that are protected; all if left out: the formula
is asked of these s alone).

Example: with beta: 1, in the table (flu, flu, flu, flu, cold, cold, cold, cold), the class (flu, flu, flu, cold) passes
and the class (flu, flu, flu, flu) fails: it doubles the share of flu, and -ln 1/2 is 0.69.

Example: with beta: 1, values: [HIV], in the table (HIV, HIV, flu, flu, flu, flu, cold, cold), the class (HIV, flu, flu,
flu) passes and the class (HIV, HIV, flu) fails.

Monotone: yes. P(s) <= (1 + min(beta, -ln Q(s))) Q(s) in the parts, so in any mixture of them.

Missing values: do not count, neither in the class nor in the whole; in a class with no present value no beta is met.

Reference: J. Cao, P. Karras, "Publishing microdata with a robust privacy guarantee", PVLDB 5(11), 2012, definition 3.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anonymize.privacy import base, basic_beta_likeness
from anonymize.privacy.groups import Groups


class Parameters(basic_beta_likeness.Parameters):
    pass


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> base.Measured:
    histogram = groups.of(attribute)
    gain = basic_beta_likeness.gains(histogram, parameters.values)
    allowed = base.at_most(gain, -np.log(histogram.whole.shares[histogram.codes]))
    return np.where(histogram.distinct() > 0, histogram.max(np.where(allowed, gain, np.inf)), np.inf)


MODEL = replace(basic_beta_likeness.MODEL, id="enhanced-beta-likeness", parameters=Parameters, measure=measure)
