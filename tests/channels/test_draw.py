"""Distorted values occur as often as their probabilities say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from anonymize import channels
from anonymize.channels import replaced, representable, seeded_bits, system_bits, threshold


@pytest.mark.parametrize(("p", "d"), [(0.9, 2), (0.5, 5), (0.3, 7), (0.6, 40)])
def test_frequencies_are_within_sampling_error_of_p(p: float, d: int) -> None:
    rows = 400_000
    codes = (np.arange(rows) % d).astype(np.min_scalar_type(d - 1))
    shown = replaced(codes, p, d, seeded_bits(11))
    moves = np.bincount(codes.astype(np.int64) * d + shown, minlength=d * d).reshape(d, d)
    q = channels.other(p, d)
    expected = np.bincount(codes, minlength=d)[:, None] * ((p - q) * np.eye(d) + q)
    statistic = float(((moves - expected) ** 2 / expected).sum())
    assert chi2.sf(statistic, d * (d - 1)) > 0.01
    assert shown.dtype == codes.dtype


def test_what_is_kept_for_certain_is_not_drawn() -> None:
    codes = np.array([0, 1, 1], np.uint8)
    assert replaced(codes, 1.0, 2, lambda count: pytest.fail("drawn")) is codes


def test_the_same_seed_gives_the_same_and_the_system_does_not() -> None:
    codes = np.zeros(1000, np.uint8)
    first = replaced(codes, 0.5, 4, seeded_bits(5))
    assert (replaced(codes, 0.5, 4, seeded_bits(5)) == first).all()
    assert (replaced(codes, 0.5, 4, seeded_bits(6)) != first).any()
    assert (replaced(codes, 0.5, 4, system_bits) != replaced(codes, 0.5, 4, system_bits)).any()


@pytest.mark.parametrize(("p", "d"), [(0.7, 3), (0.9123456789, 16), (1.0, 4), (0.3, 1)])
def test_a_parameter_is_rounded_down_to_what_can_be_drawn(p: float, d: int) -> None:
    found = representable(p, d)
    assert found == 1 if d == 1 else p - 1e-9 < found <= p + 1e-15
    assert threshold(found, d) == round((found - channels.other(found, d)) * 2**32)
    assert representable(found, d) == pytest.approx(found, abs=2.0**-52)
