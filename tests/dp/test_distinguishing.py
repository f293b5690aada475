"""An attack on what is put out: whoever sees it guesses whether one more row was in the table.

Of two neighbouring tables, one is drawn many times; how much more often a guess of the one is right than wrong bounds
epsilon from below (Jagielski, Ullman and Oprea, "Auditing differentially private machine learning", 2020). Nothing of
the mechanism's accounting is used. The bound is 99.99 % sure: a sound mechanism fails this once in ten thousand runs at
most, and far more rarely as its bound is far below the claim.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import beta

from anonymize.domain import Ints
from anonymize.dp.mechanisms import Spending, rho_of
from anonymize.dp.selection import CountedTable, Drawing, by_independent

EPSILON, DELTA = 2.0, 1e-6
UNSURE = 1e-4
ROWS, PLACES = 30, 1000
"""Rows of each value in the smaller table, and how many values there are."""


class TooLittleNoise(Spending):
    """A mechanism with a tenth of the noise that it accounts for."""

    def gaussian(self, counts: Ints, sigma: float, sensitivity: float, of: tuple[str, ...]) -> Ints:
        super().gaussian(counts, sigma, sensitivity, of)
        return Spending(1e9).gaussian(counts, sigma / 10, sensitivity, of)


def guesses(rows: int, spending: Spending) -> int:
    """For how many of `PLACES` values the attacker, who knows all rows but one of each, guesses that this one is there:
    by what all measurements say of the cells that it would be in. Noise is drawn for each cell anew, so that each is a
    run of its own."""
    codes = np.repeat(np.arange(PLACES), rows)
    drawing = Drawing(CountedTable({"sex": codes, "ward": codes}, {"sex": PLACES, "ward": PLACES}), spending)
    by_independent(drawing)
    more = np.sum([each.values - ROWS for each in drawing.measurements], axis=0)
    return int((more > 0.75 * len(drawing.measurements)).sum())


def least_epsilon(kind: type[Spending]) -> float:
    """What epsilon is at least, by as many runs on each of two neighbours."""
    rho, runs = rho_of(EPSILON, DELTA), PLACES
    right, wrong = guesses(ROWS + 1, kind(rho)), guesses(ROWS, kind(rho))
    low = float(beta.ppf(UNSURE / 2, right, runs - right + 1)) if right else 0.0
    high = float(beta.ppf(1 - UNSURE / 2, wrong + 1, runs - wrong)) if wrong < runs else 1.0
    return math.log((low - DELTA) / high) if low > DELTA else 0.0


def test_no_attack_learns_more_than_the_claim_allows() -> None:
    assert least_epsilon(Spending) <= EPSILON


def test_the_attack_finds_a_mechanism_with_a_tenth_of_the_noise() -> None:
    assert least_epsilon(TooLittleNoise) > EPSILON
