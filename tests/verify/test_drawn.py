"""The twin of noise finds what is not as the step makes it."""

from __future__ import annotations

import copy
import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize import verify
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


# --- transitions ------------------------------------------------------------------------------------------------------

TRANSITIONS_ROWS = 3000
transitions_random = np.random.default_rng(1)
TRANSITIONS_PEOPLE: dict[str, Any] = {
    "roof": [None, *transitions_random.choice(["a", "b", "c"], TRANSITIONS_ROWS - 1, p=[0.7, 0.2, 0.1]).tolist()],
    "region": transitions_random.choice(["n", "s"], TRANSITIONS_ROWS).tolist(),
}


def randomized(**entry: Any) -> Made:
    made = make_step(TRANSITIONS_PEOPLE, **{"method": "pram", "columns": ["roof"], "keep": 0.8, **entry})
    assert not made.measured().wrong
    return made


def transitions_sentences(made: Made, **other: Any) -> str:
    return "; ".join(made.measured(**other).wrong)


def with_matrix(made: Made, matrix: list[list[float]]) -> Made:
    """The same with another matrix in the manifest."""
    declared = copy.deepcopy(dict(made.change.declared))
    declared["channels"][0]["matrix"] = matrix
    return replace(made, change=replace(made.change, declared=declared))


@pytest.mark.parametrize("more", [{}, {"by": ["region"]}, {"invariant": True}])
def test_values_that_have_not_changed_are_found(more: Any) -> None:
    assert "frequencies of moves" in transitions_sentences(randomized(**more), roof=TRANSITIONS_PEOPLE["roof"])


def test_another_probability_is_found() -> None:
    assert "frequencies of moves" in transitions_sentences(randomized(), roof=randomized(keep=0.7).after["roof"])


def test_a_forbidden_move_is_found_even_once() -> None:
    made = randomized(forbidden=[["a", "b"]])
    values = made.after["roof"].to_list()
    values[TRANSITIONS_PEOPLE["roof"].index("a")] = "b"
    assert "1 rows made moves that have no probability" in transitions_sentences(made, roof=values)


def test_a_value_that_the_matrix_lacks_is_found() -> None:
    made = randomized()
    values = made.after["roof"].to_list()
    values[1] = "d"
    assert "1 rows moved to or from values that the matrix does not have" in transitions_sentences(made, roof=values)


def test_a_missing_value_that_has_moved_is_found() -> None:
    made = randomized()
    values = made.after["roof"].to_list()
    assert "missing" in transitions_sentences(made, roof=[values[1], None, *values[2:]])


def test_a_row_that_lacks_one_of_the_columns_stays() -> None:
    columns = {"roof": [None, *"abab"], "wall": [*"xxyxy"]}
    made = make_step(columns, method="pram", columns=["roof", "wall"], keep=0.5, joint=True)
    assert not made.measured().wrong
    walls = made.after["wall"].to_list()
    assert "1 rows that lack a value have changed" in transitions_sentences(made, wall=["y", *walls[1:]])


def test_matrices_that_are_not_those_of_the_step_are_found() -> None:
    third = (1 - 0.79) / 2
    cases = [
        (randomized(), [[0.79, third, third]] * 3, "another probability than `keep`"),
        (randomized(), [[0.8, 0.1, 0.2]] * 3, "no probabilities"),
        (randomized(forbidden=[["a", "b"]]), [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], "a forbidden move"),
        (randomized(invariant=True), [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], "not invariant"),
    ]
    for made, matrix, text in cases:
        assert text in transitions_sentences(with_matrix(made, matrix))
    given = {"a": {"a": 0.9, "b": 0.1}, "b": {"b": 1}, "c": {"c": 1}}
    declared = randomized(keep=None, matrix=given)
    assert "not the one of the spec" in transitions_sentences(with_matrix(declared, np.eye(3).tolist()))


def test_moves_that_sdcmicro_made_are_those_of_its_matrix() -> None:
    # sdcMicro 5.8.1, pram of testdata$walls with pd = 0.8, alpha = 0.5 and seed 123, in R 4.2.2.
    levels, counts = ["2", "3", "9"], [[1116, 75, 12], [84, 3233, 10], [12, 8, 30]]
    matrix = [
        [0.916461735203757, 0.0745156565547529, 0.00902260824149049],
        [0.0269438938489233, 0.970264939642777, 0.00279116650829975],
        [0.217083954290261, 0.185724219462265, 0.597191826247474],
    ]
    moves = [
        (b, a)
        for b, row in zip(levels, counts, strict=True)
        for a, n in zip(levels, row, strict=True)
        for _ in range(n)
    ]
    before, after = (pl.Series(list(side), dtype=pl.String) for side in zip(*moves, strict=True))
    settings = {
        "columns": ["walls"],
        "joint": False,
        "by": [],
        "matrix": None,
        "invariant": True,
        "forbidden": [],
        "keep": 0.8,
    }
    channel = {"columns": ["walls"], "part": {}, "values": [[level] for level in levels], "matrix": matrix}
    declared = {"channels": [channel]}
    measured = verify.measure_treatment("pram", settings, declared, {"walls": before}, {"walls": after})
    assert not measured.wrong
    assert measured.figures["walls"]["changed"]["walls"] == 201 / 4580


def test_transitions_a_sound_release_passes_with_any_seed() -> None:
    for seed in range(5):
        randomized(seed=seed, by=["region"], invariant=True)
