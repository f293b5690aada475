"""Attackers beside those of Anonymeter 1.1.0, whose figures are stored: it needs another numpy than this project. The
script that made them, and the people whom it attacked, are in `people.py`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymize.attacks import Scene, ShownRows, TargetPeople, inference, linking
from anonymize.attacks.methods import over_control, wilson
from tests.oracles.people import COUNT, COUNTS, classes, people, spans

STORED: dict[str, Any] = json.loads((Path(__file__).parent / "anonymeter.json").read_text(encoding="utf8"))


@pytest.mark.parametrize(("counts", "stored"), list(zip(COUNTS, STORED["risks"], strict=True)))
def test_risks_are_those_of_the_same_counts(counts: tuple[int, int, int], stored: list[float]) -> None:
    """Anonymeter takes the middle of Wilson's interval for the rate, where this project has the rate itself, and says 0
    of what is below 0. With the same rates the risk is the same; the widths of intervals are, as they are."""
    tries, successes, control = counts
    rates = [wilson(each, tries) for each in (successes, control)]
    own, other = ((each.low + each.high) / 2 for each in rates)
    assert max((own - other) / (1 - other), 0.0) == pytest.approx(stored[0], abs=1e-9)
    hits = [np.repeat([1.0, 0.0], [each, tries - each]) for each in (successes, control)]
    excess = over_control(*hits)
    assert excess.value == pytest.approx(stored[0], abs=0.05) or (excess.value < 0 and stored[0] == 0)
    if stored[1] > 0 and stored[2] < 1:
        assert excess.high - excess.low == pytest.approx(stored[2] - stored[1], rel=0.02)


def _scene(size: int) -> Scene:
    """The release in classes of one size; people held out of it are the control."""
    (own, secrets), (others, hidden) = people(0), people(1)
    every = np.array([*own, *others])
    domains = [np.unique(column) for column in every.T]
    codes = np.stack([np.searchsorted(*each) for each in zip(domains, every.T, strict=True)], axis=1)
    of = np.array(classes(own, size))
    ends = np.array(spans(own, of.tolist()))[np.unique(of, return_index=True)[1]]
    first, last = (
        np.stack([np.searchsorted(d, c) for d, c in zip(domains, e.T, strict=True)], 1) for e in ends.T.swapaxes(1, 2)
    )
    values = {"secret": np.array([ord(each) - ord("a") for each in [*secrets, *hidden]])}
    release = ShownRows(first, last, of, {"secret": values["secret"][:COUNT]})
    targets = TargetPeople(codes[:COUNT], {"secret": values["secret"][:COUNT]}, np.arange(COUNT))
    control = TargetPeople(codes[COUNT:], {"secret": values["secret"][COUNT:]})
    names, sizes = ("age", "income", "weight", "height"), tuple(map(len, domains))
    return Scene(names, sizes, {"secret": 3}, release, targets, targets, control)


@pytest.mark.parametrize("size", [1, 5])
def test_an_inference_is_right_as_often(size: int) -> None:
    """By the age alone. Anonymeter takes the value of the nearest middle of an interval, this project's figure the
    share of the value among the rows that could be the person's: the chance that one of them, taken blindly, has it.
    Both are 600 people, of whom 0.7 or so are right: errors of 0.02 each. Not by classes of 50: Anonymeter takes one
    row for all 50 people of a class then, twelve in all, whose error is 0.13."""
    stored, scene = STORED[f"inference, classes of {size}"], _scene(size)
    release = replace(scene.release, first=scene.release.first[:, :1], last=scene.release.last[:, :1])
    targets, control = (
        replace(each, codes=each.codes[:, :1]) for each in (scene.targets, scene.control) if each is not None
    )
    alone = replace(scene, attributes=("age",), sizes=scene.sizes[:1], release=release, targets=targets, control=None)
    (success,) = inference.Majority.attack(alone)
    assert success.figures["dcap"] == pytest.approx(stored["rate"], abs=0.06)
    (beside,) = inference.Majority.attack(replace(alone, targets=control))
    assert beside.figures["dcap"] == pytest.approx(stored["control"], abs=0.06)


def test_halves_of_a_copy_are_linked_as_often() -> None:
    stored, (success,) = STORED["linkability, classes of 1"], linking.Linkability.attack(_scene(1))
    assert success.hits.mean() == pytest.approx(stored["rate"], abs=0.005)
    assert success.control is not None and success.control.mean() == pytest.approx(stored["control"], abs=0.02)


@pytest.mark.parametrize("size", [5, 50])
def test_regions_link_halves_more_often_than_middles(size: int) -> None:
    """The nearest middle is that of the own class for few, as intervals of several numbers are wide; that a class
    could be a person's can be told from its intervals, whatever their middles are."""
    (success,) = linking.Linkability.attack(_scene(size))
    assert success.hits.mean() >= STORED[f"linkability, classes of {size}"]["rate"] - 0.01
