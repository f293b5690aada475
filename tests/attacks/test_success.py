"""Rates and their intervals, against figures computed by hand and by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from anonymize.attacks.success import Success, over_baseline, over_control, wilson


def test_wilson_is_the_published_example() -> None:
    # Newcombe, Statistics in Medicine 1998, table I: 81 of 263, and 0 of 20.
    some, none = wilson(81, 263), wilson(0, 20)
    assert (some.low, some.high) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert (none.low, none.high) == pytest.approx((0.0, 0.1611), abs=1e-4)


def test_an_attack_that_knows_no_more_than_the_baseline_has_no_excess() -> None:
    same = (np.arange(2000) % 3 == 0).astype(float)
    excess = over_baseline(same, same)
    assert excess.value == 0 and -0.002 < excess.low < 0 < excess.high < 0.002


def test_the_excess_is_a_share_of_what_was_left_to_learn() -> None:
    hits, baseline = np.repeat([1.0, 0.0], [75, 25]), np.repeat([1.0, 0.0], [50, 50])
    assert over_baseline(hits, baseline).value == pytest.approx(0.5)
    assert over_control(hits, baseline).value == pytest.approx(0.5)
    assert over_baseline(np.ones(9), np.ones(9)).high == 0


def test_the_interval_over_a_control_is_that_of_error_propagation() -> None:
    hits, control = np.repeat([1.0, 0.0], [60, 40]), np.repeat([1.0, 0.0], [20, 80])
    own, theirs = wilson(60, 100), wilson(20, 100)
    error = np.hypot((own.high - own.low) / 2 / 0.8, 0.4 * (theirs.high - theirs.low) / 2 / 0.64)
    excess = over_control(hits, control)
    assert (excess.value, excess.low) == pytest.approx((0.5, 0.5 - error))


@pytest.mark.parametrize("paired", [True, False])
def test_intervals_cover_the_truth_as_often_as_they_say(paired: bool) -> None:
    draw = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        baseline = (draw.random(200) < 0.4).astype(float)
        hits = np.where(draw.random(200) < 0.25, 1.0, baseline) if paired else (draw.random(200) < 0.55).astype(float)
        excess = (over_baseline if paired else over_control)(hits, baseline)
        covered += excess.low <= 0.25 <= excess.high
    assert covered >= 0.93 * 400


def test_nobody_attacked_is_no_figure() -> None:
    block = Success(np.zeros(0), np.zeros(0)).block()
    assert block["excess"] is None and block["rate"] is None and block["targets"] == 0
