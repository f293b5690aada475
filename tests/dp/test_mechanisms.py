from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from anonymize.dp import mechanisms
from anonymize.dp.mechanisms import GAUSSIAN, NOISY_MAX, BudgetExceeded, Draw, Spending, sigma_of
from anonymize.errors import UsageError


def test_counts_get_noise_of_the_scale_that_was_paid_for() -> None:
    spending = Spending(1 / 18)
    noise = spending.gaussian(np.zeros(4000, np.int64), sigma_of(1 / 18, 1), 1, ("age",))
    assert noise.dtype == np.int64
    assert abs(noise.std() - 3) < 0.25 and abs(noise.mean()) < 0.4  # more than seven standard errors each
    assert spending.spent == pytest.approx(1 / 18, rel=1e-11) and spending.spent <= 1 / 18


def test_a_larger_sensitivity_costs_its_square() -> None:
    spending = Spending(10)
    spending.gaussian(np.zeros(1, np.int64), 2, 1, ())
    spending.gaussian(np.zeros(1, np.int64), 2, 3, ())
    one, three = (entry.rho for entry in spending.entries)
    assert three == pytest.approx(9 * one)
    assert sigma_of(one, 1) == pytest.approx(2) and sigma_of(three, 3) == pytest.approx(2)


def test_the_largest_score_by_far_is_chosen_and_paid_for() -> None:
    spending = Spending(0.02)
    assert spending.noisy_max(np.array([0.0, 5000.0, 0.0]), 1, 0.02) == 1
    [draw] = spending.entries
    assert draw == Draw(NOISY_MAX, (), draw.scale, 1, draw.rho)
    assert draw.scale == pytest.approx(5) and draw.rho == pytest.approx(0.02, rel=1e-11)
    assert spending.spent <= 0.02


def test_equal_scores_are_all_chosen_at_times() -> None:
    spending = Spending(1)
    assert {spending.noisy_max(np.zeros(2), 1, 0.01) for _ in range(60)} == {0, 1}


@pytest.mark.parametrize("rho", [0.1, 0.3])
def test_what_passes_the_budget_is_an_error_and_draws_nothing(rho: float) -> None:
    spending = Spending(3 * rho)
    for _ in range(3):
        spending.gaussian(np.zeros(1, np.int64), sigma_of(rho, 1), 1, ())
    assert spending.left < 1e-10
    for draw in (
        lambda: spending.gaussian(np.zeros(1, np.int64), sigma_of(rho / 100, 1), 1, ()),
        lambda: spending.noisy_max(np.zeros(2), 1, rho / 100),
    ):
        with pytest.raises(BudgetExceeded, match="left of"):
            draw()
    assert [entry.mechanism for entry in spending.entries] == [GAUSSIAN] * 3


def test_what_is_left_can_be_spent_to_the_last_bit() -> None:
    spending = Spending(0.7)
    for _ in range(7):
        spending.gaussian(np.zeros(1, np.int64), sigma_of(spending.left / 3, 1), 1, ())
    spending.gaussian(np.zeros(1, np.int64), sigma_of(spending.left, 1), 1, ())
    assert spending.spent == pytest.approx(0.7, rel=1e-11) and spending.spent <= 0.7


def by_formula(rho: float, delta: float) -> float:
    """The epsilon of the best order alpha (Canonne, Kamath, Steinke 2020, proposition 12)."""

    def epsilon(alpha: float) -> float:
        return alpha * rho + (math.log(1 / (alpha * delta)) + (alpha - 1) * math.log1p(-1 / alpha)) / (alpha - 1)

    best = minimize_scalar(epsilon, bounds=(1.0001, 1000), method="bounded", options={"xatol": 1e-10})
    return float(best.fun)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (1, 1e-9), (3, 1e-9), (10, 1e-5)])
def test_a_budget_converted_there_and_back_is_itself_and_within_the_formula(epsilon: float, delta: float) -> None:
    rho = mechanisms.rho_of(epsilon, delta)
    assert epsilon * (1 - 1e-6) < mechanisms.epsilon_of(rho, delta) <= epsilon
    assert mechanisms.epsilon_of(rho, delta) == pytest.approx(by_formula(rho, delta), rel=1e-6)


def test_without_the_library_of_the_extra_what_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanisms.require()
    monkeypatch.setitem(__import__("sys").modules, mechanisms.LIBRARY, None)
    with pytest.raises(UsageError, match=r"needs opendp, .*pip install 'anonymize-toolkit\[dp\]'"):
        mechanisms.require()
