"""Microaggregation: groups of k to 2k - 1 rows, what is released of them, and agreement with sdcMicro."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.errors import DataError
from anonymize.treatments.microaggregation import (
    aggregated,
    groups,
    information_lost,
    standardized,
    strata_of,
)
from tests.common.treatments import make_step
from tests.examples import some
from tests.treatments.tarragona import needs_tarragona, oracle, tarragona

NAN = np.nan
SCALES = ("z-scores", "robust", "none")
TOGETHER = ("search", "mdav", "pca", "z-scores")
METHODS = (*TOGETHER, "univariate", "individual-ranking")


@st.composite
def small_tables(draw: st.DrawFn) -> np.ndarray:
    """Few rows of few columns, with ties, constant columns and rows that are there several times."""
    rows, columns = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    most, unit = draw(st.sampled_from([1, 2, 5, 1000])), draw(st.sampled_from([1.0, 1e9, 1e-9]))
    return np.asarray(rng.integers(0, most, (rows, columns)) * unit)


@pytest.mark.parametrize("method", TOGETHER)
@settings(max_examples=some(24))
@given(values=small_tables(), k=st.integers(1, 6), scale=st.sampled_from(SCALES))
def test_groups_have_k_to_2k_rows(method: str, values: np.ndarray, k: int, scale: str) -> None:
    k = min(k, len(values))
    group = groups(values, k, method=method, scale=scale)
    sizes = np.bincount(group)
    assert sizes.min() >= k and sizes.max() < 2 * k
    shown = aggregated(values, group)
    assert np.allclose(shown.sum(axis=0), values.sum(axis=0))
    assert 0 <= information_lost(values, shown) <= 1 + 1e-9


@settings(max_examples=some(48))
@given(values=small_tables(), k=st.integers(1, 5))
def test_the_optimum_of_a_column_is_no_worse_than_any_other_groups(values: np.ndarray, k: int) -> None:
    k, column = min(k, len(values)), values[:, :1]
    lost = {
        method: information_lost(column, aggregated(column, groups(column, k, method=method)))
        for method in ("univariate", "mdav", "search")
    }
    assert lost["univariate"] <= min(lost.values()) + 1e-12
    each = groups(values, k, method="individual-ranking")
    assert each.shape == values.shape and (each[:, 0] == groups(column, k, method="univariate")).all()


@pytest.mark.parametrize("method", TOGETHER)
def test_rows_of_other_strata_share_no_group(method: str) -> None:
    rng = np.random.default_rng(3)
    values, strata = rng.normal(size=(60, 2)), rng.integers(0, 4, 60)
    group = groups(values, 3, method=method, strata=strata)
    assert len(np.unique(np.stack((group, strata)), axis=1).T) == group.max() + 1
    assert np.bincount(group).min() >= 3


def test_strata_follow_what_is_missing() -> None:
    values = np.array([[1, NAN], [2, NAN], [3, 1], [4, 2], [5, 3]])
    strata = strata_of(values, 2, missing="pattern")
    assert [strata.labels.tolist(), strata.small] == [[1, 1, 0, 0, 0], 0]
    group = groups(values, 2, strata=strata.labels)
    shown = aggregated(values, group)
    assert np.array_equal(np.isnan(shown), np.isnan(values)) and shown[:2, 0].tolist() == [1.5, 1.5]


def test_a_small_stratum_is_refused_pooled_or_counted() -> None:
    values, by = np.arange(8.0)[:, None], np.array([0, 0, 0, 1, 2, 2, 2, 2])
    with pytest.raises(DataError, match="1 stratum has fewer than k = 3 rows, 1 in all"):
        strata_of(values, 3, by)
    pooled = strata_of(values, 3, by, small="pool")
    assert [pooled.labels.tolist(), pooled.small, pooled.small_rows] == [[0, 0, 0, 0, 1, 1, 1, 1], 1, 1]
    kept = strata_of(values, 3, by, small="keep")
    assert np.bincount(groups(values, 3, strata=kept.labels)).tolist() == [3, 1, 4]


def test_a_pooled_group_misses_what_one_of_its_rows_misses() -> None:
    values = np.array([[1, NAN], [2, 5.0]])
    strata = strata_of(values, 2, missing="pattern", small="pool")
    shown = aggregated(values, groups(values, 2, strata=strata.labels))
    assert shown[:, 0].tolist() == [1.5, 1.5] and np.isnan(shown[:, 1]).all()


def test_what_cannot_be_grouped_is_refused_by_column_and_count() -> None:
    values = np.array([[np.inf, NAN], [-np.inf, 1], [1, 2]])
    with pytest.raises(DataError) as raised:
        strata_of(values, 4, names=("income", "hours"))
    messages = [problem.message for problem in raised.value.problems]
    assert messages == [
        'column "income" has 2 infinite values: these have no mean',
        'column "hours" has 1 missing value',
        "3 rows cannot be in groups of 4",
    ]


@pytest.mark.parametrize(
    ("shown_as", "weights", "expected"),
    [
        ("mean", None, [2, 2, 2, 20, 20, 20, 20]),
        ("mean", [1, 1, 2, 1, 1, 1, 0], [2.25, 2.25, 2.25, 50 / 3, 50 / 3, 50 / 3, 50 / 3]),
        ("median", None, [2, 2, 2, 20, 20, 20, 20]),
        ("median", [1, 1, 9, 1, 1, 1, 1], [3, 3, 3, 20, 20, 20, 20]),
        ("mode", None, [1, 1, 1, 20, 20, 20, 20]),
        ("mode", [1, 1, 9, 1, 1, 1, 9], [3, 3, 3, 30, 30, 30, 30]),
    ],
)
def test_what_is_shown_of_a_group(shown_as: str, weights: list[float] | None, expected: list[float]) -> None:
    values = np.array([1.0, 2, 3, 20, 10, 20, 30])[:, None]
    own = None if weights is None else np.array(weights, float)
    shown = aggregated(values, np.array([0, 0, 0, 1, 1, 1, 1]), shown_as=shown_as, weights=own)
    assert shown[:, 0].tolist() == pytest.approx(expected)


def test_equal_values_stay_what_they_are() -> None:
    values = np.full((7, 1), 0.1)
    assert (aggregated(values, np.zeros(7, int), weights=np.linspace(0.1, 3, 7)) == 0.1).all()


def test_columns_are_comparable() -> None:
    values = np.array([[1.0, 7, 0, NAN], [2, 7, 0, 4], [3, 7, 0, 6], [100, 7, 9, 8]])
    scores = standardized(values)
    assert scores.std(axis=0, ddof=1)[[0, 2]].tolist() == pytest.approx([1, 1])
    assert scores[:, 1].tolist() == [0, 0, 0, 0] and scores[:, 3].tolist() == [0, -1, 0, 1]
    robust = standardized(values, "robust")
    assert robust[:2, 0].tolist() == pytest.approx([-1.5 / 1.4826, -0.5 / 1.4826])
    assert robust[:, 2].tolist() == scores[:, 2].tolist()


@needs_tarragona
@pytest.mark.parametrize("k", [3, 4, 5, 10])
def test_mdav_agrees_with_sdcmicro(k: int) -> None:
    _, values = tarragona()
    run = oracle("microaggregation_tarragona")["runs"][f"tarragona_mdav_k{k}"]
    group = groups(values, k, method="mdav")
    sizes = np.bincount(group)
    assert 100 * information_lost(values, aggregated(values, group)) == pytest.approx(run["IL_SSE_pct"], rel=1e-9)
    assert [len(sizes), sizes.min(), sizes.max()] == [run["n_distinct_rows"], run["min_group"], run["max_group"]]


@needs_tarragona
@pytest.mark.parametrize(
    ("method", "run", "k", "shown_as"),
    [
        ("individual-ranking", "onedims_k3", 3, "mean"),
        ("individual-ranking", "onedims_k5", 5, "mean"),
        ("individual-ranking", "onedims_k5_median", 5, "median"),
        ("pca", "pca_k3", 3, "mean"),
        ("pca", "pca_k5", 5, "mean"),
    ],
)
def test_orders_cut_after_every_k_rows_agree_with_sdcmicro(method: str, run: str, k: int, shown_as: str) -> None:
    _, values = tarragona()
    shown = aggregated(values, groups(values, k, method=method, fixed=True), shown_as=shown_as)
    expected = oracle("microaggregation_tarragona")["runs"][f"tarragona_{run}"]["IL_SSE_pct"]
    assert 100 * information_lost(values, shown) == pytest.approx(expected, rel=1e-9)
    if shown_as == "mean":
        assert 100 * information_lost(values, aggregated(values, groups(values, k, method=method))) < expected


@needs_tarragona
@pytest.mark.parametrize("k", [3, 5])
def test_single_columns_agree_with_the_optimum_of_mu_argus(k: int) -> None:
    """Where values are equal, mu-Argus counts groups that show the same as one."""
    names, values = tarragona()
    each = groups(values, k, method="individual-ranking")
    shown = aggregated(values, each)
    for index, name in enumerate(names):
        optimum = oracle("argus_microaggregation")["univariate"][f"{name}_k{k}"]["optimal"]
        lost = float(np.square(values[:, index] - shown[:, index]).sum())
        assert lost == pytest.approx(optimum["SSE_raw"], rel=1e-9)
        assert len(np.unique(shown[:, index])) == optimum["n_groups"]


def test_the_order_of_rows_decides_ties_alone() -> None:
    rng = np.random.default_rng(7)
    values, order = rng.normal(size=(50, 3)), rng.permutation(50)
    for method in TOGETHER[1:]:
        first, second = groups(values, 4, method=method)[order], groups(values[order], 4, method=method)
        pairs = sorted(set(zip(first.tolist(), second.tolist(), strict=True)))
        assert all(one[0] != other[0] for one, other in pairwise(pairs)) and len(pairs) == first.max() + 1


@pytest.mark.parametrize(
    ("cells", "settings", "means"),
    [
        (["1", "2", "2"], {}, ["1.7"] * 3),
        (["1.25", "1.5", "1.5"], {}, ["1.417"] * 3),
        (["1", "2", "2"], {"digits": 4}, ["1.6667"] * 3),
        (["1", "2", "2"], {"digits": 0}, ["2"] * 3),
        (["1", "2", "3"], {}, ["2"] * 3),
        (["1", "2", "2"], {"show": "mode"}, ["2"] * 3),
        (["0.12345678901", "0.2", "0.2"], {}, ["0.17448559633666666"] * 3),
    ],
)
def test_means_have_one_decimal_more_than_the_column(cells: list[str], settings: Any, means: list[str]) -> None:
    made = make_step({"a": cells}, method="microaggregation", columns=["a"], k=3, **settings)
    assert made.texts["a"] == means
    assert made.measured().wrong == []


def test_a_mean_that_is_rounded_otherwise_is_found() -> None:
    made = make_step({"a": ["1", "2", "2"]}, method="microaggregation", columns=["a"], k=3)
    assert made.measured(a=[1.8] * 3).wrong == ["a: 1 groups do not show their mean"]
    few = make_step({"a": ["1", "2", "2"]}, method="microaggregation", columns=["a"], k=3, digits=0)
    assert few.measured(a=[1.0] * 3).wrong == ["a: 1 groups do not show their mean"]
