"""Attackers who pick rows and people, against brute force over every pair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from anonymize.attacks import Scene, linking
from tests.attacks.scenes import of_rows, random_scene


def _could_be(scene: Scene, person: int, row: int) -> bool:
    release, codes = scene.release, scene.everybody.codes[person]
    which = release.class_of[row]
    return all(release.first[which, j] <= codes[j] <= release.last[which, j] for j in range(2) if codes[j] >= 0)


@pytest.mark.parametrize("seed", range(3))
def test_candidates_are_the_classes_that_span_a_person(seed: int) -> None:
    scene = random_scene(seed)
    scene.everybody.codes[3, 1] = -1
    dense = scene.candidates.toarray()
    for person in range(40):
        rows = [_could_be(scene, person, row) for row in range(40)]
        assert [bool(dense[person, scene.release.class_of[row]]) for row in range(40)] == rows


@pytest.mark.parametrize("seed", range(3))
def test_the_prosecutor_picks_from_the_smallest_span(seed: int) -> None:
    scene = random_scene(seed)
    (success,) = linking.Prosecutor.attack(scene)
    release = scene.release
    volume = np.prod(release.last - release.first + 1, axis=1)
    for person, hit in enumerate(success.hits):
        classes = sorted({int(release.class_of[row]) for row in range(40) if _could_be(scene, person, row)})
        best = min(classes, key=lambda each: (volume[each], each))
        own = scene.everybody.row_of[person] if scene.everybody.row_of is not None else -1
        assert hit == (1 / (release.class_of == best).sum() if release.class_of[own] == best else 0)


@pytest.mark.parametrize("seed", range(3))
def test_nobody_is_found_with_more_than_one_over_the_smallest_class(seed: int) -> None:
    scene = random_scene(seed)
    (success,) = linking.Prosecutor.attack(scene)
    assert success.hits.max() <= 1 / scene.release.sizes.min()


@pytest.mark.parametrize("seed", range(3))
def test_the_journalist_counts_people_under_a_row(seed: int) -> None:
    scene = random_scene(seed)
    (success,) = linking.JournalistAttacker.attack(scene)
    people = sorted(1 / sum(_could_be(scene, person, row) for person in range(40)) for row in range(40))
    assert sorted(success.hits) == pytest.approx(people)


def test_people_held_out_hide_those_of_the_release() -> None:
    scene = random_scene(0)
    (alone,), (among,) = (
        linking.JournalistAttacker.attack(scene),
        linking.JournalistAttacker.attack(replace(scene, outsiders=scene.everybody)),
    )
    assert among.hits == pytest.approx(alone.hits / 2)


def test_everybody_together_tells_more_than_one_by_one() -> None:
    # The first can only be row 0, so that the second must be row 1, which is the wider of the two.
    spans = np.array([[[0, 1]], [[0, 3]]])
    scene = of_rows(np.array([[0], [1]]), spans, np.zeros(2, int), (4,))
    scene = replace(scene, release=replace(scene.release, first=np.array([[0], [1]]), last=np.array([[1], [3]])))
    assert linking.Prosecutor.attack(scene)[0].hits.tolist() == [1, 0]
    assert linking.Marketer.attack(scene)[0].hits.tolist() == [1, 1]


def test_all_suppressed_is_no_better_than_chance() -> None:
    draw = np.random.default_rng(0)
    spans = np.broadcast_to([0, 5], (50, 2, 2))
    scene = of_rows(draw.integers(0, 6, (50, 2)), spans, draw.integers(0, 3, 50), (6, 6))
    for attacker in (linking.Prosecutor(), linking.JournalistAttacker(), linking.Marketer()):
        (success,) = attacker.attack(scene)
        assert success.hits == pytest.approx(np.full(50, 1 / 50))


@pytest.mark.parametrize("attacker", [linking.Prosecutor(), linking.Marketer()])
def test_without_a_link_the_chance_is_what_he_believes(attacker: object) -> None:
    codes = np.array([[0], [0], [3]])
    scene = of_rows(codes, np.repeat(codes, 2, axis=1)[:, None, :], np.zeros(3, int), (4,))
    apart = replace(scene, everybody=replace(scene.everybody, row_of=None), targets=replace(scene.targets, row_of=None))
    for each in (scene, apart):
        assert attacker.attack(each)[0].hits.tolist() == [0.5, 0.5, 1]  # type: ignore[attr-defined]
