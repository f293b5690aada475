"""Numbers that were changed, against counting by hand and what sdcMicro computes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from anonymize.attacks import Scene, distances
from anonymize.attacks.distances import (
    comparable,
    intervals,
    nearest,
    one_to_one,
    robust_distances,
    robust_intervals,
)
from anonymize.classes import Floats
from anonymize.treatments.grouping import mdav
from tests.attacks.scenes import of_rows, random_scene
from tests.treatments.tarragona import needs_tarragona, oracle, tarragona


def drawn(rows: int = 60, columns: int = 3) -> Floats:
    return np.random.default_rng(1).normal(size=(rows, columns)) * [1.0, 100.0, 0.01][:columns]


def chances(original: Floats, released: Floats, *, ranks: bool = False) -> Floats:
    return nearest(*comparable(original, released, ranks=ranks), np.arange(len(original)))


def test_everybody_is_linked_by_unchanged_numbers_and_nobody_by_shuffled_ones() -> None:
    original = drawn()
    assert chances(original, original).tolist() == [1.0] * len(original)
    assert chances(original, np.random.default_rng(2).permutation(original)).mean() < 0.1
    assert one_to_one(original, original).tolist() == [1.0] * len(original)


def test_the_nearest_of_each_against_all_distances() -> None:
    original = drawn()
    released = original + np.random.default_rng(3).normal(size=original.shape) * original.std(axis=0)
    known, shown = comparable(original, released)
    distances = np.linalg.norm(known[:, None] - shown[None], axis=2)
    assert chances(original, released).tolist() == (distances.argmin(axis=1) == np.arange(len(original))).tolist()


def test_rows_that_read_the_same_are_equally_likely() -> None:
    original = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    released = np.repeat([[1.0], [11.0]], 3, axis=0)
    assert chances(original, released).tolist() == pytest.approx([1 / 3] * 6)
    assert one_to_one(original, released).tolist() == pytest.approx([1 / 3] * 6)


def test_ranks_are_what_is_left_of_a_monotone_change() -> None:
    original = np.exp(drawn(40, 2) / [1, 100])
    assert chances(original, original**3, ranks=True).mean() == 1.0
    assert intervals(original, original**3, 0.01) < 0.5


def test_some_people_and_columns_without_spread() -> None:
    original = np.column_stack([drawn(20, 1), np.full(20, 7.0)])
    assert nearest(*comparable(original, original + np.array([0, 5])), np.array([3, 4])).tolist() == [1, 1]
    assert chances(original[:, 1:], original[:, 1:]).tolist() == [1 / 20] * 20
    assert len(chances(original[:0], original[:0])) == 0 and intervals(original[:0], original[:0]) == 0.0


def test_intervals_hold_every_value_of_a_row() -> None:
    released = np.array([[0.0, 0.0], [10.0, 10.0], [20.0, 20.0]])  # standard deviation 10
    original = released + np.array([[0.4, 0.6], [0.5, 0.5], [0.0, -0.4]])
    assert intervals(original, released) == pytest.approx(2 / 3)
    assert intervals(original, released, 0.01) == 0.0 and intervals(original, released, 0.1) == 1.0


def test_the_robust_distance_of_outliers_is_not_hidden_by_themselves() -> None:
    original = np.vstack([drawn(200, 2) / [1, 100], np.full((20, 2), 50.0)])
    robust = robust_distances(original)
    apart = original - original.mean(axis=0)
    classical = np.sqrt(np.einsum("ij,jk,ik->i", apart, np.linalg.pinv(np.cov(original.T)), apart))
    assert robust[200:].min() > 5 * classical[200:].max() > 5 * 2


def test_robust_distances_where_most_rows_are_alike_or_columns_follow_from_others() -> None:
    base = drawn(60, 1)
    collinear = robust_distances(np.column_stack([base, 2 * base]))
    assert collinear == pytest.approx(robust_distances(base), rel=0.1)  # but for how many normal rows are typical
    zeros = np.column_stack([np.where(np.arange(60) < 50, 0.0, base[:, 0]), base[:, 0]])
    assert np.isfinite(robust_distances(zeros)).all() and robust_distances(zeros)[50:].mean() > 1
    assert np.isfinite(robust_distances(zeros[:, :1])).all()


def test_intervals_grow_with_the_distance_and_neighbours_hide_a_row() -> None:
    original = np.append(np.linspace(-1, 1, 99), 30.0)[:, None]
    kept = robust_intervals(original, original)
    assert (kept["robust"], kept["robust_apart"]) == (1.0, 1 / 100)  # the others lie close to each other
    moved = np.append(np.roll(original[:99, 0], 30), 29.9)[:, None]
    measured = robust_intervals(original, moved)
    assert measured["robust"] == measured["robust_apart"] == 1 / 100  # the outlier's interval alone is that wide
    assert measured["weighted"] == measured["weighted_apart"] > 0
    nothing = dict.fromkeys(kept, 0.0)
    assert robust_intervals(original[:1], original[:1]) == nothing == robust_intervals(original * 0, original)


# --- the attacker ----------------------------------------------------------------------------------------------------


def numbered_scene(original: Floats, released: Floats) -> Scene:
    """People whose row n is released as row n, with numbers."""
    rows = len(original)
    codes = np.zeros((rows, 1), int)
    scene = of_rows(codes, np.zeros((rows, 1, 2), int), np.zeros(rows, int), (1,))
    return replace(scene, numbers=lambda: (original, released))


def test_numbers_with_little_noise_give_people_away_and_shuffled_ones_do_not() -> None:
    original = drawn(200)
    (leak,) = distances.DistanceLinkage.attack(numbered_scene(original, original * 1.0001))
    assert leak.hits.mean() == 1.0 and leak.baseline.tolist() == [1 / 200] * 200 and leak.complete
    assert float(leak.figures["robust"] or 0) > 0.9
    assert leak.figures["columns"] == 3 and leak.figures["intervals"] == 1.0 == leak.figures["one_to_one"]
    many = drawn(distances.MOST_LINKED + 1, 1)
    assert "one_to_one" not in distances.DistanceLinkage.attack(numbered_scene(many, many * 1.0001))[0].figures
    shuffled = np.random.default_rng(5).permutation(original, axis=0)
    (nothing,) = distances.DistanceLinkage.attack(numbered_scene(original, shuffled))
    assert nothing.excess is not None and nothing.excess.value < 0.05


def test_the_better_way_counts() -> None:
    original = np.exp(drawn(50, 1))
    (success,) = distances.DistanceLinkage.attack(numbered_scene(original, original**5))
    assert success.figures["ranks"] == 1.0 == success.hits.mean() > float(success.figures["standardized"] or 0)


def test_rows_that_lack_a_number_are_left_out() -> None:
    original = drawn(20)
    released = original.copy()
    released[3, 1] = np.nan
    (success,) = distances.DistanceLinkage.attack(numbered_scene(original, released))
    assert len(success.hits) == 19 and success.hits.mean() == 1.0


def test_nobody_is_attacked_without_changed_numbers_or_links() -> None:
    scene = random_scene(1)
    assert distances.DistanceLinkage.attack(scene) == []
    unlinked = random_scene(1, linked=False)
    assert distances.DistanceLinkage.attack(replace(unlinked, numbers=lambda: (drawn(40), drawn(40)))) == []


# --- sdcMicro --------------------------------------------------------------------------------------------------------


def masked(values: Floats, k: int) -> Floats:
    """Means of groups by MDAV, of columns that are standardized."""
    groups = np.asarray(mdav((values - values.mean(axis=0)) / values.std(axis=0, ddof=1), k))
    sizes = np.bincount(groups)
    return np.stack([np.bincount(groups, column) / sizes for column in values.T], axis=1)[groups]


@needs_tarragona
@pytest.mark.parametrize("k", [3, 5, 10])
def test_intervals_are_those_of_sdcmicro(k: int) -> None:
    _, values = tarragona()
    theirs = oracle("microaggregation_tarragona")["runs"][f"tarragona_mdav_k{k}"]
    for width, name in ((0.01, "dRisk_k001"), (0.05, "dRisk_k005"), (0.1, "dRisk_k010")):
        assert intervals(values, masked(values, k), width) == pytest.approx(theirs[name], abs=1e-9)


@needs_tarragona
def test_robust_intervals_are_those_of_sdcmicro() -> None:
    """Where the intervals are so wide that no row is safe, the weighted figure is the sum of the distances; that the
    narrower ones of the default leave no row safe, as the oracle has it, does not follow from sdcMicro's source. The
    robust estimate starts from random rows, and R corrects it for small samples in addition."""
    _, values = tarragona()
    theirs = oracle("microaggregation_tarragona")["runs"]["tarragona_mdav_k3"]["dRiskRMD_seed1"]
    measured = robust_intervals(values, masked(values, 3), 1.0)
    assert (measured["robust"], measured["robust_apart"]) == (theirs["risk1"], theirs["risk2"])
    assert measured["weighted"] == pytest.approx(theirs["wrisk1"], rel=0.03)
    assert measured["weighted_apart"] == theirs["wrisk2"] == 0


@needs_tarragona
@pytest.mark.parametrize("k", [3, 5, 10])
def test_rows_are_linked_one_to_one_no_better_than_by_sdcmicro(k: int) -> None:
    """The matches that sdcMicro counts as correct are more than the chances here: its solver gives out rows that read
    the same in the order of the table, and no attacker knows that order."""
    _, values = tarragona()
    known = values[:200]
    known = (known - known.mean(axis=0)) / known.std(axis=0, ddof=1)
    theirs = oracle("recordlinkage")["results"][f"k{k}_euclidean"]
    assert one_to_one(known, masked(known, k)).mean() <= 1 / k < theirs["correct_match_rate"] + 1 / k
