"""Singling out: conditions are counted as brute force counts them, and isolate whom they should."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymize._attack import Attack, attack
from anonymize.attacks import Scene, Success, TargetPeople, singling_out
from anonymize.attacks.methods import by_chance, isolated_of
from anonymize.privacy import PARAMETERS
from anonymize.spec import make
from tests.attacks.scenes import of_rows, random_scene


def test_by_chance_is_the_binomial_figure() -> None:
    assert by_chance(np.array([0.0, 0.1, 1.0]), 10).tolist() == pytest.approx([0, 10 * 0.1 * 0.9**9, 0])
    assert by_chance(np.array([1e-4]), 10_000)[0] == pytest.approx(np.exp(-1), abs=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_a_row_singles_out_whoever_alone_lies_under_it(seed: int) -> None:
    scene = random_scene(seed, spread=1)
    (success,) = singling_out.SinglingOut.attack(scene)
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
    (success,) = singling_out.Univariate.attack(leaking)
    assert success.figures["isolating"] == 1 and success.excess is not None and success.excess.low > 0
    spans[-11:] = [8, 9]
    assert singling_out.Univariate.attack(of_rows(codes, spans, np.zeros(91, int), (10,)))[0].figures["isolating"] == 0


def test_a_rare_sensitive_value_is_found() -> None:
    codes = np.zeros((50, 1), int)
    scene = of_rows(codes, np.zeros((50, 1, 2), int), np.append(np.zeros(49, int), 1), (1,))
    assert singling_out.Univariate.attack(scene)[0].figures["isolating"] == 1


def test_all_suppressed_isolates_nobody() -> None:
    draw = np.random.default_rng(0)
    spans = np.broadcast_to([0, 5], (300, 2, 2))
    scene = of_rows(draw.integers(0, 6, (300, 2)), spans, draw.integers(0, 3, 300), (6, 6))
    for attacker in (singling_out.Univariate(), singling_out.SinglingOut()):
        (success,) = attacker.attack(scene)
        assert not success.hits.any() and success.excess is not None and success.excess.high < 0.02


def _dependent(draw: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """People whose two codes hardly differ."""
    first = draw.integers(0, 300, count)
    return np.stack([first, np.clip(first + draw.integers(-2, 3, count), 0, 299)], axis=1), draw.integers(0, 3, count)


@pytest.mark.parametrize("attacker", [singling_out.SinglingOut(), singling_out.Downcoding()])
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


def test_the_size_of_the_control_changes_no_success() -> None:
    """Of twice as many people a condition isolates somebody half as often: then the control would be no measure."""
    draw = np.random.default_rng(4)
    scene = random_scene(0)
    many = TargetPeople(draw.integers(0, 6, (400, 2)), {"ill": draw.integers(0, 3, 400)})
    (success,) = singling_out.Univariate.attack(scene)
    for size in (10, 40, 400):
        (beside,) = singling_out.Univariate.attack(replace(scene, outsiders=many.of(np.arange(size))))
        assert beside.hits.tolist() == success.hits.tolist() and beside.baseline.tolist() == success.baseline.tolist()


def _controlled(copied: int, control: int, seed: int = 0) -> Success:
    """Conditions on 400 of 4,000 numbers, of which some are those of people of the original, which has 400."""
    draw = np.random.default_rng(seed)
    original, shown = draw.integers(0, 4000, 400), draw.integers(0, 4000, 400)
    shown[:copied] = original[:copied]
    spans = np.broadcast_to(shown[:, None, None], (400, 1, 2))
    nothing = np.zeros(400, int)
    others = TargetPeople(draw.integers(0, 4000, (control, 1)), {"ill": nothing[:control]})
    scene = of_rows(shown[:, None], spans, nothing, (4000,))
    people = TargetPeople(original[:, None], {"ill": nothing})
    (success,) = singling_out.SinglingOut.attack(replace(scene, everybody=people, outsiders=others))
    return success


def test_a_small_control_does_not_hide_a_leak() -> None:
    excesses = [_controlled(200, control).excess for control in (1, 10, 100, 400)]
    assert all(each is not None and each.high > 0.4 for each in excesses), excesses
    assert excesses[2] is not None and excesses[2].low > 0.2


def test_where_there_is_nothing_to_learn_the_excess_over_a_smaller_control_is_around_0() -> None:
    excesses = [excess for seed in range(40) if (excess := _controlled(0, 130, seed).excess) is not None]
    assert abs(np.mean([each.value for each in excesses])) < 0.02
    assert sum(each.low <= 0 <= each.high for each in excesses) >= 37


def test_some_who_are_asked_are_isolated_as_often_as_all_choices_say() -> None:
    people, asked = 7, 3
    met = np.arange(people + 1)
    choices = list(combinations(range(people), asked))
    by_hand = [np.mean([sum(who < number for who in each) == 1 for each in choices]) for number in met]
    assert isolated_of(met, people, asked) == pytest.approx(by_hand)
    assert isolated_of(met, people, people).tolist() == (met == 1).tolist()


# --- singling out end -------------------------------------------------------------------------------------------------


def showing(offsets: list[int], ends: tuple[int, int]) -> Scene:
    """Sixty classes of ten codes each, with people at these offsets, that show two of the codes as their ends."""
    people = len(offsets)
    start = np.repeat(np.arange(60), people)[:, None] * 10
    codes = start + np.tile(offsets, 60)[:, None]
    scene = of_rows(codes, np.stack([start, start + 9], axis=2), np.zeros(60 * people, int), (600,))
    low, high = (np.where(end < 0, -1, scene.release.first + end) for end in ends)
    return replace(scene, release=replace(scene.release, ends=(low, high)))


def test_an_end_that_one_person_has_singles_him_out() -> None:
    (success,) = singling_out.PublishedEnd.attack(showing([0, 3, 3, 3, 9], (0, 9)))
    assert success.hits.tolist() == [1.0] * 120 and success.baseline.tolist() == [0.2] * 120
    assert success.figures == {"low_ends": 1.0, "high_ends": 1.0} and success.complete


def test_an_end_that_nobody_has_or_several_do_does_not() -> None:
    (success,) = singling_out.PublishedEnd.attack(showing([3, 3, 4, 5, 6], (0, 3)))
    assert success.hits.sum() == 0 and success.baseline.tolist() == [0.3] * 120
    assert success.excess is not None and success.excess.high < 0


def test_an_end_that_is_not_shown_is_not_tried() -> None:
    (success,) = singling_out.PublishedEnd.attack(showing([0, 3, 3, 3, 9], (0, -1)))
    assert success.hits.tolist() == [1.0] * 60 and success.figures == {"low_ends": 1.0, "high_ends": None}
    assert (
        singling_out.PublishedEnd.attack(showing([0, 9], (-1, -1)))
        == []
        == singling_out.PublishedEnd.attack(random_scene(0))
    )


@pytest.mark.parametrize("seed", range(3))
def test_rates_are_those_of_brute_force(seed: int) -> None:
    scene = random_scene(seed)
    release, people = scene.release, scene.everybody.codes
    scene = replace(scene, release=replace(release, ends=(release.first, release.last)))
    for column, success in enumerate(singling_out.PublishedEnd.attack(scene)):
        fits = [((first <= people) & (people <= last)).all(axis=1) for first, last in zip(release.first, release.last)]  # noqa: B905
        counts = [np.bincount(people[some, column], minlength=6) for some in fits]
        ends = [*zip(release.first[:, column], counts), *zip(release.last[:, column], counts)]  # noqa: B905
        assert success.hits.tolist() == [float(count[end] == 1) for end, count in ends]
        sizes = np.tile(release.last[:, column] - release.first[:, column] + 1, 2)
        assert success.baseline.tolist() == pytest.approx([(count == 1).sum() for _, count in ends] / sizes)


# --- from files -------------------------------------------------------------------------------------------------------


def tried(folder: Path, cells: list[str], values: list[str], **output: Any) -> list[dict[str, Any]]:
    """What he makes of a release whose cells stand for these values, row by row."""
    (folder / "people.csv").write_text("\n".join(["pay", *values, ""]))
    (folder / "released.csv").write_text("\n".join(["pay", *cells, ""]))
    content = {"version": 1, "input": {"path": str(folder / "people.csv")}, "privacy": {"k": 2}, "output": output}
    spec = make({**content, "quasi_identifiers": {"pay": {"type": "numeric"}}}, PARAMETERS)
    names = [singling_out.PublishedEnd.ID]
    return list(attack(Attack(spec, str(folder / "released.csv"), attackers=names)).report["attacks"]["results"])


@pytest.mark.parametrize(
    ("cell", "rates"),
    [
        ("[2-7]", (1.0, 0.0)),  # two people have 7
        ("[0-9]", (0.0, 0.0)),  # nobody has 0 or 9
        ("2+", (1.0, None)),
        ("7-", (None, 0.0)),
    ],
)
def test_the_ends_that_cells_show_are_read(tmp_path: Path, cell: str, rates: tuple[float | None, ...]) -> None:
    (result,) = tried(tmp_path, [cell] * 4, ["2", "3", "7", "7"])
    assert (result["figures"]["low_ends"], result["figures"]["high_ends"]) == rates and result["about"] == "pay"


def test_an_end_that_is_left_out_is_none(tmp_path: Path) -> None:
    (result,) = tried(tmp_path, ["[1.5-3.5)"] * 3, ["1.5", "2.5", "3.5"])
    assert result["figures"] == {"low_ends": 1.0, "high_ends": None}


def test_a_limit_is_about_him_and_without_ends_it_is_unknown(tmp_path: Path) -> None:
    values = ["2", "7"]
    spec = make(
        {
            "version": 1,
            "input": {"path": str(tmp_path / "people.csv")},
            "quasi_identifiers": {"pay": {"type": "numeric"}},
            "privacy": {"k": 2},
        },
        PARAMETERS,
    )
    (tmp_path / "people.csv").write_text("\n".join(["pay", *values * 5, "3", "9", ""]))
    for cells, satisfied in {("[3-9]",) * 12: False, ("*",) * 12: None}.items():
        (tmp_path / "released.csv").write_text("\n".join(["pay", *cells, ""]))
        request = Attack(spec, str(tmp_path / "released.csv"), attackers=[singling_out.PublishedEnd.ID], max_excess=0.1)
        assert attack(request).satisfied is satisfied
