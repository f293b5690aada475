"""The twin of noise finds what is not as the step makes it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.common.treatments import Made, make_step

ROWS = 2000
random = np.random.default_rng(1)
WAGE = random.normal(100, 20, ROWS).round(3)
PEOPLE: dict[str, Any] = {
    "wage": [None, 0.0, *WAGE[2:].tolist()],
    "tax": (WAGE / 2 + random.normal(0, 3, ROWS)).tolist(),
    "region": random.choice(["n", "s"], ROWS).tolist(),
}


def noised(**entry: Any) -> Made:
    made = make_step(PEOPLE, **{"method": "noise", "columns": ["wage"], "scale": 0.2, **entry})
    assert not made.measured().wrong
    return made


def sentences(made: Made, **other: Any) -> str:
    return "; ".join(made.measured(**other).wrong)


@pytest.mark.parametrize("kind", ["additive", "correlated", "multiplicative", "romm"])
@pytest.mark.parametrize("by", [[], ["region"]])
def test_a_column_that_has_not_changed_is_found(kind: str, by: list[str]) -> None:
    made = noised(kind=kind, by=by)
    if kind != "romm" or not by:
        assert sentences(made, wage=PEOPLE["wage"])


@pytest.mark.parametrize("factor", [0.7, 1.4])
@pytest.mark.parametrize("kind", ["additive", "correlated", "multiplicative"])
def test_noise_of_another_strength_is_found(kind: str, factor: float) -> None:
    made = noised(kind=kind)
    other = make_step(PEOPLE, method="noise", columns=["wage"], kind=kind, scale=0.2 * factor)
    assert "strength" in sentences(made, wage=other.after["wage"])


def test_means_or_covariances_that_are_others_are_found() -> None:
    made = noised(kind="romm", columns=["wage", "tax"])
    shifted = made.after["wage"] + 0.01
    assert "means or covariances" in sentences(made, wage=shifted)
    again = made.after["tax"].shuffle(seed=1)
    assert "wage, tax: means or covariances" in sentences(made, tax=again)


def test_noise_that_is_not_correlated_as_the_columns_is_found() -> None:
    made = noised(kind="correlated", columns=["wage", "tax"])
    independent = noised(columns=["wage", "tax"])
    assert "not correlated" in sentences(made, **independent.after)


def test_missing_values_that_have_moved_are_found() -> None:
    made = noised()
    values = made.after["wage"].to_list()
    assert "missing" in sentences(made, wage=[values[1], None, *values[2:]])


def test_zeros_limits_rounding_and_signs_are_compared() -> None:
    cases: dict[str, dict[str, Any]] = {
        "1 zeros have changed": {"keep_zero": True},
        "1 numbers are below `least`": {"least": 0},
        "1 numbers are not rounded": {"round": 0.5},
        "1 numbers have another sign": {"kind": "multiplicative"},
    }
    for (text, more), place in zip(cases.items(), (1, 2, 2, 2), strict=True):
        made = noised(**more)
        values = made.after["wage"].to_list()
        values[place] = -abs(values[place]) - 1.26
        assert text in sentences(made, wage=values)


def test_numbers_that_are_no_outliers_may_not_change() -> None:
    made = noised(only="outliers")
    values = made.after["wage"].to_list()
    near = min(range(2, ROWS), key=lambda row: abs(PEOPLE["wage"][row] - 100))
    values[near] += 1
    assert "1 numbers that are no outliers" in sentences(made, wage=values)


def test_a_sound_release_passes_with_any_seed() -> None:
    kinds = ("additive", "correlated", "romm", "multiplicative")
    for kind, seed in itertools.product(kinds, range(3)):
        noised(kind=kind, seed=seed, columns=["wage", "tax"], by=["region"])
