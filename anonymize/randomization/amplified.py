"""How much a row of a randomized attribute tells of its value: the ratio p / q, and what bounds it.

Compare the probabilities of showing one value, given any two values that it may have been. Their ratio is largest
between a value that is kept and one that is replaced: gamma = p / q. Its logarithm is the epsilon of local differential
privacy.
"""

from __future__ import annotations

import math

from anonymize.randomization import kronecker


def epsilon(p: float, d: int) -> float | None:
    """ln(p / q); None where it is infinite, as the value shows itself."""
    if d == 1:
        return 0.0
    q = kronecker.other(p, d)
    return math.log(p / q) if q > 0 else None


def largest_p(gamma: float, d: int) -> float:
    """The p of an attribute of d values with which p / q is gamma; 1 of a single value, which hides nothing."""
    return 1 / (1 + (d - 1) / gamma)
