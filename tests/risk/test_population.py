"""Population uniqueness: what the estimators have to give at their ends, and on samples of a known population."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from math import comb, exp, lgamma, log
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.classes import Ints
from anonymize.privacy.uniques import pitman, zayatz
from anonymize.risk import Text, TextFrequencySet, population_uniques
from anonymize.risk import journalist as measured
from anonymize.risk import population as room
from anonymize.risk.population import global_risk
from anonymize.spec import Missing, QuasiIdentifier, Spec
from anonymize.verify import CellTemplates, People, Shown


def sizes(counts: list[int]) -> tuple[np.ndarray, np.ndarray]:
    return np.unique(np.array(counts), return_counts=True)


def test_the_whole_population_is_its_own_estimate() -> None:
    found = population_uniques(np.array([1, 1, 2, 6]), 1.0)
    assert found["uniques"] == pytest.approx(0.2) and found["estimator"] == "zayatz"


def test_no_uniques_in_the_sample() -> None:
    found = population_uniques(np.array([2, 2, 9]), 0.01)
    assert (found["uniques"], found["estimator"]) == (0.0, "none")
    assert population_uniques(np.zeros(0, np.int64), 0.5)["uniques"] == 0.0


def test_zayatz_by_hand() -> None:
    counts, population, rows = [1, 1, 1, 2, 4], 18, 9
    once = {size: size * comb(population - size, rows - 1) / comb(population, rows) for size in (1, 2, 4)}
    all_once = (3 * once[1] + once[2] + once[4]) / 5
    still = 3 / 5 * once[1] / all_once
    assert zayatz(*sizes(counts), 0.5) == pytest.approx(3 * still / 0.5 / population)


def test_pitman_finds_the_parameters_of_a_sample_that_follows_it() -> None:
    theta, alpha, rows = 50.0, 0.4, 4000
    generator, classes = np.random.default_rng(1), [1]
    for at in range(1, rows):
        weights = np.array([size - alpha for size in classes] + [theta + alpha * len(classes)])
        chosen = generator.choice(len(weights), p=weights / (theta + at))
        if chosen == len(classes):
            classes.append(0)
        classes[chosen] += 1
    share = pitman(*sizes(classes), 1.0)
    assert share is not None and share == pytest.approx(classes.count(1) / rows, rel=0.1)


@pytest.mark.parametrize("fraction", [1e-4, 0.1])
def test_pitman_fits_a_sample_that_lost_its_unique_rows(fraction: float) -> None:
    """As a search suppresses them: the method of moments is no start then. The share goes down with them."""
    shares = []
    for ones in (900, 400, 200, 100, 30, 1):
        found = population_uniques(np.array([1] * ones + [2] * 150 + [3] * 80 + [4] * 50 + [90] * 9), fraction)
        assert found["estimator"] == "pitman"
        shares.append(found["uniques"])
    assert shares == sorted(shares, reverse=True) and shares[0] > 3 * shares[-1]


def test_of_few_unique_rows_it_is_the_formula_of_ewens() -> None:
    """With alpha = 0 the sample has the sum of theta / (theta + i) classes, i from 0 to its rows less one."""
    counts = [1] * 3 + [4] * 60
    share = pitman(*sizes(counts), 0.01)
    assert share is not None
    theta = share * sum(counts) / 0.01
    assert sum(theta / (theta + at) for at in range(sum(counts))) == pytest.approx(len(counts))


@pytest.mark.parametrize("counts", [[1] * 400 + [2] * 150 + [90] * 9, [1] * 30 + [2] * 6 + [500], [1, 2], [1, 1, 7]])
def test_no_parameters_are_more_likely(counts: list[int]) -> None:
    rows, people = sum(counts), round(sum(counts) / 0.01)
    steps, alike = np.arange(1, len(counts)), Counter(counts).items()

    def likelihood(theta: float, alpha: float) -> float:
        """Of the sample, but for a factor that is the same for all: by Hoshino, equation 5."""
        return (
            float(np.log(theta + steps * alpha).sum())
            - lgamma(theta + rows)
            + lgamma(theta + 1)
            + sum(times * (lgamma(c - alpha) - lgamma(1 - alpha)) for c, times in alike)
        )

    grid = [(10 ** (place / 20) - alpha, alpha) for place in range(-60, 80) for alpha in np.arange(0, 0.99, 0.02)]
    theta, alpha = max(grid, key=lambda each: likelihood(*each))
    share = exp(lgamma(theta + 1) - lgamma(theta + alpha) + (alpha - 1) * log(people))
    assert pitman(*sizes(counts), 0.01) == pytest.approx(share, rel=0.3)


def test_where_pitman_has_no_fit_zayatz_answers() -> None:
    assert pitman(*sizes([1] * 9), 0.1) is None
    assert population_uniques(np.array([1] * 9), 0.1)["estimator"] == "zayatz"


@pytest.mark.parametrize("fraction", [0.0, -1.0, 1.5])
def test_a_fraction_that_is_none(fraction: float) -> None:
    with pytest.raises(ValueError, match="sampling fraction"):
        population_uniques(np.array([1]), fraction)


@pytest.mark.parametrize("fraction", [1e-6, 0.05, 0.1, 0.5, 0.999])
def test_a_share_is_a_share(fraction: float) -> None:
    found = population_uniques(np.array([1] * 40 + [2] * 20 + [3] * 9 + [70]), fraction)
    assert 0 <= found["uniques"] <= 1


# --- journalist -------------------------------------------------------------------------------------------------------

SPEC = Spec(version=1, quasi_identifiers={"q": QuasiIdentifier()})
CELL = st.sampled_from(["a", "b", "c", None])


def text(values: Sequence[str | None], units: list[str] | None = None) -> Text:
    frame = pl.DataFrame({"q": values}, schema={"q": pl.String}).lazy()
    return Text(frame, [["q"]], SPEC, Missing(), None if units is None else pl.Series(units))


def journalist(table: Text, population: Text, threshold: float) -> dict[str, Any]:
    people = People(population.frame, [Shown("q", ["q"], False, None)], CellTemplates())
    return measured(table, people, threshold)


def test_by_hand() -> None:
    found = journalist(text(["a", "a", "b"]), text(["a"] * 10 + ["b"] * 4 + ["c"]), 0.2)
    assert (found["population"], found["absent"]) == (15, 0)
    assert found["journalist_max"] == 1 / 4 and found["records_at_risk"] == 1 / 3
    assert found["marketer"] == pytest.approx((2 / 10 + 1 / 4) / 3)


def test_the_table_is_its_own_population() -> None:
    found = journalist(text(["a", "a", "b"]), text(["a", "a", "b"]), 0.2)
    assert found["journalist_max"] == 1.0 and found["marketer"] == pytest.approx(2 / 3)


def test_who_is_not_in_the_population_is_told() -> None:
    found = journalist(text(["a", "x", "x"]), text(["a"]), 0.2)
    assert found["absent"] == 2 and found["journalist_max"] == 1.0
    assert journalist(text(["x"]), text(["a"]), 0.2)["journalist_max"] == 0.0


def test_persons_are_counted() -> None:
    found = journalist(text(["a", "a", "b"], ["one", "one", "one"]), text(["a"] * 4 + ["b"] * 2), 0.2)
    assert found["marketer"] == pytest.approx((1 / 4 + 1 / 2) / 2)


def test_labels_have_people_under_them() -> None:
    tree = {"a": ("a", "vowel", "*"), "e": ("e", "vowel", "*"), "b": ("b", "other", "*")}
    everybody = pl.DataFrame({"q": ["a", "e", "e", "b"]}).lazy()
    people = People(everybody, [Shown("q", ["q"], False, tree)], CellTemplates())
    found = measured(text(["vowel", "vowel", "*"]), people, 0.2)
    assert (found["journalist_max"], found["absent"]) == (1 / 3, 0)
    assert found["marketer"] == pytest.approx((2 / 3 + 1 / 4) / 3)


@given(st.lists(CELL, min_size=1, max_size=20), st.lists(CELL, max_size=20))
def test_the_same_as_counting(sample: list[str | None], rest: list[str | None]) -> None:
    cells, whole = ([cell or "" for cell in each] for each in (sample, sample + rest))
    found = journalist(text(sample), text(sample + rest), 0.3)
    sizes = [whole.count(cell) for cell in cells]
    assert found["journalist_max"] == 1 / min(sizes) and found["absent"] == 0
    assert found["marketer"] == pytest.approx(sum(1 / size for size in sizes) / len(sizes))
    assert found["records_at_risk"] == sum(1 / size > 0.3 for size in sizes) / len(sizes)


# --- loglinear --------------------------------------------------------------------------------------------------------


def frequency(codes: Ints) -> TextFrequencySet:
    names = [f"q{number}" for number in range(codes.shape[1])]
    frame = pl.DataFrame(codes.astype(str), schema=names, orient="row")
    return TextFrequencySet.of(frame, [[name] for name in names])


def by_hand(codes: Ints, means: dict[tuple[int, ...], float], fraction: float) -> tuple[float, float, float]:
    """tau1, tau2 and the fit, cell by cell."""
    counts = {cell: int((codes == cell).all(axis=1).sum()) for cell in means}
    beside = [means[cell] * (1 - fraction) / fraction for cell, count in counts.items() if count == 1]
    squares = sum(mean**2 for mean in means.values())
    spread = sum((counts[cell] - mean) ** 2 - counts[cell] for cell, mean in means.items())
    return sum(np.exp(-v) for v in beside), sum((1 - np.exp(-v)) / v for v in beside), spread / squares


def drawn(rows: int = 40) -> Ints:
    generator = np.random.default_rng(4)
    first = generator.integers(0, 5, rows)
    return np.column_stack([first, (first + generator.integers(0, 2, rows)) % 4, generator.integers(0, 3, rows)])


def test_main_effects_are_products_of_shares() -> None:
    codes = drawn()
    shares = [np.bincount(column) / len(codes) for column in codes.T]
    cells = product(*(range(len(each)) for each in shares))
    means = {cell: len(codes) * float(np.prod([s[c] for s, c in zip(shares, cell, strict=True)])) for cell in cells}
    risk = global_risk(frequency(codes), "main", 0.2)
    assert (risk["population_uniques"], risk["correct_matches"], risk["fit"]) == pytest.approx(
        by_hand(codes, means, 0.2)
    )
    assert risk["uniques"] == sum((codes == cell).all(axis=1).sum() == 1 for cell in means)


def test_pairs_of_two_attributes_are_the_counts_themselves() -> None:
    codes = drawn()[:, :2]
    cells = {tuple(cell): float((codes == cell).all(axis=1).sum()) for cell in codes.tolist()}
    risk = global_risk(frequency(codes), "pairs", 0.25)
    assert (risk["population_uniques"], risk["correct_matches"], risk["fit"]) == pytest.approx(
        by_hand(codes, cells, 0.25)
    )


def test_pairs_fit_what_goes_together() -> None:
    codes = drawn(400)
    main, pairs = (global_risk(frequency(codes), terms, 0.1) for terms in ("main", "pairs"))
    assert abs(pairs["fit"]) < 0.1 < main["fit"]


def test_pairs_keep_every_two_way_table() -> None:
    codes = drawn()
    counted = frequency(codes)
    means, _ = room._of_pairs(counted)
    assert len(means) == len(counted.counts) and (means > 0).all()
    independent = global_risk(frequency(np.array([*product(range(3), range(3), range(3))])), "pairs", 0.5)
    assert independent["population_uniques"] == pytest.approx(27 * np.exp(-1)) and independent["fit"] == pytest.approx(
        -1
    )


def test_the_whole_population_and_bounds() -> None:
    codes = drawn()
    whole = global_risk(frequency(codes), "main", 1.0)
    assert whole["population_uniques"] == whole["correct_matches"] == whole["uniques"]
    some = global_risk(frequency(codes), "main", 0.3)
    assert 0 < some["population_uniques"] < some["correct_matches"] < some["uniques"]
    assert global_risk(frequency(codes[:, :1]), "pairs", 0.3)["terms"] == "pairs"
    assert global_risk(frequency(codes[:0]), "main", 0.3)["fit"] is None


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for fraction in (0.0, 1.5):
        with pytest.raises(ValueError, match="above 0 and at most 1"):
            global_risk(frequency(drawn()), "main", fraction)
    monkeypatch.setattr(room, "FITTED_CELLS", 10)
    with pytest.raises(ValueError, match="at most 10 cells"):
        global_risk(frequency(drawn()), "pairs", 0.5)
