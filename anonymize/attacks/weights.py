"""What the attackers who single people out share: how often a condition would isolate somebody by chance.

A condition that a share w of people meets isolates exactly one of n with the chance n w (1 - w)^(n - 1), whoever they
are, without any release. At w = 1/n that is 0.37.

Source: Cohen and Nissim, Towards formalizing the GDPR's notion of singling out, PNAS 2020.
"""

from __future__ import annotations

import numpy as np

from anonymize.classes import Floats, Ints


def by_chance(weights: Floats, people: int) -> Floats:
    """The chance that a condition of each weight, from 0 to 1, isolates one of so many people; the same shape."""
    within = np.clip(weights, 0.0, 1.0 - 1e-12)
    return np.asarray(people * within * np.exp((people - 1) * np.log1p(-within)))


def spanned(codes: Ints, size: int, first: Ints, last: Ints) -> Ints:
    """How many people have a code in each span, both ends included. `codes` (people,), -1 where missing."""
    below = np.concatenate([[0], np.cumsum(np.bincount(codes[codes >= 0], minlength=size))])
    return np.asarray(below[last + 1] - below[first])
