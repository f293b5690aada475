"""Intervals cover what is true: of every attacker, with columns that depend on each other and with columns that do not.

A release of 800 people is attacked once with everybody as a target, and everybody outside of it as the control:
that excess is the truth. Then it is attacked again and again with some of them, drawn by a seed each time, as `attack`
draws them. Of thirty intervals of 95 % at least 25 have to cover the truth, and of a hundred 89; the seeds are fixed.
Where everything is tried, or a column is not sorted, there is no interval, and the figure is the true one each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from anonymize.attacks import (
    ATTACKERS,
    ChannelRows,
    EarlierRows,
    KnownDiversity,
    Required,
    Scene,
    ShownRows,
    Success,
    TargetPeople,
)
from tests.attacks.scenes import invented_scene
from tests.attacks.test_reconstruction import channel
from tests.examples import THOROUGH

PEOPLE, SOME = 800, 150
SEEDS, COVERED = (100, 89) if THOROUGH else (30, 25)
K = 6
BY_PERSON = ("marketer", "inference-model", "composition", "histories", "distance-linkage")
"""Attackers whose guess about somebody does not depend on who else is a target: they attack once, and some of those
whom they attacked are drawn."""


def drawn_people(draw: np.random.Generator, *, dependent: bool) -> TargetPeople:
    """People of two quasi-identifiers, an illness and something that is kept."""
    first, chance = draw.integers(0, 40, PEOPLE), draw.random((2, PEOPLE))
    second = np.clip(first // 2 + draw.integers(-1, 2, PEOPLE), 0, 20) if dependent else draw.integers(0, 21, PEOPLE)
    ill, kept = draw.integers(0, 4, PEOPLE), draw.integers(0, 5, PEOPLE)
    if dependent:
        ill, kept = np.where(chance[0] < 0.6, first // 10, ill), np.where(chance[1] < 0.7, first // 8, kept)
    return TargetPeople(np.stack([first, second], axis=1), {"ill": ill, "ward": kept}, None, kept)


def in_classes(people: TargetPeople, by: int, rows: np.ndarray) -> ShownRows:
    """The people in classes of six whose regions overlap, arranged by one of the columns; `rows`: the person of each
    row."""
    codes = people.codes
    order = np.lexsort((codes[:, 1 - by], codes[:, by] // 5))
    labels = np.empty(len(codes), np.int64)
    labels[order] = np.arange(len(codes)) // K
    first, last = np.full((labels.max() + 1, 2), 99), np.full((labels.max() + 1, 2), -1)
    np.minimum.at(first, labels, codes)
    np.maximum.at(last, labels, codes)
    values = {name: each[rows] for name, each in people.values.items()}
    kept = None if people.kept is None else people.kept[rows]
    return ShownRows(first, last, labels[rows], values, kept=kept, ends=(first, last))


def classed(*, dependent: bool) -> Scene:
    """Everybody a target, and an earlier release of the same people in other classes, of whom some have left."""
    draw = np.random.default_rng(dependent)
    people, others = (drawn_people(draw, dependent=dependent) for _ in range(2))
    rows, before = draw.permutation(PEOPLE), draw.permutation(PEOPLE)
    people = replace(people, row_of=np.argsort(rows))
    numbers = people.codes[rows].astype(np.float64)
    noisy = numbers + draw.normal(0, 3, numbers.shape)
    scene = Scene(
        ("a", "b"),
        (40, 21),
        {"ill": 4},
        in_classes(people, 0, rows),
        people,
        people,
        others,
        others,
        (EarlierRows(in_classes(people, 1, before), np.argsort(before)[rows]),),
        required=Required(K, {"ill": [KnownDiversity(2)]}),
        numbers=lambda: (numbers, noisy),
    )
    return scene


def through_channels(*, dependent: bool) -> Scene:
    """A randomized release."""
    draw = np.random.default_rng(7)
    people = drawn_people(draw, dependent=dependent)
    codes, sizes = people.codes[:, :1] // 10, (4, 4)

    def distorted(column: np.ndarray, size: int) -> np.ndarray:
        moved = (column + draw.integers(1, size, len(column))) % size
        return np.where(draw.random(len(column)) < 0.6, column, moved)

    shown, ill = (distorted(each, size) for each, size in zip((codes[:, 0], people.values["ill"]), sizes, strict=True))
    rows = ChannelRows(shown[:, None], (channel(0.6, 4),), (np.arange(4),), {"ill": channel(0.6, 4)})
    whole = np.zeros((1, 1), int)
    release = ShownRows(whole, whole + 3, np.zeros(PEOPLE, int), {"ill": ill})
    everybody = TargetPeople(codes, people.values, np.arange(PEOPLE))
    return Scene(("a",), (4,), {"ill": 4}, release, everybody, everybody, channels=rows)


def invented(*, dependent: bool) -> Scene:
    """Rows of nobody, or a half of them copies."""
    return invented_scene(5, copied=dependent / 2, rows=PEOPLE, people=PEOPLE)


SCENES: dict[str, Callable[..., Scene]] = {
    "inference-nearest": invented,
    "closest-record": invented,
    "reconstruction": through_channels,
    "reconstruction-row": through_channels,
}
"""Where an attacker is tried, if not in a release in classes."""


def sampled(scene: Scene, seed: int) -> Scene:
    """Some targets, and some of those who are not in the release."""
    draw = np.random.default_rng([1, seed])
    control = None if scene.outsiders is None else scene.outsiders.drawn(SOME, draw)
    some = replace(scene, targets=scene.everybody.drawn(SOME, draw), control=control, seed=seed)
    return replace(some, kept=lambda: replace(some, sensitive={"ward": 5}))


def some_of(success: Success, seed: int) -> Success:
    """The same attack on some of the targets, and of the control."""
    draw = np.random.default_rng([1, seed])
    targets = draw.choice(len(success.hits), SOME, replace=False)
    control = None if success.control is None else draw.choice(success.control, SOME, replace=False)
    hits, baseline = success.hits[targets], success.baseline[targets]
    return replace(success, hits=hits, baseline=baseline, control=control, complete=False)


@pytest.mark.parametrize("dependent", [False, True])
@pytest.mark.parametrize("name", ATTACKERS)
def test_intervals_cover_the_truth(name: str, dependent: bool) -> None:
    attacker = ATTACKERS[name]
    whole = SCENES.get(name, classed)(dependent=dependent)
    whole = replace(whole, kept=lambda: replace(whole, sensitive={"ward": 5}, kept=lambda: None))
    attacked = [each for each in attacker.attack(whole) if each.excess is not None]
    truth = {each.about: each.excess for each in attacked}
    assert truth, "there is nothing to cover"
    missed = dict.fromkeys(truth, 0)
    for seed in range(SEEDS):
        drawn = name in BY_PERSON
        again = [some_of(each, seed) for each in attacked] if drawn else attacker.attack(sampled(whole, seed))
        for each in again:
            true, excess = truth[each.about], each.excess
            assert excess is not None and true is not None
            missed[each.about] += not excess.low <= true.value <= excess.high
    assert all(count <= SEEDS - COVERED for count in missed.values()), missed
