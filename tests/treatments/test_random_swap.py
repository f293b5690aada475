"""Random swapping: how many rows, and what stays together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anonymize.errors import DataError
from tests.common.treatments import Made, make_step

ROWS = 1000
PEOPLE = {
    "ill": list(range(ROWS)),
    "drug": [f"d{row}" for row in range(ROWS)],
    "region": np.random.default_rng(1).choice(["n", "s"], ROWS).tolist(),
}


def swapped(columns: Any = PEOPLE, /, **entry: Any) -> Made:
    made = make_step(columns, method="random-swap", **{"columns": ["ill", "drug"], **entry})
    assert not made.measured().wrong
    return made


def test_as_many_rows_as_the_rate_says_get_the_cells_of_another_one_together() -> None:
    made = swapped(rate=0.1)
    assert [f"d{ill}" for ill in made.texts["ill"]] == made.texts["drug"]
    assert sorted(map(str, made.texts["ill"])) == sorted(map(str, PEOPLE["ill"]))
    assert sum(text != str(row) for row, text in enumerate(made.texts["ill"])) == 100


def test_a_part_has_its_own_rate() -> None:
    made = swapped(rate=1, by=["region"])
    places = np.array(PEOPLE["region"])
    donors = np.array(list(map(int, map(str, made.texts["ill"]))))
    assert (places[donors] == places).all()
    assert (donors != np.arange(ROWS)).all()


def test_rows_without_a_partner_or_a_cell_are_counted() -> None:
    columns = {"ill": ["a", "b", "c", None], "region": ["n", "n", "s", "n"]}
    made = swapped(columns, columns=["ill"], by=["region"], rate=1)
    assert made.texts["ill"] == ["b", "a", "c", None]
    assert ["1 row unchanged, as" in warning for warning in made.change.warnings] == [True, True]


def test_a_constant_column_is_warned_of_with_the_count() -> None:
    made = swapped({"ill": ["a", "a", "a"], "drug": ["x", "y", "z"]}, rate=1)
    assert [warning.split(":")[0] for warning in made.change.warnings] == ["random-swap of ill"]


def test_a_rate_without_partners_is_an_error_with_the_count() -> None:
    with pytest.raises(DataError, match="random-swap of ill: none of 2 rows has a partner"):
        swapped({"ill": ["a", "b"], "region": ["n", "s"]}, columns=["ill"], by=["region"])


def test_a_seed_repeats_the_swaps_and_another_does_not() -> None:
    first, again, other = (swapped(seed=seed).texts for seed in (1, 1, 2))
    assert first == again != other
