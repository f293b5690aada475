"""Noise: what stays, what is exact, what is refused."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.errors import DataError
from tests.common.treatments import Made, make_step

ROWS = 4000
random = np.random.default_rng(7)
WAGE = random.lognormal(3, 0.5, ROWS).round(2)
TAX = (WAGE * 0.2 + random.normal(0, 2, ROWS)).round(2)
PEOPLE = {
    "wage": WAGE.tolist(),
    "tax": TAX.tolist(),
    "children": random.integers(0, 4, ROWS).tolist(),
    "region": random.choice(["n", "s"], ROWS).tolist(),
}


def noised(columns: Any = PEOPLE, /, **entry: Any) -> Made:
    settings = {"method": "noise", "columns": ["wage", "tax"], "scale": 0.2, **entry}
    made = make_step(columns, **settings)
    assert not made.measured().wrong
    return made


def numbers(made: Made, name: str) -> np.ndarray[Any, Any]:
    return made.after[name].to_numpy()


@pytest.mark.parametrize("kind", ["additive", "correlated"])
def test_the_variance_grows_by_what_the_manifest_says(kind: str) -> None:
    made = noised(kind=kind)
    factor = made.change.declared["variance_factor"]
    assert numbers(made, "wage").var() / WAGE.var() == pytest.approx(factor, rel=0.05)


def test_correlated_noise_keeps_correlations_and_independent_noise_does_not() -> None:
    before = np.corrcoef(WAGE, TAX)[0, 1]
    correlated, independent = (noised(kind=kind, scale=1) for kind in ("correlated", "additive"))
    assert np.corrcoef(numbers(correlated, "wage"), numbers(correlated, "tax"))[0, 1] == pytest.approx(before, abs=0.02)
    assert np.corrcoef(numbers(independent, "wage"), numbers(independent, "tax"))[0, 1] < before - 0.2


@pytest.mark.parametrize("scale", [0.1, 10])
def test_orthogonal_masking_keeps_means_and_covariances_exactly(scale: float) -> None:
    made = noised(kind="romm", scale=scale, round=1e-12)
    after = np.array([numbers(made, "wage"), numbers(made, "tax")])
    assert after.mean(axis=1) == pytest.approx([WAGE.mean(), TAX.mean()], rel=1e-12)
    assert np.cov(after) == pytest.approx(np.cov([WAGE, TAX]), rel=1e-10)
    assert made.measured().figures["wage"]["changed"] > 0.99
    assert made.change.declared["columns"] == ["wage", "tax"]


def test_orthogonal_masking_shrinks_covariances_with_columns_outside_of_the_step() -> None:
    made = noised(kind="romm", columns=["wage"], scale=1)
    shrunk = np.cov(numbers(made, "wage"), TAX)[0, 1] / np.cov(WAGE, TAX)[0, 1]
    assert shrunk == pytest.approx(1 / np.sqrt(2), abs=0.1) and made.change.declared["columns"] == ["wage"]


@pytest.mark.parametrize("kind", ["additive", "correlated", "romm", "multiplicative"])
def test_the_manifest_does_not_tell_what_the_column_is_like(kind: str) -> None:
    shifted = {**PEOPLE, "wage": (WAGE * 3 + 1000).tolist()}
    assert noised(kind=kind).change.declared == noised(shifted, kind=kind).change.declared


@pytest.mark.parametrize("kind", ["correlated", "romm"])
def test_collinear_columns_stay_collinear(kind: str) -> None:
    made = noised({"wage": WAGE.tolist(), "tax": (WAGE * 2).tolist()}, kind=kind)
    assert numbers(made, "tax") == pytest.approx(numbers(made, "wage") * 2, abs=0.02)  # both are rounded to cents


def test_numbers_have_the_decimals_that_they_had() -> None:
    for kind in ("additive", "correlated", "romm", "multiplicative"):
        made = numbers(noised(kind=kind), "wage")
        assert (made.round(2) == made).all() and (made.round(1) != made).any()
    exact = {"wage": (WAGE / 7).tolist(), "tax": TAX.tolist()}
    assert (numbers(noised(exact), "wage").round(9) != numbers(noised(exact), "wage")).any()


def test_whole_numbers_that_need_not_stay_so_show_two_digits_of_the_noise() -> None:
    """Noise of a deviation of 2.9 is shown to tenths, of 0.029 to thousandths."""
    ages = {"wage": list(range(100)), "tax": [1.5] * 100}
    coarse = numbers(noised(ages, columns=["wage"], scale=0.1, whole=False), "wage")
    assert (coarse.round(1) == coarse).all() and (coarse.round(0) != coarse).any()
    fine = numbers(noised(ages, columns=["wage"], scale=0.001, whole=False), "wage")
    assert (fine.round(3) == fine).all() and (fine.round(2) != fine).any()


def test_whole_columns_stay_whole_unless_the_step_says_otherwise() -> None:
    whole, fractions = (noised(columns=["children"], scale=1, **more) for more in ({}, {"whole": False}))
    assert all(text is not None and text.lstrip("-").isdecimal() for text in whole.texts["children"])
    assert any(text is not None and "." in text for text in fractions.texts["children"])


def test_numbers_are_rounded() -> None:
    assert set(np.round(numbers(noised(round=0.5), "wage") % 0.5, 9).tolist()) == {0.0}


def test_nothing_is_drawn_below_the_least() -> None:
    made = noised(columns=["children"], scale=1, least=0, keep_zero=True)
    after, before = numbers(made, "children"), np.array(PEOPLE["children"])
    assert after.min() == 0
    assert (after[before == 0] == 0).all()
    assert made.change.private["drawn_again"] > 0


def test_a_least_that_cannot_be_reached_is_an_error_with_the_count() -> None:
    with pytest.raises(DataError, match=r"'wage': 3 of its numbers are below 0 each of 100 times"):
        noised({"wage": [-1, -2, -3, 4]}, columns=["wage"], kind="multiplicative", least=0)


def test_only_outliers_change() -> None:
    wages = [10.0, 11, 12, 13, 14, 15, 16, 17, 18, 900.5]
    made = noised({"wage": wages}, columns=["wage"], only="outliers")
    assert made.texts["wage"][:9] == [f"{wage:g}" for wage in wages[:9]]
    assert numbers(made, "wage")[9] != 900.5


def test_rows_that_no_noise_can_change_are_counted() -> None:
    parts = {"wage": [1.5, 2.5, 3.5, 4.0, 4.0], "region": ["n", "n", "s", "w", "w"]}
    made = noised(parts, columns=["wage"], by=["region"])
    assert made.texts["wage"][2:] == ["3.5", "4", "4"]
    assert "wage: 3 rows unchanged, as" in made.change.warnings[0].text


def test_a_constant_column_is_warned_of() -> None:
    for kind in ("additive", "correlated", "romm"):
        made = noised({"wage": [2.5] * 4, "tax": [1.0, 2, 3, 4.5]}, kind=kind)
        assert ["wage" in warning for warning in made.change.warnings] == [True]


def test_numbers_that_are_rounded_to_what_they_were_are_counted() -> None:
    said = [noised(columns=["children"], scale=scale).change.warnings for scale in (0.01, 1)]
    assert f"{ROWS:,} of {ROWS:,} numbers are as they were" in said[0][0]
    assert not said[1]


def test_infinite_and_other_values_are_counted_apart() -> None:
    with pytest.raises(DataError, match=r"csv:3.*'wage': 2 values are infinite, and 1 more is no number"):
        noised({"wage": ["1", "inf", "-Infinity", "x"]}, columns=["wage"])


def test_text_in_a_number_is_an_error_with_the_line() -> None:
    with pytest.raises(DataError, match=r"csv:4.*'wage': 1 value is not a number"):
        noised({"wage": ["1", "2", "three"]}, columns=["wage"])


@pytest.mark.parametrize("cells", [[True, False], [date(2020, 1, 1), date(2020, 1, 2)]])
def test_a_type_that_is_no_number_is_an_error(cells: list[Any]) -> None:
    with pytest.raises(DataError, match="numeric column 'wage' is of the type"):
        noised({"wage": cells}, columns=["wage"], form="parquet")


def test_noise_that_vanishes_beside_large_numbers_is_sound() -> None:
    wages = [2.0**52 + step for step in (0.0, 1, 2, 3)]
    noised({"wage": wages}, columns=["wage"], whole=False, scale=1e-3, form="parquet")


@pytest.mark.parametrize("odd", ["nan", "inf", "-inf"])
def test_what_is_no_finite_number_is_an_error(odd: str) -> None:
    said = "not a number" if odd == "nan" else "infinite"
    with pytest.raises(DataError, match=f"csv:3.*'wage': 1 value is {said}"):
        noised({"wage": ["1", odd]}, columns=["wage"])
    with pytest.raises(DataError, match=f"'wage': 1 value is {said}"):
        noised({"wage": [1.0, float(odd)]}, columns=["wage"], form="parquet")


@given(
    st.lists(st.tuples(st.none() | st.integers(-50, 50), st.none() | st.integers(0, 5), st.sampled_from("ab"))),
    st.sampled_from(["additive", "correlated", "romm", "multiplicative"]),
    st.booleans(),
)
def test_any_table_is_as_its_twin_has_it(rows: list[Any], kind: str, whole: bool) -> None:
    columns = dict(
        zip(("wage", "tax", "region"), map(list, zip(*(rows or [(None, None, "a")]), strict=True)), strict=True)
    )
    made = noised(columns, kind=kind, whole=whole, by=["region"])
    for name in ("wage", "tax"):
        assert [each is None for each in made.texts[name]] == [each is None for each in columns[name]]
        assert all(text is None or math.isfinite(float(text)) for text in made.texts[name])


def test_a_seed_repeats_the_numbers_and_another_does_not() -> None:
    first, again, other = (noised(seed=seed).texts for seed in (1, 1, 2))
    assert first == again != other
