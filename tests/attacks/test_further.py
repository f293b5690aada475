"""Linkability, order, composition: each finds what is planted for it, and nothing where there is nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from anonymize.attacks import EarlierRows, Scene, linking, narrowing, several
from tests.attacks.scenes import of_rows


def _people(seed: int, count: int = 200) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    return draw.integers(0, 6, (count, 4)), draw.integers(0, 3, count)


def test_a_copy_links_the_halves_of_people() -> None:
    codes, values = _people(0, 20)
    (success,) = linking.Linkability.attack(of_rows(codes, np.stack([codes, codes], axis=2), values, (6,) * 4))
    first, second = codes[:, ::2], codes[:, 1::2]
    # Where nobody shares a half with another the link is certain.
    shared = [(half[:, None] == half[None]).all(axis=2).sum(axis=1) for half in (first, second)]
    certain = (shared[0] == 1) & (shared[1] == 1)
    assert success.hits[certain].tolist() == [1] * certain.sum() and certain.sum() > 5
    assert success.excess is not None and success.excess.low > 0.3


def test_what_goes_together_in_general_is_no_excess_over_others() -> None:
    codes, values = _people(1, 400)
    codes[:, 1::2] = codes[:, ::2]
    spans = np.stack([codes, codes], axis=2)[:200]
    scene = of_rows(codes[:200], spans, values[:200], (6,) * 4)
    others = of_rows(codes[200:], spans, values[200:], (6,) * 4).everybody
    (success,) = linking.Linkability.attack(replace(scene, control=others))
    assert success.excess is not None and success.excess.low < 0.03


def test_halves_of_hidden_rows_are_linked_by_chance() -> None:
    codes, values = _people(2)
    (success,) = linking.Linkability.attack(of_rows(codes, np.broadcast_to([0, 5], (200, 4, 2)), values, (6,) * 4))
    assert success.hits == pytest.approx(success.baseline)


def test_one_attribute_has_no_halves() -> None:
    codes = np.zeros((3, 1), int)
    assert linking.Linkability.attack(of_rows(codes, np.zeros((3, 1, 2), int), np.zeros(3, int), (1,))) == []


@pytest.mark.parametrize("direction", [1, -1])
def test_an_order_that_was_kept_narrows_cells(direction: int) -> None:
    draw = np.random.default_rng(3)
    codes = np.sort(draw.integers(0, 60, 300))[::direction][:, None]
    spans = np.concatenate([np.maximum(codes - draw.integers(0, 20, codes.shape), 0), codes + 5], axis=1)[:, None, :]
    scene = of_rows(codes, spans, np.zeros(300, int), (80,))
    (success,) = narrowing.RowOrder.attack(scene)
    low, high = narrowing.narrowed(spans[:, 0, 0], spans[:, 0, 1])
    assert ((low <= codes[:, 0]) & (codes[:, 0] <= high)).all()
    for row in (0, 7, 150, 299):
        before, behind = (spans[: row + 1, 0], spans[row:, 0])[::direction]
        assert (low[row], high[row]) == (before[:, 0].max(), behind[:, 1].min())
    assert success.excess is not None and success.excess.low > 0
    shuffled = draw.permutation(300)
    (apart,) = narrowing.RowOrder.attack(of_rows(codes[shuffled], spans[shuffled], np.zeros(300, int), (80,)))
    assert apart.excess is not None and apart.excess.high == 0


def test_an_order_that_cannot_be_checked_is_not_said_to_be_safe() -> None:
    codes = np.arange(60)[:, None]
    spans = np.concatenate([np.maximum(codes - 3, 0), codes + 5 + codes % 2 * 10], axis=1)[:, None, :]
    scene = of_rows(codes, spans, np.zeros(60, int), (80,))
    scene = replace(scene, everybody=replace(scene.everybody, row_of=None))
    assert narrowing.RowOrder.attack(scene)[0].excess is None


def test_two_releases_tell_what_neither_does() -> None:
    # Each release has classes of two people with different values; what they have in common is the person's own.
    count = 300
    values = np.arange(count) % 3
    codes = np.arange(count)[:, None]
    ends = [np.arange(count) // 2 * 2 + each for each in (0, 1)]
    shifted = [np.clip((np.arange(count) + 1) // 2 * 2 - 1 + each, 0, count - 1) for each in (0, 1)]
    one, two = (of_rows(codes, np.stack(each, axis=1)[:, None, :], values, (count,)) for each in (ends, shifted))
    success, *_ = several.Composition.attack(replace(one, earlier=(EarlierRows(two.release),)))
    assert success.baseline.tolist() == [0.5] * count and success.hits[1:-1].tolist() == [1] * (count - 2)


def test_the_same_release_twice_adds_nothing() -> None:
    codes, values = _people(4)
    scene = of_rows(codes, np.broadcast_to([0, 5], (200, 4, 2)), values, (6,) * 4)
    (success,) = several.Composition.attack(replace(scene, earlier=(EarlierRows(scene.release),)))
    assert success.hits.tolist() == success.baseline.tolist()
    assert several.Composition.attack(scene) == []


def _left(who: np.ndarray, *, known: bool) -> Scene:
    """A second release of 40 people in classes of ten, without some of them, the first being `earlier`."""
    codes, values = np.arange(40)[:, None], np.arange(40) % 10 % 4
    spans = np.stack([codes // 10 * 10, codes // 10 * 10 + 9], axis=2)
    first = of_rows(codes, spans, values, (40,))
    staying = np.setdiff1d(np.arange(40), who)
    second = of_rows(codes[staying], spans[staying], values[staying], (40,))
    return replace(second, earlier=(EarlierRows(first.release, staying if known else None),), sensitive={"ill": 4})


@pytest.mark.parametrize("known", [True, False])
def test_two_files_tell_what_those_had_who_left(known: bool) -> None:
    # 12 and 16 are of one class and have value 2; 33 is alone, with value 3; nobody says which rows belong together.
    _, success = several.Composition.attack(_left(np.array([12, 16, 33]), known=known))
    assert success.about == "ill of those who left"
    assert success.hits.tolist() == [1, 1, 1] and success.baseline.sum() < 1


def test_of_two_who_left_with_different_values_each_is_guessed_by_half() -> None:
    _, success = several.Composition.attack(_left(np.array([12, 15]), known=True))
    assert success.hits.tolist() == [0.5, 0.5]


def test_where_nobody_left_nothing_is_said_of_them() -> None:
    assert len(several.Composition.attack(_left(np.zeros(0, int), known=True))) == 1


def test_a_class_that_was_cut_since_is_compared_as_a_whole() -> None:
    """The first class was cut into two of five, and 3 has left."""
    codes, values = np.arange(10)[:, None], np.arange(10) % 4
    whole, parts = (np.stack([codes // size * size, codes // size * size + size - 1], axis=2) for size in (10, 5))
    staying = np.setdiff1d(codes, [3])
    scene = of_rows(codes[staying], parts[staying], values[staying], (10,))
    earlier = EarlierRows(of_rows(codes, whole, values, (10,)).release, staying)
    _, success = several.Composition.attack(replace(scene, earlier=(earlier,), sensitive={"ill": 4}))
    assert success.hits.tolist() == [1]
