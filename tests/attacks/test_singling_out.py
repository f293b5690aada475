"""Singling out: conditions are counted as brute force counts them, and isolate whom they should."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from anonymize.attacks import TargetPeople, downcoding, singling_out, univariate
from anonymize.attacks.methods import by_chance
from tests.attacks.scenes import of_rows, random_scene


def test_by_chance_is_the_binomial_figure() -> None:
    assert by_chance(np.array([0.0, 0.1, 1.0]), 10).tolist() == pytest.approx([0, 10 * 0.1 * 0.9**9, 0])
    assert by_chance(np.array([1e-4]), 10_000)[0] == pytest.approx(np.exp(-1), abs=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_a_row_singles_out_whoever_alone_lies_under_it(seed: int) -> None:
    scene = random_scene(seed, spread=1)
    (success,) = singling_out.attack(scene)
    release, people = scene.release, scene.everybody
    for row, hit in enumerate(success.hits):
        which = release.class_of[row]
        inside = ((release.first[which] <= people.codes) & (people.codes <= release.last[which])).all(axis=1)
        assert hit == ((inside & (people.values["ill"] == release.values["ill"][row])).sum() == 1)
    assert 0 < success.hits.mean() < 1


def test_an_outermost_value_that_is_shown_is_found() -> None:
    codes = np.concatenate([np.repeat(np.arange(9), 10), [9]])[:, None]
    spans = np.stack([codes, codes], axis=2)
    leaking = of_rows(codes, spans, np.zeros(91, int), (10,))
    (success,) = univariate.attack(leaking)
    assert success.figures["isolating"] == 1 and success.excess is not None and success.excess.low > 0
    spans[-11:] = [8, 9]
    assert univariate.attack(of_rows(codes, spans, np.zeros(91, int), (10,)))[0].figures["isolating"] == 0


def test_a_rare_sensitive_value_is_found() -> None:
    codes = np.zeros((50, 1), int)
    scene = of_rows(codes, np.zeros((50, 1, 2), int), np.append(np.zeros(49, int), 1), (1,))
    assert univariate.attack(scene)[0].figures["isolating"] == 1


def test_all_suppressed_isolates_nobody() -> None:
    draw = np.random.default_rng(0)
    spans = np.broadcast_to([0, 5], (300, 2, 2))
    scene = of_rows(draw.integers(0, 6, (300, 2)), spans, draw.integers(0, 3, 300), (6, 6))
    for attacker in (univariate, singling_out):
        (success,) = attacker.attack(scene)
        assert not success.hits.any() and success.excess is not None and success.excess.high < 0.02


def _dependent(draw: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """People whose two codes hardly differ."""
    first = draw.integers(0, 300, count)
    return np.stack([first, np.clip(first + draw.integers(-2, 3, count), 0, 299)], axis=1), draw.integers(0, 3, count)


@pytest.mark.parametrize("attacker", [singling_out, downcoding])
def test_a_release_of_other_people_tells_nothing(attacker: Any) -> None:
    """Conditions that are narrow in columns that depend on each other are met by somebody more often than by chance,
    with the release or without it; people outside of it show how often."""
    draw = np.random.default_rng(3)
    (shown, ill), (codes, theirs), (others, own) = (_dependent(draw, 400) for _ in range(3))
    spans = np.stack([shown // 2 * 2, shown // 2 * 2 + 1], axis=2)
    scene = of_rows(shown, spans, ill, (300, 300))
    people = TargetPeople(codes, {"ill": theirs})
    alone = replace(scene, everybody=people)
    (by_chance_alone,) = attacker.attack(alone)
    assert by_chance_alone.excess is not None and by_chance_alone.excess.value > 0.15
    (success,) = attacker.attack(replace(alone, outsiders=TargetPeople(others, {"ill": own})))
    assert success.control is not None and len(success.control) == len(success.hits)
    assert success.excess is not None and success.excess.low < 0 < success.excess.high


def test_as_many_outsiders_are_asked_as_people_of_the_original() -> None:
    """Of twice as many people a condition isolates somebody half as often: then the control would be no measure."""
    draw = np.random.default_rng(4)
    scene = random_scene(0)
    many = TargetPeople(draw.integers(0, 6, (400, 2)), {"ill": draw.integers(0, 3, 400)})
    (success,) = univariate.attack(replace(scene, outsiders=many.of(np.arange(40))))
    (beside,) = univariate.attack(replace(scene, outsiders=many))
    assert success.hits.tolist() == beside.hits.tolist()
    assert success.control is not None and beside.control is not None
    assert abs(success.control.mean() - beside.control.mean()) < 0.3
    (few,) = univariate.attack(replace(scene, outsiders=many.of(np.arange(10))))
    assert few.hits.sum() != success.hits.sum()  # ten of the original are asked
