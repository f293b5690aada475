"""Numeric domains: costs, and how intervals read."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.domain.grid import Coding
from anonymize.domain.numeric import Numeric, included, template

wholes = st.lists(st.integers(-(10**6), 10**6), unique=True, min_size=1, max_size=8).map(sorted)
floats = st.lists(st.floats(allow_nan=False, allow_infinity=False), unique=True, min_size=1, max_size=8).map(sorted)


def pairs(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Every interval of that many codes."""
    low, high = zip(*itertools.combinations_with_replacement(range(size), 2), strict=True)
    return np.array(low, dtype=np.uint8), np.array(high, dtype=np.uint8)


def ages(missing: str | None = None) -> Numeric:
    return Numeric("age", np.array([17, 20, 41, 90]), missing)


@given(wholes, st.sampled_from([np.int64, np.float64]))
def test_cost_is_width_over_span(values: list[int], dtype: type) -> None:
    low, high = pairs(len(values))
    span = max(values) - min(values) or 1
    expected = [(values[b] - values[a]) / span for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    domain = Numeric("x", np.array(values, dtype=dtype))
    assert domain.cost(low, high).tolist() == expected
    assert domain.loss(low, high).tolist() == expected


@given(st.one_of(wholes, floats))
def test_costs_with_missing_are_in_the_unit_interval(values: list[float]) -> None:
    domain = Numeric("x", np.array(values), "?")
    low, high = pairs(domain.size)
    cost, mixed = domain.cost(low, high), (high == domain.missing) & (low != domain.missing)
    assert np.all((cost >= 0) & (cost <= 1)) and np.all(cost[low == high] == 0)
    to_the_highest = domain.cost(low[mixed], np.full(mixed.sum(), domain.size - 2))
    assert np.allclose(cost[mixed], np.minimum(to_the_highest + 1 / domain.size, 1))


def test_costs_of_numbers_that_a_float_cannot_hold() -> None:
    domain = Numeric("id", np.array([-(2**63), 2**62, 2**62 + 1, 2**63 - 1]))
    assert domain.cost(np.array([0, 1, 0]), np.array([3, 2, 1])).tolist() == [1.0, 0.0, 0.75]
    huge = Numeric("x", np.array([-1.7e308, 0.0, 1.7e308]), "?")
    assert huge.cost(np.array([0, 0, 3, 0]), np.array([2, 1, 3, 3])).tolist() == [1.0, 0.5, 0.0, 1.0]


def test_a_column_of_missing_values_only() -> None:
    domain = Numeric("x", np.array([], dtype=np.float64), "")
    code = np.array([0])
    assert (domain.size, domain.missing, domain.leaf_text()) == (1, 0, [""])
    assert domain.cost(code, code).tolist() == [0.0]


def test_shape_of_costs_is_that_of_the_codes() -> None:
    low = np.zeros((2, 3), dtype=np.uint16)
    assert ages("?").cost(low, low + 1).shape == (2, 3)


def test_leaves_read_as_numbers_then_missing() -> None:
    assert ages("NA").leaf_text() == ["17", "20", "41", "90", "NA"]
    assert Numeric("x", np.array([-1.0, 0.25])).leaf_text() == ["-1", "0.25"]


def test_ends_read_as_the_values_do() -> None:
    lows, highs = ages("").ends(np.array([0, 1, 2]), np.array([1, 1, 3]))
    assert (lows.to_list(), highs.to_list()) == (["17", "20", "41"], ["20", "20", "90"])


def test_codes_read_open() -> None:
    """A value that stands for others beyond it says so."""
    coding = Coding(18, 90, "from {low}", "to {high}")
    values, place = coding.applied(np.array([3, 18, 20, 41, 90, 138]))
    assert values.tolist() == [18, 20, 41, 90] and place.tolist() == [0, 0, 1, 2, 3, 3]
    assert Numeric("age", values, "?", (), coding).leaf_text() == ["to 18", "20", "41", "from 90", "?"]
    assert Numeric("age", values[1:3], None, (), coding).leaf_text() == ["20", "41"]


@given(st.one_of(wholes, floats), st.floats(-1e6, 1e6), st.floats(1, 1e6))
def test_coded_numbers_lie_between_their_codes(values: list[float], bottom: float, span: float) -> None:
    coding, before = Coding(bottom, bottom + span), np.array(values)
    left, place = coding.applied(before)
    assert np.array_equal(left[place], np.clip(before, bottom, bottom + span)) and np.all(np.diff(left) > 0)
    assert coding.lowest(left) == (min(values) <= bottom) and coding.highest(left) == (max(values) >= bottom + span)


def test_half_open_templates() -> None:
    assert template("[{low}-{high}]", half_open=True)("5", "10") == "[5-10)"
    assert template("{low}..{high}", half_open=True)("5", "10") == "5..10"
    assert template("100% {low}-{high}")("5", "10") == "100% 5-10"


@pytest.mark.parametrize(
    ("interval", "ends"),
    [
        ("[{low}-{high}]", (True, True)),
        ("{low} to {high}", (True, True)),
        ("age [ {low}; {high} [ years", (True, False)),
        ("]{low}, {high}[", (False, False)),
        ("({low}, {high}]", (False, True)),
        ("{low}-{high})", None),
        ("[{low}-{high}", None),
        ("<{low};{high}>", None),
        ("\u2329{low}, {high}\u232a", None),
        ("{low}-<{high}", None),
        ("{low} to Under {high}", None),
        ("[{low}-{high}] excl.", None),
    ],
)
def test_a_template_says_which_ends_it_includes(interval: str, ends: tuple[bool, bool] | None) -> None:
    assert included(interval) == ends


def test_no_number_reads_as_what_means_missing() -> None:
    """Of what is released alone; an end within an interval is read as no cell."""
    domain = Numeric("x", np.array([98.0, 99.0, 99.5]), "99", ["99", "99.0", "99.5"])
    assert domain.leaf_text() == ["98", "99.00", "99.50", "99"]


@pytest.mark.parametrize(
    ("values", "unit"), [([1, 5, 9], 1.0), ([0.5, 1.0, 3.5], 0.5), ([1.0, 4.0], 1.0), ([2.5], 1.0), ([], 1.0)]
)
def test_the_unit_is_the_least_difference_and_1_of_whole_numbers(values: list[float], unit: float) -> None:
    assert Numeric("x", np.array(values)).unit == unit


def test_halving_saves_half_of_what_is_spanned_and_of_rounded_ends_what_the_halves_cost_less() -> None:
    values = np.array([10, 11, 14, 15, 30])
    low, high = np.array([0, 0, 1, 0, 2, 5]), np.array([4, 1, 1, 3, 5, 5])
    tight, rounded = (Numeric("age", values, "?", rounds=rounds) for rounds in (False, True))
    assert tight.saved_by_halving(low, high) == pytest.approx(tight.cost(low, high) / 2)
    # Those with a step of 2 are 1 wider on average; nothing costs more than the whole column, which is 20 wide.
    expected = [20 - (5 + 16) / 2, 2, 0, 6 - (2 + 2) / 2, 17 - (2 + 0) / 2, 0]
    assert rounded.saved_by_halving(low, high) == pytest.approx(np.array(expected) / 20)


def test_whole_numbers_with_rounded_ends_are_rather_cut_below_even_ones() -> None:
    ages = Numeric("age", np.array([-3, 10, 11, 14]), "?", rounds=True)
    assert ages.preferred_cuts is not None and ages.preferred_cuts.tolist() == [False, True, False, True, True, False]
    halves, tight = Numeric("x", np.array([0.5, 2.0]), rounds=True), Numeric("age", np.array([10, 11]))
    assert halves.preferred_cuts is None and tight.preferred_cuts is None
