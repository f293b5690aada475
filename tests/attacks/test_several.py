"""Histories: found where they tell people apart, and nothing where they do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from anonymize.attacks import EarlierRows, Scene, several
from tests.attacks.scenes import of_rows


def parted(group: np.ndarray, values: np.ndarray, codes: np.ndarray | None = None) -> Scene:
    """People in a row, code n for the n-th, released in groups of neighbours: each group spans the codes of its
    people."""
    codes = np.arange(len(group)) if codes is None else codes
    first, last = (np.array([end(codes[group == own]) for own in group]) for end in (np.min, np.max))
    return of_rows(codes[:, None], np.stack([first, last], axis=1)[:, None, :], values, (len(group),))


COUNT = 120
PEOPLE = np.arange(COUNT)
VALUES = PEOPLE % 3


def test_two_releases_that_cross_tell_everybody_apart() -> None:
    # Groups of six, and then groups of six that begin three later: three people are in the same two.
    now, before = parted(PEOPLE // 6, VALUES), parted((PEOPLE + 3) // 6, VALUES)
    chain, value = several.Histories.attack(replace(now, earlier=(EarlierRows(before.release, PEOPLE),)))
    assert chain.hits.tolist() == pytest.approx([1 / 3] * COUNT)
    assert chain.baseline.tolist() == pytest.approx([1 / 6] * COUNT)
    assert chain.figures["fewest"] == 3
    assert value.about == "ill" and value.hits.tolist() == pytest.approx([1 / 3] * COUNT)


def test_a_person_alone_and_a_history_of_one_value_are_found() -> None:
    values = np.where(PEOPLE % 6 < 3, 0, PEOPLE % 3)
    now, before = parted(PEOPLE // 6, values), parted((PEOPLE + 3) // 6, values)
    _, value = several.Histories.attack(replace(now, earlier=(EarlierRows(before.release, PEOPLE),)))
    assert value.hits[PEOPLE % 6 < 3].tolist() == [1] * (COUNT // 2)
    alone, whole = PEOPLE // 6, (PEOPLE + 1) // 6
    chain, _ = several.Histories.attack(
        replace(parted(alone, values), earlier=(EarlierRows(parted(whole, values).release, PEOPLE),))
    )
    assert chain.figures["fewest"] == 1 and chain.figures["max"] == 1
    assert chain.excess is not None and chain.excess.low > 0.05


def test_the_same_classes_again_add_nothing() -> None:
    now = parted(PEOPLE // 6, VALUES)
    chain, value = several.Histories.attack(replace(now, earlier=(EarlierRows(now.release, PEOPLE),) * 3))
    assert chain.hits.tolist() == pytest.approx(chain.baseline.tolist())
    assert value.hits.tolist() == pytest.approx(value.baseline.tolist())


def test_who_was_not_there_is_known_by_that() -> None:
    # One of each group of six came later; their five neighbours were there.
    now = parted(PEOPLE // 6, VALUES)
    was_there = PEOPLE % 6 != 5
    row_of = np.where(was_there, np.cumsum(was_there) - 1, -1)
    before = of_rows(
        PEOPLE[was_there, None],
        np.stack([PEOPLE // 6 * 6, PEOPLE // 6 * 6 + 5], axis=1)[was_there, None, :],
        VALUES[was_there],
        (COUNT,),
    )
    chain, _ = several.Histories.attack(replace(now, earlier=(EarlierRows(before.release, row_of),)))
    assert chain.hits.tolist() == pytest.approx(np.where(was_there, 1 / 5, 1).tolist())


def test_without_chains_or_the_truth_there_is_nothing() -> None:
    now = parted(PEOPLE // 6, VALUES)
    assert several.Histories.attack(now) == []
    assert several.Histories.attack(replace(now, earlier=(EarlierRows(now.release),))) == []
    unknown = replace(now, targets=replace(now.targets, row_of=None))
    assert several.Histories.attack(replace(unknown, earlier=(EarlierRows(now.release, PEOPLE),))) == []


def test_targets_in_pieces_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    now, before = parted(PEOPLE // 6, VALUES), parted((PEOPLE + 3) // 6, VALUES)
    scene = replace(now, earlier=(EarlierRows(before.release, PEOPLE),))
    whole = several.Histories.attack(scene)
    monkeypatch.setattr(several, "CLASS_PAIRS", 8 * 40 * 7)
    for one, other in zip(whole, several.Histories.attack(scene), strict=True):
        assert np.array_equal(one.hits, other.hits) and one.figures == other.figures
