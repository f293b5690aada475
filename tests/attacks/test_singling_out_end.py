"""The attacker by published ends: an end that one person has singles him out, another one does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymize._attack import Attack, attack
from anonymize.attacks import Scene, singling_out_end
from anonymize.privacy import PARAMETERS
from anonymize.spec import make
from tests.attacks.scenes import of_rows, random_scene


def showing(offsets: list[int], ends: tuple[int, int]) -> Scene:
    """Sixty classes of ten codes each, with people at these offsets, that show two of the codes as their ends."""
    people = len(offsets)
    start = np.repeat(np.arange(60), people)[:, None] * 10
    codes = start + np.tile(offsets, 60)[:, None]
    scene = of_rows(codes, np.stack([start, start + 9], axis=2), np.zeros(60 * people, int), (600,))
    low, high = (np.where(end < 0, -1, scene.release.first + end) for end in ends)
    return replace(scene, release=replace(scene.release, ends=(low, high)))


def test_an_end_that_one_person_has_singles_him_out() -> None:
    (success,) = singling_out_end.attack(showing([0, 3, 3, 3, 9], (0, 9)))
    assert success.hits.tolist() == [1.0] * 120 and success.baseline.tolist() == [0.2] * 120
    assert success.figures == {"low_ends": 1.0, "high_ends": 1.0} and success.complete


def test_an_end_that_nobody_has_or_several_do_does_not() -> None:
    (success,) = singling_out_end.attack(showing([3, 3, 4, 5, 6], (0, 3)))
    assert success.hits.sum() == 0 and success.baseline.tolist() == [0.3] * 120
    assert success.excess is not None and success.excess.high < 0


def test_an_end_that_is_not_shown_is_not_tried() -> None:
    (success,) = singling_out_end.attack(showing([0, 3, 3, 3, 9], (0, -1)))
    assert success.hits.tolist() == [1.0] * 60 and success.figures == {"low_ends": 1.0, "high_ends": None}
    assert singling_out_end.attack(showing([0, 9], (-1, -1))) == [] == singling_out_end.attack(random_scene(0))


@pytest.mark.parametrize("seed", range(3))
def test_rates_are_those_of_brute_force(seed: int) -> None:
    scene = random_scene(seed)
    release, people = scene.release, scene.everybody.codes
    scene = replace(scene, release=replace(release, ends=(release.first, release.last)))
    for column, success in enumerate(singling_out_end.attack(scene)):
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
    names = [singling_out_end.ID]
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
        request = Attack(spec, str(tmp_path / "released.csv"), attackers=[singling_out_end.ID], max_excess=0.1)
        assert attack(request).satisfied is satisfied
