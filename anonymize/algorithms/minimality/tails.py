"""How many of a value's rows are in a part of a class, if it is known that they are many.

A class has `whole` rows, of which `marked` have a value; a part of it has `drawn` rows. If every arrangement of the
values in the class is equally likely, the part has X rows of the value, X hypergeometric. E[X | X >= t] is a sum of
terms of which each follows from the one before by a quotient of small numbers.
"""

from __future__ import annotations

import numpy as np

from anonymize.classes import Bools, Floats, Ints
from anonymize.privacy.base import TOLERANCE

NEGLIGIBLE = 1e-14
"""The share of the sum so far that is left out at its end."""


def unrevealing(whole: Ints, marked: Ints, drawn: Ints, present: Ints, most: Floats) -> Bools:
    """(n,) whether a part with `present` rows of a value may be shown, so that not showing one tells little.

    It may where the counts above, of which it could be any when it is not shown, are `most` on average, or where it
    has all there can be and these are no more than `most`. If a count may be shown, all smaller ones may. The average
    is taken from the most likely count on, where it is below that: it can only be larger.
    """
    highest = np.minimum(marked, drawn)
    mode = (drawn + 1) * (marked + 1) // (whole + 2)
    mean = highest.astype(np.float64)
    more = present < highest
    start = np.maximum(present + 1, mode)
    mean[more] = mean_from(start[more], whole[more], marked[more], drawn[more])
    return np.asarray(mean <= most * (1 + TOLERANCE))


def mean_from(start: Ints, whole: Ints, marked: Ints, drawn: Ints) -> Floats:
    """(n,) E[X | X >= start], where P(X >= start) > 0 and start is at least the most likely count.

    From there on every term is smaller than the one before, by a factor that falls, so the rest of the sums is below
    that of a geometric series, and the sums end where that is negligible.
    """
    mean = start.astype(np.float64)
    left = np.arange(len(start))
    term, total, above, count = np.ones(len(start)), np.ones(len(start)), np.zeros(len(start)), start.copy()
    steps = 0
    while len(left):
        m, n = marked[left], drawn[left]
        ratio = (m - count) * (n - count) / ((count + 1.0) * (whole[left] - m - n + count + 1))
        term, count, steps = term * ratio, count + 1, steps + 1
        total, above = total + term, above + steps * term
        falling = np.maximum(1 - ratio, NEGLIGIBLE)
        ended = term * (steps / falling + 1 / falling**2) <= NEGLIGIBLE * total
        mean[left[ended]] += above[ended] / total[ended]
        on = ~ended
        left, term, total, above, count = left[on], term[on], total[on], above[on], count[on]
    return mean
