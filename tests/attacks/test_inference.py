"""Attackers who guess a sensitive value: they find what is planted, and nothing where there is nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from anonymize.attacks import Scene, inference
from anonymize.attacks.inference import offered
from anonymize.attacks.methods import CERTAIN, guessed, prior, right
from anonymize.domain import LeafSets
from tests.attacks.scenes import of_rows, random_scene
from tests.attacks.test_linking import asked


@pytest.mark.parametrize("seed", range(3))
def test_the_majority_is_that_of_the_rows_that_could_be_the_persons(seed: int) -> None:
    scene = random_scene(seed)
    (success,) = inference.Majority.attack(scene)
    release, people = scene.release, scene.everybody
    for person, hit in enumerate(success.hits):
        spans = [(release.first[each], release.last[each]) for each in release.class_of]
        inside = [all(low <= people.codes[person]) and all(people.codes[person] <= high) for low, high in spans]
        weight = np.zeros(3)
        for row in np.flatnonzero(inside):
            weight[release.values["ill"][row]] += 1 / np.prod(spans[row][1] - spans[row][0] + 1)
        best = np.flatnonzero(weight >= weight.max() - 1e-9)
        assert hit == pytest.approx((people.values["ill"][person] in best) / len(best))


def test_a_homogeneous_class_is_found() -> None:
    draw = np.random.default_rng(0)
    group = np.repeat(np.arange(10), 20)
    values = np.where(group == 4, 2, draw.choice(3, 200, p=[0.6, 0.3, 0.1]))
    codes, spans = group[:, None], np.stack([group, group], axis=1)[:, None, :]
    (success,) = inference.Certain.attack(of_rows(codes, spans, values, (10,)))
    assert success.hits[group == 4].tolist() == [1] * 20
    assert success.figures["weap"] == pytest.approx(0.1) and success.figures["tcap"] == 1
    assert success.excess is not None and success.excess.low > 0


def test_what_all_classes_tell_is_used_within_one() -> None:
    # The first half shows how codes and values go together; the second hides it in pairs that have both values.
    draw = np.random.default_rng(0)
    values = np.tile([0, 1], 200)
    codes = np.stack([values * 2 + draw.integers(0, 2, 400), np.arange(400) // 2], axis=1)
    spans = np.stack([codes, codes], axis=2)
    spans[200:, 0] = [0, 3]
    scene = of_rows(codes, spans, values, (4, 200))
    (plain,), (learned,) = inference.Majority.attack(scene), inference.Bayes.attack(scene)
    assert plain.hits[200:].mean() == 0.5 and learned.hits[200:].mean() == 1


@pytest.mark.parametrize("attacker", [inference.Majority(), inference.Certain(), inference.Bayes()])
def test_all_suppressed_tells_nothing(attacker: object) -> None:
    draw = np.random.default_rng(2)
    spans = np.broadcast_to([0, 5], (300, 2, 2))
    scene = of_rows(draw.integers(0, 6, (300, 2)), spans, draw.choice(3, 300, p=[0.5, 0.3, 0.2]), (6, 6))
    (success,) = attacker.attack(scene)  # type: ignore[attr-defined]
    assert success.hits.tolist() == success.baseline.tolist()


@pytest.mark.parametrize("attacker", [inference.Majority(), inference.Bayes()])
def test_what_holds_for_others_too_is_no_excess(attacker: object) -> None:
    draw = np.random.default_rng(3)
    codes = draw.integers(0, 4, (2000, 1))
    values = np.where(draw.random(2000) < 0.9, codes[:, 0] // 2, 1 - codes[:, 0] // 2)
    own = of_rows(codes[:1000], np.repeat(codes[:1000], 2, axis=1)[:, None, :], values[:1000], (4,))
    others = of_rows(codes[1000:], np.repeat(codes[1000:], 2, axis=1)[:, None, :], values[1000:], (4,)).everybody
    (alone,) = attacker.attack(own)  # type: ignore[attr-defined]
    (beside,) = attacker.attack(replace(own, control=others))  # type: ignore[attr-defined]
    assert alone.excess.low > 0.6 and beside.excess.low < 0 < beside.excess.high


def test_missing_values_are_neither_guessed_nor_counted() -> None:
    scene = random_scene(1)
    values = np.where(np.arange(40) < 10, -1, scene.targets.values["ill"])
    scene = replace(scene, targets=replace(scene.targets, values={"ill": values}))
    assert len(inference.Majority.attack(scene)[0].hits) == 30


def test_ties_are_broken_at_random() -> None:
    assert right(np.array([[0.5, 0.5, 0.0]]), np.array([1])).tolist() == [0.5]


# --- homogeneity retained ---------------------------------------------------------------------------------------------


def keeping(scene: Scene) -> Scene:
    """The same scene, in which the values are those of a kept column."""
    return replace(scene, sensitive={}, kept=lambda: scene)


def in_classes(values: np.ndarray) -> Scene:
    """`values` (classes, people of each); everybody of a class shows its number."""
    codes = np.repeat(np.arange(len(values)), values.shape[1])[:, None]
    return keeping(of_rows(codes, np.stack([codes, codes], axis=2), values.ravel(), (len(values),)))


def test_a_value_that_all_of_a_class_have_is_named() -> None:
    values = np.array([[1] * 5, [0] * 5, [0, 0, 0, 0, 2], [0, 1, 2, 0, 0]])
    (success,) = inference.RetainedHomogeneity.attack(in_classes(values))
    assert success.figures == {"named": 0.5} and success.about == "ill"
    assert success.hits.reshape(4, 5).tolist() == [[1] * 5, [1] * 5, [1, 1, 1, 1, 0], [1, 0, 0, 1, 1]]
    assert success.baseline.sum() == (values == 0).sum()


def test_where_no_class_is_homogeneous_nothing_is_learned() -> None:
    (success,) = inference.RetainedHomogeneity.attack(in_classes(np.array([[0, 0, 1], [1, 0, 0]])))
    assert success.hits.tolist() == success.baseline.tolist() and success.figures == {"named": 0.0}
    assert inference.RetainedHomogeneity.attack(random_scene(0)) == []


@pytest.mark.parametrize("seed", range(5))
def test_he_is_as_certain_as_the_shares_that_are_offered(seed: int) -> None:
    scene = random_scene(seed, spread=1)
    (success,) = inference.RetainedHomogeneity.attack(keeping(scene))
    (shares,) = offered(scene, "ill")
    common = np.bincount(scene.release.values["ill"]).argmax()
    guess = np.where(shares.max(axis=1) >= CERTAIN, shares.argmax(axis=1), common)
    assert success.hits.tolist() == (guess == scene.targets.values["ill"]).tolist()
    assert success.figures["named"] == (shares.max(axis=1) >= CERTAIN).mean()


def test_missing_values_are_no_values() -> None:
    values = np.array([[1] * 5, [-1] * 5, [0, 1, 0, -1, 0]])
    (success,) = inference.RetainedHomogeneity.attack(in_classes(values))
    assert len(success.hits) == 9 and success.figures["named"] == pytest.approx(5 / 9)


# --- from files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["insensitive", "target"])
@pytest.mark.parametrize(("named", "satisfied"), [((), None), (("homogeneity-retained",), False)])
def test_kept_columns_are_read_and_a_limit_is_about_him_where_he_is_named(
    tmp_path: Any, role: str, named: tuple[str, ...], satisfied: bool | None
) -> None:
    request = asked(tmp_path, role, max_excess=0.5, attackers=named)
    people = [f"{20 + 20 * (row % 2)},{'ab'[row % 2]},x\n" for row in range(40)]
    released = [f"{'[10-30]' if row % 2 == 0 else '[35-60]'},{'ab'[row % 2]},x\n" for row in range(40)]
    for name, lines in {"people.csv": people, "released.csv": released}.items():
        (tmp_path / name).write_text("".join(["age,ward,ill\n", *lines]))
    from anonymize._attack import attack

    results = attack(request).report["attacks"]["results"]
    (own,) = [each for each in results if each["attacker"] == "homogeneity-retained"]
    assert (own["about"], own["rate"]["value"], own["figures"]["named"]) == ("ward", 1, 1)
    assert own["baseline"]["value"] == 0.5 and own["satisfied"] is satisfied


# --- learned ----------------------------------------------------------------------------------------------------------


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
    (model,), (plain,) = inference.ModelAttacker.attack(scene), inference.Majority.attack(scene)
    assert model.excess is not None and model.excess.low > 0.4
    assert model.hits.mean() >= plain.hits.mean() - 0.02


def test_learned_what_holds_for_others_too_is_no_excess() -> None:
    scene, others = _tied(1, 0.1), _tied(2, 0.1).everybody
    (success,) = inference.ModelAttacker.attack(replace(scene, control=others))
    assert success.excess is not None and success.excess.low < 0 < success.excess.high


def test_the_model_is_the_one_of_an_outside_library() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    draw = np.random.default_rng(3)
    features, labels = draw.normal(size=(300, 4)), draw.integers(0, 3, 300)
    (own,) = inference._predicted(features, sparse.csr_array(np.eye(3)[labels]), [features], np.zeros(3))
    model = linear_model.LogisticRegression(C=1.0, max_iter=1000, fit_intercept=False)
    model.fit(np.hstack([features, np.ones((300, 1))]), labels)
    outside = model.predict_proba(np.hstack([features, np.ones((300, 1))]))
    assert own == pytest.approx(outside, abs=5e-3)


def test_all_suppressed_teaches_nothing() -> None:
    draw = np.random.default_rng(4)
    spans, values = np.broadcast_to([0, 5], (400, 2, 2)), draw.choice(3, 400, p=[0.5, 0.3, 0.2])
    (success,) = inference.ModelAttacker.attack(of_rows(draw.integers(0, 6, (400, 2)), spans, values, (6, 6)))
    assert success.hits.tolist() == success.baseline.tolist()


def test_wide_domains_are_parted_into_bins_alike() -> None:
    draw = np.random.default_rng(5)
    codes = draw.integers(0, 1000, (500, 1))
    scene = of_rows(codes, np.stack([codes, codes], axis=2), draw.integers(0, 2, 500), (1000,))
    parted = inference.PartedColumn.of(scene, 0)
    assert len(parted.share) == inference.BINS and parted.share.min() > 0.5 / inference.BINS
    whole = parted.spanned(LeafSets(np.array([0]), np.array([999])))
    assert whole == pytest.approx(np.zeros((1, inference.BINS)))


def test_one_value_is_all_that_can_be_predicted() -> None:
    codes = np.arange(10)[:, None]
    (success,) = inference.ModelAttacker.attack(
        of_rows(codes, np.stack([codes, codes], axis=2), np.zeros(10, int), (10,))
    )
    assert success.hits.tolist() == [1.0] * 10 and success.excess is not None and success.excess.high == 0


def test_figures_of_ten_rows_are_those_computed_by_hand() -> None:
    # Ten people in classes {0: four times value 0}, {1: 0, 0, 1}, {2: 1, 1, 2}: the published definitions, as R's
    # riskutility has them, over classes in place of synthetic rows with equal keys.
    codes = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])[:, None]
    values = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 2])
    scene = of_rows(codes, np.stack([codes, codes], axis=2), values, (3,))
    (success,) = inference.Majority.attack(scene)
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
