"""A model trained on the release: what it learns, what it cannot, and the figures that come with a guess."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from anonymize.attacks import Scene, learned, majority
from anonymize.attacks.methods import guessed, prior
from anonymize.domain.leafsets import LeafSets
from tests.attacks.scenes import of_rows


def _tied(seed: int, noise: float, count: int = 1200) -> Scene:
    """A value that follows from the sum of two codes; classes of whole columns or of single codes."""
    draw = np.random.default_rng(seed)
    codes = draw.integers(0, 6, (count, 2))
    values = np.where(draw.random(count) < noise, draw.integers(0, 2, count), (codes.sum(axis=1) > 5).astype(int))
    spans = np.stack([codes, codes], axis=2)
    hidden = draw.random(count) < 0.5
    spans[hidden, 0] = [0, 5]
    spans[~hidden, 1] = [0, 5]
    return of_rows(codes, spans, values, (6, 6))


def test_what_single_columns_tell_is_put_together() -> None:
    scene = _tied(0, 0.1)
    (model,), (plain,) = learned.attack(scene), majority.attack(scene)
    assert model.excess is not None and model.excess.low > 0.4
    assert model.hits.mean() >= plain.hits.mean() - 0.02


def test_what_holds_for_others_too_is_no_excess() -> None:
    scene, others = _tied(1, 0.1), _tied(2, 0.1).everybody
    (success,) = learned.attack(replace(scene, control=others))
    assert success.excess is not None and success.excess.low < 0 < success.excess.high


def test_the_model_is_the_one_of_an_outside_library() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    draw = np.random.default_rng(3)
    features, labels = draw.normal(size=(300, 4)), draw.integers(0, 3, 300)
    weights = learned._fitted(features, np.eye(3)[labels])
    model = linear_model.LogisticRegression(C=1.0, max_iter=1000, fit_intercept=False)
    model.fit(np.hstack([features, np.ones((300, 1))]), labels)
    outside = model.predict_proba(np.hstack([features, np.ones((300, 1))]))
    assert learned._chances(features, weights) == pytest.approx(outside, abs=5e-3)


def test_all_suppressed_teaches_nothing() -> None:
    draw = np.random.default_rng(4)
    spans, values = np.broadcast_to([0, 5], (400, 2, 2)), draw.choice(3, 400, p=[0.5, 0.3, 0.2])
    (success,) = learned.attack(of_rows(draw.integers(0, 6, (400, 2)), spans, values, (6, 6)))
    assert success.hits.tolist() == success.baseline.tolist()


def test_wide_domains_are_parted_into_bins_alike() -> None:
    draw = np.random.default_rng(5)
    codes = draw.integers(0, 1000, (500, 1))
    scene = of_rows(codes, np.stack([codes, codes], axis=2), draw.integers(0, 2, 500), (1000,))
    parted = learned.PartedColumn.of(scene, 0)
    assert len(parted.share) == learned.BINS and parted.share.min() > 0.5 / learned.BINS
    whole = parted.spanned(LeafSets(np.array([0]), np.array([999])))
    assert whole == pytest.approx(np.zeros((1, learned.BINS)))


def test_one_value_is_all_that_can_be_predicted() -> None:
    codes = np.arange(10)[:, None]
    (success,) = learned.attack(of_rows(codes, np.stack([codes, codes], axis=2), np.zeros(10, int), (10,)))
    assert success.hits.tolist() == [1.0] * 10 and success.excess is not None and success.excess.high == 0


def test_figures_of_ten_rows_are_those_computed_by_hand() -> None:
    # Ten people in classes {0: four times value 0}, {1: 0, 0, 1}, {2: 1, 1, 2}: the published definitions, as R's
    # riskutility has them, over classes in place of synthetic rows with equal keys.
    codes = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])[:, None]
    values = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 2])
    scene = of_rows(codes, np.stack([codes, codes], axis=2), values, (3,))
    (success,) = majority.attack(scene)
    figures = success.figures
    # CAP of each: the share of its own value in its class; 4 x 1, 2/3, 2/3, 1/3, 2/3, 2/3, 1/3.
    assert figures["dcap"] == pytest.approx((4 + 4 * 2 / 3 + 2 / 3) / 10)
    # Without the release: 6 of 10, 3 of 10, 1 of 10.
    assert figures["dcap_baseline"] == pytest.approx((6 * 0.6 + 3 * 0.3 + 0.1) / 10)
    # Only the first class is of one value (WEAP of 1), and of its four people all have it (TCAP).
    assert figures["weap"] == pytest.approx(0.4) and figures["tcap"] == 1
    # (p - b) / (1 - b): (1 - 0.6) / 0.4 = 1; (2/3 - 0.6) / 0.4 = 1/6; (1/3 - 0.3) / 0.7; (2/3 - 0.3) / 0.7 = 0.52;
    # (1/3 - 0.1) / 0.9 = 0.26. Above 0.3 are the four, and the two of value 1 in the last class.
    assert figures["rapid"] == pytest.approx(0.6)


def test_where_nothing_is_left_to_gain_nobody_is_at_risk() -> None:
    before = prior(of_rows(np.zeros((3, 1), int), np.zeros((3, 1, 2), int), np.zeros(3, int), (1,)).release, "ill", 1)
    assert guessed([np.ones((3, 1))], [np.zeros(3, int)], before, "ill").figures["rapid"] == 0
