"""The attacker by homogeneity of what is kept: names the value that all of a class have, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from anonymize.attacks import Scene, homogeneity_retained
from anonymize.attacks.majority import offered
from anonymize.attacks.methods import CERTAIN
from tests.attacks.scenes import of_rows, random_scene
from tests.attacks.test_prosecutor_retained import asked


def keeping(scene: Scene) -> Scene:
    """The same scene, in which the values are those of a kept column."""
    return replace(scene, sensitive={}, kept=lambda: scene)


def in_classes(values: np.ndarray) -> Scene:
    """`values` (classes, people of each); everybody of a class shows its number."""
    codes = np.repeat(np.arange(len(values)), values.shape[1])[:, None]
    return keeping(of_rows(codes, np.stack([codes, codes], axis=2), values.ravel(), (len(values),)))


def test_a_value_that_all_of_a_class_have_is_named() -> None:
    values = np.array([[1] * 5, [0] * 5, [0, 0, 0, 0, 2], [0, 1, 2, 0, 0]])
    (success,) = homogeneity_retained.attack(in_classes(values))
    assert success.figures == {"named": 0.5} and success.about == "ill"
    assert success.hits.reshape(4, 5).tolist() == [[1] * 5, [1] * 5, [1, 1, 1, 1, 0], [1, 0, 0, 1, 1]]
    assert success.baseline.sum() == (values == 0).sum()


def test_where_no_class_is_homogeneous_nothing_is_learned() -> None:
    (success,) = homogeneity_retained.attack(in_classes(np.array([[0, 0, 1], [1, 0, 0]])))
    assert success.hits.tolist() == success.baseline.tolist() and success.figures == {"named": 0.0}
    assert homogeneity_retained.attack(random_scene(0)) == []


@pytest.mark.parametrize("seed", range(5))
def test_he_is_as_certain_as_the_shares_that_are_offered(seed: int) -> None:
    scene = random_scene(seed, spread=1)
    (success,) = homogeneity_retained.attack(keeping(scene))
    (shares,) = offered(scene, "ill")
    common = np.bincount(scene.release.values["ill"]).argmax()
    guess = np.where(shares.max(axis=1) >= CERTAIN, shares.argmax(axis=1), common)
    assert success.hits.tolist() == (guess == scene.targets.values["ill"]).tolist()
    assert success.figures["named"] == (shares.max(axis=1) >= CERTAIN).mean()


def test_missing_values_are_no_values() -> None:
    values = np.array([[1] * 5, [-1] * 5, [0, 1, 0, -1, 0]])
    (success,) = homogeneity_retained.attack(in_classes(values))
    assert len(success.hits) == 9 and success.figures["named"] == pytest.approx(5 / 9)


# --- from files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["insensitive", "target"])
@pytest.mark.parametrize(("named", "satisfied"), [((), None), (("homogeneity-retained",), False)])
def test_kept_columns_are_read_and_a_limit_is_about_him_where_he_is_named(
    tmp_path: Any, role: str, named: tuple[str, ...], satisfied: bool | None
) -> None:
    request = asked(tmp_path, role, max_excess=0.5, attackers=named)
    people = [f"{20 + 20 * (row % 2)},{'ab'[row % 2]},x\n" for row in range(40)]
    released = [f"{'[10-30]' if row % 2 == 0 else '[35-60]'},{'ab'[row % 2]},x\n" for row in range(40)]
    for name, lines in {"people.csv": people, "released.csv": released}.items():
        (tmp_path / name).write_text("".join(["age,ward,ill\n", *lines]))
    from anonymize._attack import attack

    results = attack(request).report["attacks"]["results"]
    (own,) = [each for each in results if each["attacker"] == "homogeneity-retained"]
    assert (own["about"], own["rate"]["value"], own["figures"]["named"]) == ("ward", 1, 1)
    assert own["baseline"]["value"] == 0.5 and own["satisfied"] is satisfied
