"""Attackers who guess a sensitive value: they find what is planted, and nothing where there is nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from anonymize.attacks import bayes, certain, majority
from anonymize.attacks.methods import right
from tests.attacks.scenes import of_rows, random_scene


@pytest.mark.parametrize("seed", range(3))
def test_the_majority_is_that_of_the_rows_that_could_be_the_persons(seed: int) -> None:
    scene = random_scene(seed)
    (success,) = majority.attack(scene)
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
    (success,) = certain.attack(of_rows(codes, spans, values, (10,)))
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
    (plain,), (learned,) = majority.attack(scene), bayes.attack(scene)
    assert plain.hits[200:].mean() == 0.5 and learned.hits[200:].mean() == 1


@pytest.mark.parametrize("attacker", [majority, certain, bayes])
def test_all_suppressed_tells_nothing(attacker: object) -> None:
    draw = np.random.default_rng(2)
    spans = np.broadcast_to([0, 5], (300, 2, 2))
    scene = of_rows(draw.integers(0, 6, (300, 2)), spans, draw.choice(3, 300, p=[0.5, 0.3, 0.2]), (6, 6))
    (success,) = attacker.attack(scene)  # type: ignore[attr-defined]
    assert success.hits.tolist() == success.baseline.tolist()


@pytest.mark.parametrize("attacker", [majority, bayes])
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
    assert len(majority.attack(scene)[0].hits) == 30


def test_ties_are_broken_at_random() -> None:
    assert right(np.array([[0.5, 0.5, 0.0]]), np.array([1])).tolist() == [0.5]
