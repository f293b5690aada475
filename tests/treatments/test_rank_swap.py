"""Rank swapping: what is exact, and how far numbers may come from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.errors import DataError
from tests.common.treatments import Made, make_step

ROWS = 2000
random = np.random.default_rng(3)
PEOPLE = {"wage": random.permutation(ROWS).tolist(), "region": random.choice(["n", "s"], ROWS).tolist()}


def swapped(columns: Any = PEOPLE, /, **entry: Any) -> Made:
    made = make_step(columns, method="rank-swap", **{"columns": ["wage"], **entry})
    assert not made.measured().wrong
    return made


def test_cells_come_from_near_ranks_as_the_text_that_they_were() -> None:
    cells = [f"{value:04d}.50" for value in PEOPLE["wage"]]
    made = swapped({"wage": cells}, distance=0.02)
    assert sorted(map(str, made.texts["wage"])) == sorted(cells)
    moves = np.abs(made.after["wage"].to_numpy() - made.before["wage"].to_numpy())
    assert 20 < moves.max() <= 40
    assert moves.min() > 0


def test_a_part_keeps_its_cells() -> None:
    made = swapped(by=["region"], distance=0.1)
    for region in ("n", "s"):
        rows = np.array(PEOPLE["region"]) == region
        after, before = (np.array(texts)[rows] for texts in (made.texts["wage"], list(map(str, PEOPLE["wage"]))))
        assert sorted(after) == sorted(before)


def test_missing_cells_stay() -> None:
    made = swapped({"wage": [1, None, 2, 3, None, 4]}, distance=0.5)
    assert [row for row, text in enumerate(made.texts["wage"]) if text is None] == [1, 4]


def test_numbers_without_partners_are_counted() -> None:
    made = swapped({"wage": [1, 2, 3, 4, 9], "region": [*"nnnn", "s"]}, by=["region"], distance=0.5)
    assert "rank-swap of wage: 1 row" in made.change.warnings[0] or "2 rows" in made.change.warnings[0]
    assert made.texts["wage"][4] == "9"


def test_a_distance_within_which_nobody_is_is_an_error_with_the_count() -> None:
    with pytest.raises(DataError, match="'wage': none of its 10 numbers has another within `distance`"):
        swapped({"wage": list(range(10))}, distance=0.05)


def test_a_constant_column_is_warned_of_with_the_count() -> None:
    made = swapped({"wage": [7, 7, 7, None]}, distance=1)
    assert "rank-swap of wage: 3 rows unchanged, as the cells of the other rows are equal" in made.change.warnings[0]


def test_text_is_refused() -> None:
    with pytest.raises(DataError, match="1 value is not a number"):
        swapped({"wage": ["1", "2", "x"]}, distance=1)


@given(
    st.lists(st.tuples(st.none() | st.integers(0, 9), st.sampled_from("ab")), min_size=1),
    st.sampled_from([0.1, 0.4, 1]),
)
def test_any_table_is_as_its_twin_has_it(rows: list[Any], distance: float) -> None:
    columns = dict(zip(("wage", "region"), map(list, zip(*rows, strict=True)), strict=True))
    try:
        made = swapped(columns, by=["region"], distance=distance)
    except DataError as error:
        assert "none of its" in str(error)
        return
    still = sum(a == b for a, b in zip(made.texts["wage"], columns["wage"], strict=True))
    assert (
        made.change.warnings or still < len(rows) or columns["wage"].count(None) == len(rows) or distance < 1 or still
    )


def test_a_seed_repeats_the_swaps_and_another_does_not() -> None:
    first, again, other = (swapped(seed=seed).texts for seed in (1, 1, 2))
    assert first == again != other
