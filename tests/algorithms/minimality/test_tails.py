"""Averages of hypergeometric tails, against sums of exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from anonymize.algorithms.minimality import mean_from, unrevealing


def exactly(start: int, whole: int, marked: int, drawn: int) -> Fraction:
    counts = range(start, min(marked, drawn) + 1)
    ways = {x: comb(marked, x) * comb(whole - marked, drawn - x) for x in counts}
    return Fraction(sum(x * way for x, way in ways.items()), sum(ways.values()))


def cases(whole: int) -> list[tuple[int, int, int, int]]:
    """Every start from the most likely count on that can be."""
    every = product(range(1, whole + 1), range(1, whole))
    return [
        (start, whole, marked, drawn)
        for marked, drawn in every
        for start in range((drawn + 1) * (marked + 1) // (whole + 2), min(marked, drawn) + 1)
    ]


def test_the_average_is_that_of_exact_sums() -> None:
    every = [case for whole in (2, 3, 7, 12) for case in cases(whole)] + [
        (60, 2000, 300, 350),
        (30, 900, 70, 350),
    ]
    means = mean_from(*np.array(every, np.int64).T)
    assert means == pytest.approx([float(exactly(*case)) for case in every], rel=1e-12)


def test_what_may_be_shown_is_all_up_to_a_count_that_bounds_what_a_refusal_tells() -> None:
    """Two surgeons of twelve people, two of whom are ill: even one of them healthy would tell too much."""
    for whole, diversity in product((4, 9, 12), (1.5, 2, 3)):
        for marked, drawn in product(range(1, whole), range(1, whole)):
            counts = np.arange(max(0, drawn + marked - whole), min(marked, drawn) + 1)
            one = np.ones_like(counts)
            fine = unrevealing(whole * one, marked * one, drawn * one, counts, drawn / diversity * one.astype(float))
            assert (np.diff(fine.astype(int)) <= 0).all()
            refused = counts[~fine]
            if fine.any():
                assert counts[fine].max() * diversity <= drawn + 1e-9
            if fine.any() and len(refused):
                assert exactly(int(refused[0]), whole, marked, drawn) * Fraction(diversity) <= drawn
    twelve, two = np.full(3, 12), np.full(3, 2)
    assert not unrevealing(twelve, two, two, np.arange(3), np.ones(3)).any()
