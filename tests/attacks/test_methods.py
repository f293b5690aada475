"""Rates and their intervals, against figures computed by hand and by simulation."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from anonymize.attacks import (
    ATTACKERS,
    Capabilities,
    KnownDiversity,
    Required,
    Scene,
    ShownRows,
    TargetPeople,
    narrowing,
    singling_out,
)
from anonymize.attacks.methods import Success, over_baseline, over_control, wilson
from anonymize.attacks.reconstruction import Minimality, _believed
from anonymize.attacks.singling_out import _alone
from tests.attacks.scenes import of_rows, random_scene


def test_wilson_is_the_published_example() -> None:
    # Newcombe, Statistics in Medicine 1998, table I: 81 of 263, and 0 of 20.
    some, none = wilson(81, 263), wilson(0, 20)
    assert (some.low, some.high) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert (none.low, none.high) == pytest.approx((0.0, 0.1611), abs=1e-4)


def test_an_attack_that_knows_no_more_than_the_baseline_has_no_excess() -> None:
    same = (np.arange(2000) % 3 == 0).astype(float)
    excess = over_baseline(same, same)
    assert excess.value == 0 and -0.002 < excess.low < 0 < excess.high < 0.002


def test_the_excess_is_a_share_of_what_was_left_to_learn() -> None:
    hits, baseline = np.repeat([1.0, 0.0], [75, 25]), np.repeat([1.0, 0.0], [50, 50])
    assert over_baseline(hits, baseline).value == pytest.approx(0.5)
    assert over_control(hits, baseline).value == pytest.approx(0.5)
    assert over_baseline(np.ones(9), np.ones(9)).high == 0


def test_the_interval_over_a_control_is_that_of_error_propagation() -> None:
    hits, control = np.repeat([1.0, 0.0], [60, 40]), np.repeat([1.0, 0.0], [20, 80])
    own, theirs = wilson(60, 100), wilson(20, 100)
    error = np.hypot((own.high - own.low) / 2 / 0.8, 0.4 * (theirs.high - theirs.low) / 2 / 0.64)
    excess = over_control(hits, control)
    assert (excess.value, excess.low) == pytest.approx((0.5, 0.5 - error))


@pytest.mark.parametrize("paired", [True, False])
def test_intervals_cover_the_truth_as_often_as_they_say(paired: bool) -> None:
    draw = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        baseline = (draw.random(200) < 0.4).astype(float)
        hits = np.where(draw.random(200) < 0.25, 1.0, baseline) if paired else (draw.random(200) < 0.55).astype(float)
        excess = (over_baseline if paired else over_control)(hits, baseline)
        covered += excess.low <= 0.25 <= excess.high
    assert covered >= 0.93 * 400


def test_a_control_that_is_always_right_leaves_open_what_so_few_do() -> None:
    hits = np.ones(1000)
    few, many = (over_control(hits, np.ones(others)) for others in (2, 2000))
    assert few.value == many.value == 0 and few.high > 0.5 and many.high < 0.01


def test_nobody_attacked_is_no_figure() -> None:
    block = Success(np.zeros(0), np.zeros(0)).block()
    assert block["excess"] is None and block["rate"] is None and block["targets"] == 0


# --- methods ----------------------------------------------------------------------------------------------------------


def _stars(count: int = 200) -> Scene:
    draw = np.random.default_rng(0)
    codes, values = draw.integers(0, 6, (count, 2)), draw.integers(0, 3, count)
    return of_rows(codes, np.broadcast_to([0, 5], (count, 2, 2)), values, (6, 6))


# --- downcoding ------------------------------------------------------------------------------------------------------


def test_an_end_of_an_interval_that_one_row_has_singles_it_out() -> None:
    # Classes of five people over five codes, of whom one is at each end of the interval.
    codes = np.stack([np.repeat(np.arange(60), 5) * 10 + np.tile([0, 2, 2, 2, 4], 60), np.zeros(300, int)], axis=1)
    ends = codes[:, 0] // 10 * 10
    spans = np.stack([np.stack([ends, ends + 4], axis=1), np.zeros((300, 2), int)], axis=1)
    (success,) = singling_out.Downcoding.attack(of_rows(codes, spans, np.zeros(300, int), (600, 1)))
    assert success.hits.tolist() == [1.0] * 60 and success.figures["narrowed"] == 60
    assert success.excess is not None and success.excess.low > 0.5


def test_ends_that_a_cell_does_not_say_are_not_known() -> None:
    """`77+` says one end, and `*` none: the largest value is the original's to know."""
    codes = np.repeat(np.arange(60), 5)[:, None] * 10 + np.tile([0, 2, 2, 2, 4], 60)[:, None]
    ends = codes // 10 * 10
    scene = of_rows(codes, np.stack([ends, ends + 4], axis=2), np.zeros(300, int), (600,))
    every, none = np.ones((60, 1), bool), np.zeros((60, 1), bool)
    release = replace(scene.release, hidden_low=none, hidden_high=every)
    (half,) = singling_out.Downcoding.attack(replace(scene, release=release))
    assert half.figures["narrowed"] == 60 and half.hits.tolist() == [1.0] * 60
    (silent,) = singling_out.Downcoding.attack(replace(scene, release=replace(release, hidden_low=every)))
    assert silent.figures["narrowed"] == 0


def test_the_chance_of_a_single_row_is_that_of_all_outcomes() -> None:
    outcomes = np.array(np.meshgrid(*[[0, 1]] * 5)).reshape(5, -1).sum(axis=0)
    weight = 0.3**outcomes * 0.7 ** (5 - outcomes)
    for certain, known in ((True, outcomes > 0), (False, outcomes < 5)):
        by_hand = weight[outcomes == 1].sum() / weight[known].sum()
        assert _alone(np.array([5]), np.array([0.3]), certain=certain)[0] == pytest.approx(by_hand)


def test_exact_cells_have_nothing_to_narrow() -> None:
    codes = np.repeat(np.arange(5), 4)[:, None]
    (success,) = singling_out.Downcoding.attack(
        of_rows(codes, np.stack([codes, codes], axis=2), np.zeros(20, int), (5,))
    )
    assert success.figures["narrowed"] == 0 and success.excess is not None and success.excess.high == 0


# --- refinement ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_classes_inside_another_are_those_of_brute_force(seed: int) -> None:
    release = random_scene(seed).release
    inside = narrowing.nested(release, np.arange(len(release.first))).toarray()
    for wider, within in permutations(range(len(release.first)), 2):
        covers = (release.first[wider] <= release.first[within]).all()
        covers &= (release.last[within] <= release.last[wider]).all()
        assert inside[wider, within] == covers


def _in_rounds(count: int) -> Scene:
    """Most people have the code 0, and were released so in the first round; the rest as 0 to 3."""
    draw = np.random.default_rng(1)
    codes = np.where(np.arange(count) < count * 0.7, 0, draw.choice([1, 2, 3], count, p=[0.8, 0.1, 0.1]))[:, None]
    spans = np.where(codes[:, :, None] == 0, 0, np.array([0, 3]))
    return of_rows(codes, spans, np.zeros(count, int), (4,))


def test_what_an_earlier_round_took_is_not_in_a_later_one() -> None:
    scene = _in_rounds(400)
    (success,) = narrowing.RoundsAttacker.attack(scene)
    rest = int((scene.everybody.codes > 0).sum())
    # Without the rounds, 0 is the most frequent of 0 to 3; it is none of the rest.
    assert success.baseline.tolist() == [0.0] * rest and success.figures["nested"] == rest
    assert float(success.figures["ruled_out"] or 0) > 0.1
    assert success.hits.mean() > 0 and success.excess is not None


def test_classes_apart_have_nothing_to_refine() -> None:
    codes = np.arange(40)[:, None]
    spans = np.concatenate([codes // 4 * 4, codes // 4 * 4 + 3], axis=1)[:, None, :]
    (success,) = narrowing.RoundsAttacker.attack(of_rows(codes, spans, np.zeros(40, int), (40,)))
    assert success.excess is not None and success.excess.high == 0


def test_what_cannot_be_checked_is_not_said_to_be_safe() -> None:
    scene = _in_rounds(100)
    targets = replace(scene.targets, row_of=None)
    (success,) = narrowing.RoundsAttacker.attack(replace(scene, targets=targets))
    assert success.excess is None


# --- minimality ------------------------------------------------------------------------------------------------------


def _wong(classes: int, planted: bool) -> Scene:
    """Classes of six people, two of one code and four of another; one value is shared by two of them, the others are of
    one each. It is the two who share it, which is why the class was not cut; or, not `planted`, any two."""
    draw = np.random.default_rng(2)
    codes = np.tile([0, 0, 1, 1, 1, 1], classes)[:, None] + np.repeat(np.arange(classes), 6)[:, None] * 2
    values = np.tile([1, 1, 0, 2, 3, 4], classes).reshape(classes, 6)
    if not planted:
        values = draw.permuted(values, axis=1)
    ends = np.repeat(np.arange(classes), 6)[:, None] * 2
    spans = np.stack([ends, ends + 1], axis=2)
    scene = of_rows(codes, spans, values.ravel(), (2 * classes,))
    return replace(scene, required=Required(2, {"ill": [KnownDiversity(2)]}))


def test_a_refused_cut_gives_away_those_who_share_a_value() -> None:
    (success,) = Minimality().attack(_wong(60, True))
    pair = np.tile([True, True, False, False, False, False], 60)
    assert success.figures["refused"] == 360
    # The most frequent value is that of the pair, of whom it is known now; so the others must have another one.
    assert success.baseline.tolist() == pair.astype(float).tolist()
    assert success.hits[pair].tolist() == [1.0] * 120 and success.hits[~pair].mean() == pytest.approx(0.25, abs=0.08)
    assert success.excess is not None and success.excess.low > 0.05


def test_who_is_wrong_about_the_method_learns_nothing() -> None:
    (success,) = Minimality().attack(_wong(60, False))
    assert success.excess is not None and success.excess.value < 0.1


def test_believed_values_are_those_of_all_worlds() -> None:
    values, part = np.array([0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 1])
    generator = np.random.default_rng(0)
    believed = _believed(values, [part], [KnownDiversity(2)], generator)
    assert believed is not None
    worlds = [w for w in set(permutations(values.tolist())) if len(set(w[:2])) < 2 or len(set(w[2:])) < 2]
    by_hand = np.array([[np.mean([w[each] == value for w in worlds]) for value in (0, 1, 2)] for each in range(5)])
    assert believed[1] == pytest.approx(by_hand, abs=0.1)


def test_frequencies_are_judged_as_the_model_has_them() -> None:
    counts = np.array([[2, 1, 1], [3, 1, 0], [0, 0, 4]])
    assert KnownDiversity(2, frequency=True).met(counts).tolist() == [True, False, False]
    assert KnownDiversity(2).met(counts).tolist() == [True, True, False]


def test_without_diversity_or_a_link_there_is_nothing_to_ask() -> None:
    scene = _wong(4, True)
    assert Minimality().attack(replace(scene, required=Required(2))) == []
    assert Minimality().attack(replace(scene, targets=replace(scene.targets, row_of=None))) == []


@pytest.mark.parametrize("attacker", [singling_out.Downcoding(), narrowing.RoundsAttacker()])
def test_all_suppressed_tells_nothing(attacker: object) -> None:
    for success in attacker.attack(_stars()):  # type: ignore[attr-defined]
        assert success.excess is not None and success.excess.high < 0.02


def test_people_who_are_not_known_are_not_refined() -> None:
    spans = np.array([[[0, 1]], [[0, 1]]])
    release = ShownRows(spans[:1, :, 0], spans[:1, :, 1], np.zeros(2, int), {"ill": np.array([0, 1])})
    people = TargetPeople(np.array([[-1], [0]]), {"ill": np.array([0, 1])}, np.arange(2))
    required = Required(1, {"ill": [KnownDiversity(1)]})
    scene = Scene(("a",), (2,), {"ill": 2}, release, people, people, required=required)
    (success,) = Minimality().attack(scene)
    assert success.figures["refused"] == 0


@pytest.mark.parametrize("name", [name for name, each in ATTACKERS.items() if each.CAPABILITIES.link])
def test_whoever_needs_a_link_does_nothing_without_one(name: str) -> None:
    scene = replace(random_scene(1, linked=False), numbers=lambda: (np.eye(40), np.eye(40)))
    assert ATTACKERS[name].attack(scene) == []


def test_every_attacker_declares_what_he_needs() -> None:
    assert all(isinstance(each.CAPABILITIES, Capabilities) for each in ATTACKERS.values())
    assert {name for name, each in ATTACKERS.items() if each.CAPABILITIES.numbers} == {"distance-linkage"}
