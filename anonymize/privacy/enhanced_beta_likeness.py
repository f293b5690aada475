"""Enhanced beta-likeness: as basic beta-likeness, with a bound that frequent values feel too.

Guarantees: whoever finds a person's class raises the probability of any one sensitive value, compared with the released
table as a whole, by at most beta times what it was, and by less for a frequent one: a value of the share q never
becomes more probable than q (1 - ln q), which is below 1. It does not bound losses (see delta-disclosure).

Formula: (P(s) - Q(s)) / Q(s) <= min(beta, -ln Q(s)) for every value s of every class, P the distribution of the values
in the class, Q that of all released rows. Measured: the least beta that a class meets; infinite where some value gains
more than -ln Q(s), which no beta allows.

Parameters: `beta` (a number above 0).

Monotone: yes. P(s) <= (1 + min(beta, -ln Q(s))) Q(s) in the parts, so in any mixture of them.

Missing values: do not count, neither in the class nor in the whole; in a class with no present value no beta is met.

Reference: J. Cao, P. Karras, "Publishing microdata with a robust privacy guarantee", PVLDB 5(11), 2012, definition 3.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from anonymize.privacy import base
from anonymize.privacy.groups import Groups

ID = "enhanced-beta-likeness"
MONOTONE = True
GROWING = False
BY_SIZE = False
SCOPE: Literal["class", "table"] = "class"
SENSITIVE: Literal["none", "any", "numeric"] = "any"


class Parameters(base.Parameters):
    beta: float = Field(gt=0, description="relative gain that any value has at most in a class")


def minimum_rows(parameters: Parameters) -> int:
    return 1


def measure(groups: Groups, attribute: str | None, parameters: Parameters) -> NDArray[np.float64]:
    histogram = groups.of(attribute)
    gain = np.maximum(histogram.ratios() - 1, 0)
    surprise = -np.log(histogram.whole.shares[histogram.codes])
    allowed = gain <= surprise * (1 + base.TOLERANCE) + base.NEGLIGIBLE
    return np.where(histogram.distinct() > 0, histogram.max(np.where(allowed, gain, np.inf)), np.inf)


def satisfied(measured: NDArray[np.float64], parameters: Parameters) -> NDArray[np.bool_]:
    return base.at_most(measured, parameters.beta)


def achieved(measured: NDArray[np.float64], parameters: Parameters) -> base.Achieved:
    return {"beta": base.highest(measured)}
