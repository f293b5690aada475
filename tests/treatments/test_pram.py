"""PRAM: matrices, what is drawn by them, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.errors import DataError
from anonymize.treatments.pram import drawn, flowing, two_stage
from tests.common.treatments import Made, make_step

ROWS = 5000
random = np.random.default_rng(5)
PEOPLE = {
    "roof": random.choice(["tile", "slate", "straw", "tin"], ROWS, p=[0.6, 0.25, 0.1, 0.05]).tolist(),
    "wall": random.choice(["brick", "wood"], ROWS).tolist(),
    "region": random.choice(["n", "s"], ROWS).tolist(),
}


def randomized(columns: Any = PEOPLE, /, **entry: Any) -> Made:
    made = make_step(columns, method="pram", **{"columns": ["roof"], **entry})
    assert not made.measured().wrong
    return made


def matrices(made: Made) -> list[np.ndarray[Any, Any]]:
    return [np.array(each["matrix"]) for each in made.change.declared["channels"]]


def test_values_stay_with_the_probability_and_move_to_all_others_alike() -> None:
    (matrix,) = matrices(randomized(keep=0.7))
    assert matrix == pytest.approx(np.full((4, 4), 0.1) + 0.6 * np.eye(4))


def test_the_two_stage_matrix_is_the_one_of_sdcmicro() -> None:
    # sdcMicro 5.8.1, pram of testdata$walls with pd = 0.8, alpha = 0.5 and seed 123, in R 4.2.2: it draws the diagonal
    # of P from 0.8 to 1, 0.8 + 0.2 runif(3).
    shares = np.array([1203, 3327, 50]) / 4580
    theirs = [
        [0.916461735203757, 0.0745156565547529, 0.00902260824149049],
        [0.0269438938489233, 0.970264939642777, 0.00279116650829975],
        [0.217083954290261, 0.185724219462265, 0.597191826247474],
    ]
    diagonal = np.array([0.857515504024925, 0.957661027088761, 0.881795384362341])
    matrix = np.repeat((1 - diagonal)[:, None] / 2, 3, axis=1)
    np.fill_diagonal(matrix, diagonal)
    own = 0.5 * two_stage(matrix, shares) + 0.5 * np.eye(3)
    assert own == pytest.approx(np.array(theirs), abs=1e-12)


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=6), st.floats(0.05, 0.95), st.data())
def test_invariant_matrices_keep_the_shares(counts: list[int], keep: float, data: st.DataObject) -> None:
    shares = np.array(counts) / sum(counts)
    size = len(counts)
    pairs = st.booleans()
    allowed = np.array([[i != j and data.draw(pairs) for j in range(size)] for i in range(size)])
    plain = np.full((size, size), (1 - keep) / (size - 1))
    np.fill_diagonal(plain, keep)
    for matrix in (two_stage(plain, shares), flowing(keep, shares, allowed)):
        assert np.abs(shares @ matrix - shares).max() < 1e-12
        assert matrix.sum(axis=1) == pytest.approx(np.ones(size), abs=1e-12)
        assert matrix.min() >= 0
    assert not flowing(keep, shares, allowed)[~allowed & ~np.eye(size, dtype=bool)].any()


@pytest.mark.parametrize("more", [{}, {"by": ["region"]}, {"alpha": 0.5}, {"forbidden": [["tile", "straw"]]}])
def test_an_invariant_matrix_is_measured_as_one(more: Any) -> None:
    made = randomized(keep=0.6, invariant=True, **more)
    assert made.measured().figures["roof"]["matrices"] == len(more.get("by", ["all"])) * (2 if "by" in more else 1)
    assert made.measured().figures["roof"]["changed"]["roof"] > 0.05


def test_a_value_without_probability_is_never_drawn() -> None:
    matrix = np.array([[0.5, 0, 0.5, 0], [0, 1, 0, 0], [0, 0.1, 0.2, 0.7], [0.9, 0.1, 0, 0]])
    codes = np.repeat(np.arange(4), 20_000)
    counts = np.zeros((4, 4))
    np.add.at(counts, (codes, drawn(codes, matrix, np.random.default_rng(1))), 1 / 20_000)
    assert (counts[matrix == 0] == 0).all()
    assert counts == pytest.approx(matrix, abs=0.02)


def test_a_forbidden_move_never_happens() -> None:
    made = randomized(keep=0.3, forbidden=[["tile", "straw"], ["straw", "tin"]])
    moves = set(zip(PEOPLE["roof"], made.texts["roof"], strict=True))
    assert ("tile", "slate") in moves
    assert not moves & {("tile", "straw"), ("straw", "tin")}


@pytest.mark.parametrize("invariant", [False, True])
def test_a_value_that_may_become_no_other_is_an_error_with_the_count(invariant: bool) -> None:
    stuck = [["tin", other] for other in ("tile", "slate", "straw")]
    count = PEOPLE["roof"].count("tin")
    with pytest.raises(DataError, match=rf"'roof': pram: 1 of its values may not become any other.* in {count} rows"):
        randomized(keep=0.5, invariant=invariant, forbidden=stuck)


def test_a_declared_matrix_has_a_local_epsilon_and_one_that_is_made_has_none() -> None:
    matrix = {"brick": {"brick": 0.75, "wood": 0.25}, "wood": {"brick": 0.25, "wood": 0.75}}
    declared = randomized(columns=["wall"], matrix=matrix).change.declared
    assert declared["epsilon"] == pytest.approx(math.log(3))
    for more in ({}, {"invariant": True}):
        assert "epsilon" not in randomized(columns=["wall"], keep=0.75, **more).change.declared


def test_a_matrix_that_rules_something_out_has_no_epsilon() -> None:
    matrix = {"brick": {"brick": 0.5, "wood": 0.5}, "wood": {"wood": 1}}
    assert "epsilon" not in randomized(columns=["wall"], matrix=matrix).change.declared


def test_a_declared_matrix_may_show_values_that_nobody_had() -> None:
    matrix = {"brick": {"mud": 1}, "wood": {"wood": 1}, "mud": {"mud": 1}}
    made = randomized(columns=["wall"], matrix=matrix)
    assert made.texts["wall"] == [{"brick": "mud"}.get(wall, wall) for wall in PEOPLE["wall"]]


def test_a_value_without_a_row_in_the_matrix_is_an_error_with_its_line() -> None:
    with pytest.raises(DataError, match=r"csv:3: column 'roof': values that have no row in the `matrix` in 2 rows"):
        randomized({"roof": ["a", "b", "b"]}, matrix={"a": {"a": 1}})


def test_columns_as_one_only_show_combinations_that_occur() -> None:
    columns = {"roof": ["a", "b", "b", "c"] * 50, "wall": ["x", "y", "z", "z"] * 50}
    made = randomized(columns, columns=["roof", "wall"], keep=0.2, joint=True)
    shown = set(zip(made.texts["roof"], made.texts["wall"], strict=True))
    assert shown == {("a", "x"), ("b", "y"), ("b", "z"), ("c", "z")}


def test_nothing_passes_between_parts() -> None:
    columns = {"roof": ["a", "b"] * 50 + ["c", "d"] * 50, "region": ["n"] * 100 + ["s"] * 100}
    made = randomized(columns, keep=0.2, by=["region"])
    assert set(made.texts["roof"][:100]) == {"a", "b"}
    assert [each["part"] for each in made.change.declared["channels"]] == [{"region": "n"}, {"region": "s"}]


def test_rows_that_cannot_change_are_counted() -> None:
    made = randomized({"roof": ["a", "b", "c"], "region": ["n", "n", "s"]}, keep=0.5, by=["region"])
    assert "pram of roof: 1 row unchanged, as there is no other value" in made.change.warnings[0]
    assert made.texts["roof"][2] == "c"


def test_a_forbidden_value_that_nobody_has_is_warned_of() -> None:
    made = randomized(keep=0.5, forbidden=[["tile", "stone"]])
    assert "1 forbidden pair names values that no row has" in made.change.warnings[0]


def test_too_many_values_are_refused() -> None:
    with pytest.raises(DataError, match="matrices of more than 1,000,000 cells"):
        randomized({"roof": list(range(1001))}, keep=0.5)


@given(
    st.lists(st.tuples(st.none() | st.sampled_from("abc"), st.none() | st.sampled_from("xy"), st.sampled_from("12")))
)
def test_any_table_is_as_its_twin_has_it(rows: list[Any]) -> None:
    columns = dict(
        zip(("roof", "wall", "region"), map(list, zip(*(rows or [(None, None, "1")]), strict=True)), strict=True)
    )
    for more in ({"joint": True}, {"invariant": True}, {"by": ["region"]}):
        made = randomized(columns, columns=["roof", "wall"], keep=0.5, **more)
        assert [each is None for each in made.texts["roof"]] == [each is None for each in columns["roof"]]


def test_a_seed_repeats_the_values_and_another_does_not() -> None:
    first, again, other = (randomized(keep=0.5, seed=seed).texts for seed in (1, 1, 2))
    assert first == again != other


def test_rows_that_miss_the_stratum_are_one_part_however_they_say_so() -> None:
    columns = {"roof": ["a", "b"] * 20, "area": ["x", "", "?", "x"] * 10}
    made = make_step(columns, missing=["", "?"], method="pram", columns=["roof"], keep=0.5, by=["area"])
    parts = [each["part"]["area"] for each in made.change.declared["channels"]]
    assert len(parts) == 2 and set(parts) == {None, "x"}
    assert made.measured().wrong == []


@pytest.mark.parametrize(
    ("roofs", "more", "said"),
    [
        (["tile", "slate"] * 5, {}, ""),
        (["tile"] * 6 + ["slate"] * 4, {}, "pram of roof: 1 value is of fewer than 5 rows"),
        (["tile"] * 9 + ["slate"], {"by": ["wall"]}, "pram of roof: 2 values in a part are of fewer than 5 rows"),
        (
            ["tile"] * 9 + ["slate"],
            {"columns": ["roof", "wall"], "joint": True},
            "pram of roof, wall: 2 combinations are of fewer than 5 rows",
        ),
    ],
)
def test_values_of_few_rows_that_the_manifest_names_are_counted_in_a_warning(
    roofs: list[str], more: dict[str, Any], said: str
) -> None:
    columns = {"roof": roofs, "wall": ["brick"] * 5 + ["wood"] * 5}
    warned = [each for each in randomized(columns, keep=0.5, **more).change.warnings if "manifest" in each]
    assert [each.partition(", and the manifest, which is public")[0] for each in warned] == [said] * bool(said)


def test_a_declared_matrix_names_nothing_that_the_spec_does_not() -> None:
    matrix = {"tile": {"tile": 1}, "slate": {"tile": 0.5, "slate": 0.5}}
    assert not randomized({"roof": ["tile"] * 9 + ["slate"]}, matrix=matrix).change.warnings
