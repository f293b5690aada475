"""What is left of numbers: by hand, against what must hold, and against sdcMicro where its results are at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.errors import DataError
from anonymize.fidelity.numbers import NumbersBoth, categories_kept, read_numbers, weighted_total
from anonymize.meaning import Changed
from anonymize.treatments.microaggregation import aggregated, groups
from tests.examples import some
from tests.treatments.tarragona import needs_tarragona, oracle, tarragona


def both(before: list[float], after: list[float], **more: object) -> NumbersBoth:
    return NumbersBoth({"x": np.array(before)}, {"x": np.array(after)}, **more)  # type: ignore[arg-type]


def test_a_column_by_hand() -> None:
    """1, 2, 3, 6 with sample deviation root of 14/3; all shifted by one."""
    block = both([1, 2, 3, 6], [2, 3, 4, 7], matched=True).block()
    spread = (14 / 3) ** 0.5
    column = block["columns"]["x"]
    assert column["mean_change"] == pytest.approx(1 / spread)
    assert column["variance_ratio"] == pytest.approx(1)
    assert column["decile_change_max"] == pytest.approx(1 / spread)
    assert block["il1s"] == pytest.approx(1 / (spread * 2**0.5))


def test_rows_that_nobody_can_match_have_no_il1s() -> None:
    assert "il1s" not in both([1, 2, 3], [3, 2, 1]).block()


@pytest.mark.parametrize("before", [[], [1], [2, 2, 2], [np.nan, np.nan]])
def test_a_column_without_two_numbers_says_nothing(before: list[float]) -> None:
    assert both(before, before).block() == {}


def test_missing_cells_count_nowhere() -> None:
    alone = both([1, 2, 4], [1, 3, 4], matched=True).block()
    assert both([1, 2, np.nan, 4], [1, 3, np.nan, 4], matched=True).block() == alone


def test_all_missing_afterwards_is_said() -> None:
    assert both([1, 2], [np.nan, np.nan]).block()["columns"]["x"] == {"missing_after": 1.0}


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
@settings(max_examples=some(12))
def test_the_same_numbers_have_lost_nothing(seed: int, columns: int) -> None:
    values = np.random.default_rng(seed).normal(size=(30, columns))
    side = {str(index): own for index, own in enumerate(values.T)}
    block = NumbersBoth(side, side, matched=True).block()
    assert block["il1s"] == 0
    assert all(each["mean_change"] == 0 and each["decile_change_max"] == 0 for each in block["columns"].values())
    if columns > 1:
        assert block["covariance_change"]["max"] == block["correlation_change"]["max"] == 0
        assert block["eigenvalues"]["change"] == 0
        assert block["regression_overlap"] == {"mean": pytest.approx(1), "min": pytest.approx(1)}


def test_collinear_columns_have_no_regression_and_no_part_in_eigenvalues() -> None:
    values = np.random.default_rng(1).normal(size=40)
    side = {"a": values, "b": 2 * values, "c": np.random.default_rng(2).normal(size=40)}
    block = NumbersBoth(side, side).block()
    assert block["regression_overlap"] is None
    assert block["eigenvalues"] == {"change": 0, "counted": 2}


def test_weighted_totals_by_hand() -> None:
    """10 and 40, deviating by 15 from their mean of 25: variance 2 x 450."""
    total, error = weighted_total(np.array([1.0, 2.0, np.nan]), np.array([10.0, 20.0, 5.0]))
    assert total == 50 and error == pytest.approx((2 * 450) ** 0.5)
    weights = np.array([10.0, 20.0])
    block = NumbersBoth({"x": np.array([1.0, 2.0])}, {"x": np.array([1.0, 3.5])}, False, weights, weights).block()
    assert block["columns"]["x"]["total_change"] == pytest.approx(30 / 50)
    assert block["columns"]["x"]["total_change_in_errors"] == pytest.approx(30 / 30)


@needs_tarragona
@pytest.mark.parametrize("run", ["tarragona_mdav_k3", "tarragona_mdav_k10", "tarragona_pca_k5"])
def test_il1s_and_eigenvalues_are_those_of_sdcmicro(run: str) -> None:
    """sdcMicro adds IL1s over cells; the mean over cells is what is compared."""
    expected, (names, values) = oracle("microaggregation_tarragona")["runs"][run], tarragona()
    method, k = run.split("_")[1], int(run.rsplit("k", 1)[1])
    released = aggregated(values, groups(values, k, method=method, fixed=True))
    block = NumbersBoth(
        dict(zip(names, values.T, strict=True)), dict(zip(names, released.T, strict=True)), True
    ).block()
    assert block["il1s"] == pytest.approx(expected["IL1s_mean"], rel=1e-9)
    assert block["eigenvalues"]["change"] == pytest.approx(expected["eigen"], rel=1e-9)


def test_noise_is_taken_out_of_a_variance_that_it_made_larger() -> None:
    known = {"x": Changed("channel", "noise", {"kind": "additive", "scale": 0.5})}
    block = both([1, 2, 3, 6], [1, 3, 3, 7], known=known).block()["columns"]["x"]
    assert block["variance_ratio_corrected"] == pytest.approx(block["variance_ratio"] / 1.25)


def test_covariances_beyond_the_step_of_a_random_orthogonal_matrix_are_not_corrected() -> None:
    sides = {name: np.random.default_rng(place).normal(size=9) for place, name in enumerate("xyz")}
    step = Changed("channel", "noise", {"kind": "romm", "scale": 0.5, "columns": ["x", "y"]})
    added = Changed("channel", "noise", {"kind": "additive", "scale": 0.5})
    block = NumbersBoth(sides, sides, known={"x": step, "y": step, "z": added}).block()
    assert block["corrected"] == ["z"] and set(block["not_corrected"]) == {"x", "y"}
    assert "left out z" in block["not_corrected"]["x"]


def test_frequencies_are_corrected_by_the_matrix() -> None:
    """Of ten a nine stay, of ten b five: 14 a and 6 b; undone by the matrix they are what they were."""
    channel = {"columns": ["c"], "part": {}, "values": [["a"], ["b"]], "matrix": [[0.9, 0.1], [0.5, 0.5]]}
    before, after = ["a"] * 10 + ["b"] * 10, ["a"] * 14 + ["b"] * 6
    figures = categories_kept(before, after, [channel])
    assert figures == {"total_variation": pytest.approx(0.2), "total_variation_corrected": pytest.approx(0)}


def test_frequencies_of_a_channel_by_parts_are_corrected_part_by_part() -> None:
    """Of the men nothing changes, of the women a and b change places; what is missing stays."""
    same, turned = [[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]
    channels = [
        {"columns": ["c"], "part": {"sex": sex}, "values": [["a"], ["b"]], "matrix": matrix}
        for sex, matrix in (("m", same), ("f", turned))
    ]
    before, parts = ["a", "a", "b", None, "a"], [("m",), ("m",), ("f",), ("f",), ("f",)]
    after = ["a", "a", "a", None, "b"]
    assert categories_kept(before, after, channels, parts) == {"total_variation": 0, "total_variation_corrected": 0}
    shuffled = [("f",), ("m",), ("f",), ("f",), ("f",)]
    assert categories_kept(before, after, channels, shuffled)["total_variation_corrected"] > 0


def test_frequencies_of_a_channel_whose_parts_are_not_known_are_not_corrected() -> None:
    channel = {"columns": ["c"], "part": {"sex": "f"}, "values": [["a"]], "matrix": [[1.0]]}
    assert categories_kept(["a", None], ["b", None], [channel]) == {"total_variation": 0.5}


def read(ungrouped: tuple[str, ...] = (), /, **columns: list[Any]) -> dict[str, list[float | None]]:
    return read_numbers(pl.DataFrame(columns), ungrouped, "out.csv").to_dict(as_series=False)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1,5", "2", " -3,125 "], [1.5, 2, -3.125]),
        (["1.5", "2", "-3.125"], [1.5, 2, -3.125]),
        (["0,125", "1,250"], [0.125, 1.25]),
        (["1.234", "98.765"], [1.234, 98.765]),
        (["1,5e-3", "\u22122,5"], [0.0015, -2.5]),
        (["?", "", None, "NaN", "7"], [None, None, None, None, 7]),
        ([1.234, 999.0, float("nan")], [1.234, 999, None]),
        ([1234, 5, None], [1234, 5, None]),
    ],
)
def test_clear_notations_are_read(cells: list[object], numbers: list[float | None]) -> None:
    assert read(x=cells) == {"x": numbers}


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1,234", "999"], "x: 1 of 2 numbers have a comma before three digits"),
        (["1,234", "56,789"], "x: 2 of 2 numbers have a comma before three digits"),
        (["1.234", "999"], "x: 1 of 2 numbers have a point before three digits"),
        (["1,234,567", "?"], "x: 1 of 1 numbers have several commas"),
        (["1.234.567", "5"], "x: 1 of 2 numbers have several points"),
        (["1,234.5", "7"], "x: 1 of 2 numbers have a comma, and 1 a point"),
        (["1,5", "1.5", "2.5"], "x: 1 of 3 numbers have a comma, and 2 a point"),
        (["165 cm", "7", ""], "x: 1 of 3 cells cannot be read"),
        (["20-29", "1e999"], "x: 2 of 2 cells cannot be read"),
        ([float("inf"), 1.0], "x: 1 of 2 cells cannot be read"),
    ],
)
def test_what_is_in_doubt_is_refused(cells: list[object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(x=cells)


def test_a_column_that_a_step_wrote_has_no_sign_between_thousands() -> None:
    assert read(("x",), x=["1,234", "999"]) == {"x": [1.234, 999]}


def test_points_before_three_digits_are_in_doubt_beside_decimal_commas() -> None:
    with pytest.raises(DataError, match="y: 2 of 2 numbers have a point before three digits"):
        read(x=["1,5", "2"], y=["1.234", "56.789"])


def test_a_name_is_no_pattern() -> None:
    assert read((), **{"^x.*$": ["1,5"], "x1": ["2.5"]}) == {"^x.*$": [1.5], "x1": [2.5]}
