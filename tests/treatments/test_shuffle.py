"""Data shuffling: marginals, rank correlations, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.errors import DataError
from tests.common.treatments import Made, make_step

ROWS = 5000
random = np.random.default_rng(2)
AGE = random.integers(18, 80, ROWS)
WAGE = np.round(AGE * 30 + random.lognormal(5, 1, ROWS), 2)
TAX = np.round(WAGE * 0.3 + random.lognormal(4, 1, ROWS), 2)
PEOPLE = {
    "age": AGE.tolist(),
    "wage": WAGE.tolist(),
    "tax": TAX.tolist(),
    "region": random.choice(["n", "s"], ROWS).tolist(),
}


def shuffled(columns: Any = PEOPLE, /, **entry: Any) -> Made:
    made = make_step(columns, method="shuffle", **{"columns": ["wage", "tax"], "given": ["age"], **entry})
    assert not made.measured().wrong
    return made


def test_cells_are_dealt_out_anew_and_rank_correlations_stay() -> None:
    made = shuffled()
    assert sorted(map(str, made.texts["wage"])) == sorted(map(str, PEOPLE["wage"]))
    figures = made.measured().figures
    assert figures["wage"]["changed"] > 0.99
    for one, other in (("wage", "age"), ("tax", "age"), ("wage", "tax")):
        own = figures[one]["rank_correlations"][other]
        assert own["before"] > 0.5
        assert own["after"] == pytest.approx(own["before"], abs=0.05)


def test_given_the_others_a_new_value_says_nothing_of_the_old_one() -> None:
    noise = {"age": random.normal(0, 1, ROWS).tolist(), "wage": WAGE.tolist()}
    made = shuffled(noise, columns=["wage"])
    before, after = (made.before["wage"].rank().to_numpy(), made.after["wage"].rank().to_numpy())
    assert abs(np.corrcoef(before, after)[0, 1]) < 0.06


def test_a_part_keeps_its_cells() -> None:
    columns = {"wage": [1, 2, 3, 4, 10, 20, 30, 40], "age": [3, 1, 2, 4] * 2, "region": [*"nnnnssss"]}
    made = shuffled(columns, columns=["wage"], by=["region"])
    assert sorted(map(str, made.texts["wage"][:4])) == ["1", "2", "3", "4"]


def test_a_column_that_the_given_ones_determine_is_an_error_with_the_count() -> None:
    with pytest.raises(DataError, match="'wage': the columns under `given` determine the ranks of 50 rows"):
        shuffled({"age": list(range(50)), "wage": [value**3 for value in range(50)]}, columns=["wage"])


def test_parts_in_which_the_given_ones_determine_it_are_counted() -> None:
    columns = {
        "age": [1, 2, *range(20)],
        "wage": [7, 9, *range(0, 40, 4), *range(1, 41, 4)],
        "region": [*"nn", *("s" * 20)],
    }
    made = shuffled(columns, columns=["wage"], by=["region"])
    assert made.texts["wage"][:2] == ["7", "9"]
    assert "shuffle of wage: 2 rows unchanged, as `given` determines" in made.change.warnings[0]


def test_collinear_given_columns_count_once() -> None:
    columns = {**PEOPLE, "born": [2000 - age for age in PEOPLE["age"]]}
    one, both = (shuffled(columns, given=given) for given in (["age"], ["age", "born"]))
    figures = [made.measured().figures["wage"]["rank_correlations"]["age"]["after"] for made in (one, both)]
    assert figures[0] == pytest.approx(figures[1], abs=0.03)


def test_a_constant_column_and_missing_given_numbers_are_warned_of() -> None:
    made = shuffled({"wage": [5, 5, 5], "tax": [1, 2, 3], "age": [1, None, 1]})
    said = " ".join(made.change.warnings)
    assert "shuffle of wage: 3 rows unchanged" in said
    assert "1 row without `age`" in said


def test_missing_cells_stay() -> None:
    made = shuffled({"wage": [1, None, 3, 4, None], "age": [1, 2, 5, 3, 4]}, columns=["wage"])
    assert [row for row, text in enumerate(made.texts["wage"]) if text is None] == [1, 4]


@given(
    st.lists(st.tuples(st.none() | st.integers(0, 9), st.none() | st.integers(0, 9), st.sampled_from("ab")), min_size=1)
)
def test_any_table_is_as_its_twin_has_it(rows: list[Any]) -> None:
    columns = dict(zip(("wage", "age", "region"), map(list, zip(*rows, strict=True)), strict=True))
    try:
        shuffled(columns, columns=["wage"], by=["region"])
    except DataError as error:
        assert "determine the ranks" in str(error)


def test_a_seed_repeats_the_cells_and_another_does_not() -> None:
    first, again, other = (shuffled(seed=seed).texts for seed in (1, 1, 2))
    assert first == again != other
