"""How many people more than k a new class is made for, by how many leave.

When n people come into a class, each of them is still there after `NIGHTS` releases with the same probability, which
the series shows; those who stay are withheld once they are fewer than k. Classes that are cut at k + r have from k + r
to 2 (k + r) - 1 people, taken here as equally likely. The reserve is the smallest r with which the expected share of
people withheld is at most `SHARE`. One more is taken to have left than have, so that a quiet start promises nothing.
"""

from __future__ import annotations

import numpy as np

from anonymize.series.state import SeriesState

NIGHTS = 12
"""Releases that a class should last for."""
SHARE = 0.005
FIRST = 2
"""Where nothing is known yet."""
MOST = 50


def reserve_of(given: int | None, state: SeriesState | None, k: int, *, deferred: bool = False) -> int:
    """The reserve that the spec gives, or else the one that departures so far ask for; none where they are deferred, as
    no history loses fewer than k people then."""
    if given is not None:
        return given
    if deferred:
        return 0
    released = sum(release.people["before"] for release in state.releases) if state is not None else 0
    left = sum(release.people["departed"] for release in state.releases) if state is not None else 0
    if not released:
        return FIRST
    return next((r for r in range(MOST) if withheld(k, r, (left + 1) / (released + 1)) <= SHARE), MOST)


def withheld(k: int, reserve: int, turnover: float) -> float:
    """The expected share of people in classes made for k + reserve who are still there, and fewer than k.

    >>> round(withheld(10, 0, 0.005), 3), round(withheld(10, 2, 0.005), 4)
    (0.037, 0.0015)
    """
    from scipy.special import bdtr

    if k == 1:
        return 0.0
    sizes = np.arange(k + reserve, 2 * (k + reserve))
    stays = (1 - turnover) ** NIGHTS
    # Whoever stays is withheld where at most k - 2 of the others stay.
    few = sizes * stays * bdtr(float(k - 2), sizes - 1, stays)
    return float(few.sum() / sizes.sum())
