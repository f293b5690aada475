"""Estimates from a sample, against those of the search and against figures worked out by hand."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.privacy import (
    MODELS,
    PARAMETERS,
    Assessment,
    Groups,
    Histogram,
    Requirement,
    entropy_l_diversity,
    k_map,
)
from anonymize.privacy.k_map import largest
from anonymize.privacy.uniques import share_of_uniques
from anonymize.verify import Check, measure
from anonymize.verify.estimates import grassberger

ESTIMATORS = ("dankar", "zayatz", "pitman", "snb")


def table(sizes: list[int]) -> pl.DataFrame:
    rows = [number for number, size in enumerate(sizes) for _ in range(size)]
    return pl.DataFrame({"q": [str(each) for each in rows], "s": [str(row % 3) for row in range(len(rows))]})


def agree(sizes: list[int], model: str, **given: object) -> None:
    wanted = Requirement(model, None, PARAMETERS[model](**given))
    own = Assessment(Groups(np.array(sizes)), wanted)
    other = measure(table(sizes), ["q"], [Check(model, None, wanted.required())]).results[0]
    assert other.satisfied == own.satisfied
    for name, figure in own.achieved.items():
        if figure is not None:
            assert other.achieved[name] == (pytest.approx(figure, rel=1e-6) if isinstance(figure, float) else figure)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.3, 0.9, 1.0])
def test_uniques_of_a_population(estimator: str, fraction: float) -> None:
    generator = np.random.default_rng(round(100 * fraction))
    for people in (60, 400, 3000):
        classes = 1 + generator.negative_binomial(0.8, 0.3, people)
        drawn = generator.binomial(classes, fraction)
        sizes = drawn[drawn > 0].tolist() or [1]
        agree(sizes, "population-uniqueness", share=0.05, fraction=fraction, estimator=estimator)


@pytest.mark.parametrize("fraction", [1e-4, 0.05])
def test_uniques_of_a_sample_that_lost_unique_rows(fraction: float) -> None:
    for ones in (300, 40, 5, 1):
        sizes = [1] * ones + [2] * 50 + [3] * 30 + [4] * 20 + [90] * 3
        agree(sizes, "population-uniqueness", share=0.01, fraction=fraction, estimator="pitman")


def test_snb_finds_the_share_of_a_population_that_follows_it() -> None:
    generator = np.random.default_rng(3)
    classes = 1 + generator.negative_binomial(0.8, 0.25, 40_000)
    drawn = generator.binomial(classes, 0.5)
    share, estimator = share_of_uniques(drawn[drawn > 0], 0.5, "snb")
    assert estimator == "snb" and share == pytest.approx((classes == 1).sum() / classes.sum(), rel=0.1)


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=12),
    st.integers(1, 40),
    st.sampled_from([1e-5, 0.001, 0.1, 0.7, 1.0]),
    st.sampled_from(["poisson", "zero-truncated", None]),
    st.sampled_from([0.001, 0.01, 0.2, None]),
)
def test_people_like_a_class(
    sizes: list[int], k: int, fraction: float, estimator: str | None, significance: float | None
) -> None:
    agree(sizes, "k-map", k=k, fraction=fraction, estimator=estimator, significance=significance)


def test_a_class_of_two_is_enough_where_the_sample_is_small() -> None:
    """Of three people in ten thousand times as many as rows, two are seen less often than once in a hundred times."""
    parameters = k_map.Parameters(k=3, fraction=1e-4)
    assert largest(1, parameters) < 3 <= largest(2, parameters)


@given(st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=9), min_size=1, max_size=5), st.floats(1, 6))
@pytest.mark.parametrize("estimator", ["grassberger", "stammler"])
def test_grassberger(estimator: Literal["grassberger", "stammler"], classes: list[list[str]], least: float) -> None:
    labels = np.array([number for number, values in enumerate(classes) for _ in values])
    codes = np.array(["abcd".index(value) for values in classes for value in values])
    histogram = Histogram.from_rows(labels, codes, len(classes), 4)
    parameters = entropy_l_diversity.Parameters(l=least, estimator=estimator)
    wanted = Requirement("entropy-l-diversity", "s", parameters)
    own = Assessment(Groups(np.bincount(labels), {"s": histogram}), wanted)
    frame = pl.DataFrame({"q": [str(each) for each in labels], "s": [str(each) for each in codes]})
    other = measure(frame, ["q"], [Check(wanted.model, "s", wanted.required())]).results[0]
    assert other.satisfied == own.satisfied
    assert other.achieved["l"] == pytest.approx(own.achieved["l"], rel=1e-9)


def test_grassberger_by_hand() -> None:
    """G(1) is -gamma - ln 2; G(2) is 2 more, and G(3) the same."""
    assert grassberger(1) == pytest.approx(-np.euler_gamma - np.log(2))
    assert grassberger(2) == pytest.approx(2 - np.euler_gamma - np.log(2)) == pytest.approx(grassberger(3))
    assert not MODELS["entropy-l-diversity"].merges(entropy_l_diversity.Parameters(l=2, estimator="grassberger"))


@pytest.mark.parametrize(("values", "l"), [("a", 1.0), ("ab", 2.0), ("aab", np.exp(2 / 3)), ("aabb", np.exp(2 / 3))])
def test_stammler_by_hand(values: str, l: float) -> None:  # noqa: E741
    """G(1) + 2 = G(2) = G(3) = G(4) - 2/3: of three rows, two alike, ln l = G(3) - (2 G(2) + G(1)) / 3 = 2/3; of two
    that differ it would be 2, but there are no more than two values."""
    codes = np.array(["abcd".index(value) for value in values])
    histogram = Histogram.from_rows(np.zeros(len(codes), np.int64), codes, 1, 4)
    parameters = entropy_l_diversity.Parameters(l=1, estimator="stammler")
    groups = Groups(np.array([len(codes)]), {"s": histogram})
    assert entropy_l_diversity.measure(groups, "s", parameters) == pytest.approx([l])
