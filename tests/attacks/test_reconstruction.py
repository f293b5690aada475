"""Reconstruction: figures as computed by hand, what is planted is found, and nothing where there is nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from anonymize.attacks import ChannelRows, Scene, ShownRows, TargetPeople, reconstruction
from anonymize.attacks import reconstruction as row
from anonymize.attacks.scene import undone
from anonymize.meaning import Channel
from tests.attacks.scenes import of_rows


def channel(p: float, size: int) -> Channel:
    return Channel("any", "sensitive", p, tuple(map(str, range(size))))


def _randomized(seed: int, count: int, p: float, tied: float) -> Scene:
    """People of four codes; a share `tied` has the value that goes with the code, others any of three."""
    draw = np.random.default_rng(seed)
    codes, value = draw.integers(0, 4, (count, 1)), draw.integers(0, 3, count)
    value = np.where(draw.random(count) < tied, codes[:, 0] % 3, value)

    def distorted(column: np.ndarray, size: int) -> np.ndarray:
        moved = (column + draw.integers(1, size, count)) % size
        return np.where(draw.random(count) < p, column, moved)

    shown, released = distorted(codes[:, 0], 4)[:, None], distorted(value, 3)
    values = {"ill": channel(p, 3)}
    rows = ChannelRows(shown, (channel(p, 4),), (np.arange(4),), values)
    release = ShownRows(np.zeros((1, 1), int), np.full((1, 1), 3), np.zeros(count, int), {"ill": released})
    people = TargetPeople(codes, {"ill": value}, np.arange(count))
    return Scene(("a",), (4,), {"ill": 3}, release, people, people, channels=rows)


def test_counts_as_they_were_are_those_of_the_inverse_matrix() -> None:
    scene = _randomized(0, 500, 0.7, 0.9)
    assert scene.channels is not None
    shown, released = scene.channels.cells[:, 0], scene.release.values["ill"]
    table = np.zeros((4, 3))
    np.add.at(table, (shown, released), 1)
    matrices = [np.full((size, size), 0.3 / (size - 1)) + np.eye(size) * (0.7 - 0.3 / (size - 1)) for size in (4, 3)]
    by_hand = np.linalg.inv(matrices[0]) @ table @ np.linalg.inv(matrices[1]).T
    counts = scene.channels.counts(released, 3)
    of_people = scene.channels.counts_of(np.arange(4)[:, None], counts)[:, :3]
    assert undone(of_people, scene.channels.values["ill"]) == pytest.approx(np.maximum(by_hand, 0))


def test_what_is_not_known_of_somebody_counts_for_all_alike() -> None:
    scene = _randomized(1, 200, 0.6, 0.5)
    assert scene.channels is not None
    counts = scene.channels.counts(scene.release.values["ill"], 3)
    unknown = scene.channels.counts_of(np.array([[-1]]), counts)
    assert unknown == pytest.approx(counts.sum(axis=0)[None])


def test_values_that_go_with_codes_are_found_in_spite_of_the_distortion() -> None:
    (success,) = reconstruction.Reconstruction.attack(_randomized(2, 4000, 0.6, 0.9))
    assert success.excess is not None and success.excess.low > 0.5


def test_who_has_the_row_knows_more() -> None:
    scene = _randomized(3, 4000, 0.8, 0.3)
    (apart,), (beside,) = reconstruction.Reconstruction.attack(scene), row.RowReconstruction.attack(scene)
    assert beside.hits.mean() > apart.hits.mean() + 0.1
    # Of a value that is kept with probability 0.8, and was one of three, the row is right about that often.
    assert beside.hits.mean() == pytest.approx(0.8, abs=0.03)


def test_a_row_that_says_nothing_tells_nothing() -> None:
    scene = _randomized(4, 3000, 1 / 3 + 1e-9, 0.0)
    (success,) = row.RowReconstruction.attack(scene)
    assert success.excess is not None and success.excess.low < 0.02


def test_without_a_link_nobody_has_a_row() -> None:
    scene = _randomized(5, 50, 0.8, 0.3)
    people = replace(scene.targets, row_of=None)
    (success,) = row.RowReconstruction.attack(replace(scene, targets=people))
    assert success.excess is None
    assert row.RowReconstruction.attack(replace(scene, channels=None)) == []


def _grouped(seed: int, tied: bool) -> Scene:
    """Pairs of two of three values, in random order; the first code follows from the value, or from nothing."""
    draw = np.random.default_rng(seed)
    pairs = np.stack([draw.permutation(3)[:2] for _ in range(400)])
    values = pairs.ravel()
    codes = np.stack([np.where(draw.random(800) < 0.9, values, draw.integers(0, 3, 800)), np.arange(800) // 4], axis=1)
    if not tied:
        codes[:, 0] = draw.integers(0, 3, 800)
    scene = of_rows(codes, np.stack([codes, codes], axis=2), values, (3, 200))
    return replace(scene, release=replace(scene.release, group_of=np.arange(800) // 2))


def test_groups_are_undone_by_what_goes_together() -> None:
    (tied,), (loose,) = (reconstruction.Reconstruction.attack(_grouped(6, each)) for each in (True, False))
    assert tied.hits.mean() > 0.8 and 0.35 < loose.hits.mean() < 0.6


def test_rows_of_a_group_share_its_values() -> None:
    scene = _grouped(7, True)
    shares = reconstruction.row_shares(scene.release, scene.sizes, "ill", 3)
    held = np.eye(3)[scene.release.values["ill"]].reshape(400, 2, 3).sum(axis=1)
    assert shares.sum(axis=1) == pytest.approx(np.ones(800))
    assert shares.reshape(400, 2, 3).sum(axis=1) == pytest.approx(held, abs=0.1)


def test_classes_have_nothing_to_reconstruct() -> None:
    scene = replace(_grouped(8, True), channels=None)
    scene = replace(scene, release=replace(scene.release, group_of=None))
    assert reconstruction.Reconstruction.attack(scene) == [] and row.RowReconstruction.attack(scene) == []
