"""Attackers of invented rows: with people's rows among them, and without."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from anonymize.attacks import ATTACKERS, OF_INVENTED, Scene, Success, suited
from anonymize.attacks.points import Conditions, PointRows
from anonymize.attacks.scene import ShownRows, TargetPeople
from tests.attacks.scenes import invented_scene


def successes(scene: Scene, name: str) -> dict[str | None, Success]:
    return {each.about: each for each in ATTACKERS[name].attack(scene)}


@pytest.mark.parametrize("name", ["singling-out", "linkability", "inference-nearest", "closest-record"])
def test_rows_that_are_copies_of_people_show_an_excess_and_drawn_ones_none(name: str) -> None:
    leaking, safe = (successes(invented_scene(3, copied=share), name) for share in (1.0, 0.0))
    assert leaking.keys() == safe.keys() and leaking
    for about, leak in leaking.items():
        assert leak.excess is not None and leak.excess.low > 0.1, about
        quiet = safe[about].excess
        assert quiet is not None and quiet.low <= 0 <= quiet.high, about
        assert leak.control is not None or name == "closest-record"


def test_only_those_who_attack_invented_rows_are_suited_to_them() -> None:
    scene = invented_scene(0, copied=0.5, rows=40, people=40)
    assert suited(scene) == list(OF_INVENTED) and "prosecutor" not in OF_INVENTED
    assert all(ATTACKERS[name].attack(scene) for name in OF_INVENTED)
    assert not {"inference-nearest", "closest-record"} & set(suited(replace(scene, invented=None)))


def test_ties_take_the_memory_of_one_batch() -> None:
    people, rows = 600, 20_000
    points = np.zeros((people, 3))
    points[:, 1] = np.arange(people) % 4
    invented = PointRows(np.resize(points, (rows, 3)), ("sex", "ill", "cost"), (False, False, True), 1)
    values = {"ill": points[:, 1].astype(int), "cost": np.zeros(people, int)}
    targets = TargetPeople(points[:, :1].astype(int), values, points=points)
    shown = {name: np.zeros(rows, int) for name in values}
    release = ShownRows(np.zeros((rows, 1), int), np.zeros((rows, 1), int), np.arange(rows), shown)
    scene = Scene(("sex",), (1,), {"ill": 4, "cost": 1}, release, targets, targets, None, None, invented=invented)
    tracemalloc.start()
    try:
        reached = successes(scene, "inference-nearest")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert set(reached["ill"].hits) == {0.25} and set(reached["cost"].hits) == {1.0}
    assert peak < people * rows * 16, "fewer than two integers for each pair of a person and a row that is as near"


def test_rows_are_only_near_with_people_to_compare_with() -> None:
    scene = replace(invented_scene(0, copied=0.5, rows=40, people=40), outsiders=None, control=None)
    assert ATTACKERS["closest-record"].attack(scene) == []
    assert all(each.control is None for each in ATTACKERS["inference-nearest"].attack(scene))


def test_rows_that_equal_somebody_are_counted() -> None:
    scene = invented_scene(1, copied=0.25, rows=80, people=80)
    (success,) = ATTACKERS["closest-record"].attack(scene)
    assert success.figures["equal"] == 20 and success.figures["equal_control"] == 0
    assert success.hits.sum() >= 20 and set(success.baseline) == {0.5}


def test_somebody_who_is_nearest_to_many_rows_counts_once() -> None:
    scene = invented_scene(1, copied=0, rows=80, people=80)
    assert scene.invented is not None and scene.everybody.points is not None
    one = np.repeat(scene.everybody.points[:1], 80, axis=0)
    (success,) = ATTACKERS["closest-record"].attack(replace(scene, invented=replace(scene.invented, points=one)))
    assert success.hits.tolist() == [1.0] and success.figures["equal"] == 80


def test_somebody_who_is_nearest_and_as_near_as_others_counts_once() -> None:
    scene = invented_scene(1, copied=0, rows=3, people=3)
    assert scene.invented is not None
    invented = PointRows(np.array([[0.0], [10], [20]]), ("age",), (True,), 1)

    def people(*ages: float) -> TargetPeople:
        return TargetPeople(np.zeros((3, 1), int), {}, points=np.array(ages)[:, None])

    scene = replace(scene, invented=invented, everybody=people(5, 5, 5), outsiders=people(15, 15, 15))
    (success,) = ATTACKERS["closest-record"].attack(scene)
    assert sorted(success.hits.tolist()) == [0.0, 1.0], "0 is nearer to 5, 20 to 15, and 10 to one of these"


@pytest.mark.parametrize("control", [10, 60, 900])
def test_copies_are_seen_and_others_are_not_whatever_the_size_of_the_control(control: int) -> None:
    for copied in (1.0, 0.0):
        scene = invented_scene(4, copied=copied)
        more = invented_scene(5, copied=0, people=900).outsiders
        assert more is not None
        (success,) = ATTACKERS["closest-record"].attack(replace(scene, outsiders=more.of(np.arange(control))))
        excess = success.excess
        assert excess is not None and success.baseline[0] == pytest.approx(300 / (300 + control))
        assert excess.high == 1.0 if copied else excess.low <= 0 <= excess.high
        assert not copied or control == 10 or excess.low > 0.3


def test_distances_are_shares_of_ranges_and_of_what_is_missing() -> None:
    rows = PointRows(np.array([[0.0, 1], [10, 2], [np.nan, 1]]), ("a", "b"), (True, False), 2)
    others = np.array([[5.0, 1], [np.nan, 3], [100, 2]])
    ((batch, apart),) = rows.distances(others, [0, 1])
    assert batch == slice(0, 3)
    assert apart.tolist() == [[0.5, 1.5, 1.0], [2.0, 2.0, 1.0], [2.0, 1.0, 2.0]]
    ((_, least, near),) = rows.nearest(others, [0])
    assert least.tolist() == [0.5, 0.0, 1.0]
    assert near.tolist() == [[True, True, False], [False, False, True], [True, True, True]]


def test_conditions_are_at_least_at_most_alike_or_missing() -> None:
    rows = PointRows(np.array([[1.0, 0], [2, 0], [3, 1], [np.nan, 1]]), ("a", "b"), (True, False), 2)
    columns = np.array([[0, 1]] * 4)
    conditions = Conditions(columns, np.array([[3.0, 1], [1.0, 0], [2.0, 0], [np.nan, 1]]), rows)
    assert conditions.counts(rows.points).tolist() == [1, 1, 1, 1]
    assert conditions.counts(np.array([[5.0, 1], [0.0, 0], [4.0, 0], [4.0, 1]])).tolist() == [2, 1, 1, 0]
    assert conditions.weights(rows.points).tolist() == [0.125, 0.125, 0.25, 0.125]
