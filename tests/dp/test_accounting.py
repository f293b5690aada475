from __future__ import annotations

import math

import pytest
from scipy.optimize import minimize_scalar

from anonymize.dp import accounting
from anonymize.errors import UsageError


def by_formula(rho: float, delta: float) -> float:
    """The epsilon of the best order alpha (Canonne, Kamath, Steinke 2020, proposition 12)."""

    def epsilon(alpha: float) -> float:
        return alpha * rho + (math.log(1 / (alpha * delta)) + (alpha - 1) * math.log1p(-1 / alpha)) / (alpha - 1)

    best = minimize_scalar(epsilon, bounds=(1.0001, 1000), method="bounded", options={"xatol": 1e-10})
    return float(best.fun)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (1, 1e-9), (3, 1e-9), (10, 1e-5)])
def test_a_budget_converted_there_and_back_is_itself_and_within_the_formula(epsilon: float, delta: float) -> None:
    rho = accounting.rho_of(epsilon, delta)
    assert epsilon * (1 - 1e-6) < accounting.epsilon_of(rho, delta) <= epsilon
    assert accounting.epsilon_of(rho, delta) == pytest.approx(by_formula(rho, delta), rel=1e-6)


def test_without_the_library_of_the_extra_what_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    accounting.require()
    monkeypatch.setitem(__import__("sys").modules, accounting.LIBRARY, None)
    with pytest.raises(UsageError, match=r"needs opendp, .*pip install 'anonymize-toolkit\[dp\]'"):
        accounting.require()
