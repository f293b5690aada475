"""The attacker who knows what is kept: finds more than the prosecutor where columns single rows out, else no more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize import python as api
from anonymize._attack import Attack, attack
from anonymize.attacks import Scene, linking
from anonymize.privacy import PARAMETERS
from anonymize.spec import Spec, make
from tests.attacks.scenes import of_rows, random_scene


def keeping(scene: Scene, kept: np.ndarray) -> Scene:
    """The same scene, in which everybody's row keeps a code. `kept` (people,)."""
    assert scene.everybody.row_of is not None
    shown = np.zeros(scene.release.rows, np.int64)
    shown[scene.everybody.row_of] = kept
    people = replace(scene.everybody, kept=kept)
    return replace(scene, release=replace(scene.release, kept=shown), everybody=people, targets=people)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_the_same_for_all_tells_no_more_than_the_prosecutor_knows(seed: int) -> None:
    scene = keeping(random_scene(seed), np.zeros(40, np.int64))
    assert (
        linking.RetainedProsecutor.attack(scene)[0].hits.tolist() == linking.Prosecutor.attack(scene)[0].hits.tolist()
    )


@pytest.mark.parametrize("seed", range(3))
def test_who_keeps_what_nobody_else_does_is_found(seed: int) -> None:
    (success,) = linking.RetainedProsecutor.attack(keeping(random_scene(seed), np.arange(40)))
    assert success.hits.tolist() == [1] * 40 and success.figures == {"max": 1, "at_risk": 1}
    assert success.baseline.tolist() == [1 / 40] * 40


@pytest.mark.parametrize("seed", range(3))
def test_he_picks_one_of_the_rows_that_keep_the_same(seed: int) -> None:
    scene = keeping(random_scene(seed), np.arange(40) % 3)
    release, people = scene.release, scene.everybody
    assert release.kept is not None and people.kept is not None and people.row_of is not None
    volume = np.prod(release.last - release.first + 1, axis=1)
    for person, hit in enumerate(linking.RetainedProsecutor.attack(scene)[0].hits):
        codes = people.codes[person]
        fits = [
            row
            for row in range(40)
            if release.kept[row] == people.kept[person]
            and (release.first[release.class_of[row]] <= codes).all()
            and (codes <= release.last[release.class_of[row]]).all()
        ]
        best = min({int(release.class_of[row]) for row in fits}, key=lambda each: (volume[each], each))
        rows = [row for row in fits if release.class_of[row] == best]
        assert hit == (1 / len(rows) if people.row_of[person] in rows else 0)


def test_without_kept_columns_there_is_nothing_for_him() -> None:
    assert linking.RetainedProsecutor.attack(random_scene(0)) == []


# --- from files -------------------------------------------------------------------------------------------------------

RELEASED = "age,ward,ill\n" + "".join(f"[30-39],w{row},a\n" for row in range(40))


def asked(folder: Path, role: str = "insensitive", **given: Any) -> Attack:
    """A release in one class in which the ward names everybody."""
    (folder / "people.csv").write_text("age,ward,ill\n" + "".join(f"{30 + row % 10},w{row},a\n" for row in range(40)))
    (folder / "released.csv").write_text(RELEASED)
    return Attack(spec_of(folder, role), str(folder / "released.csv"), **given)


def spec_of(folder: Path, role: str) -> Spec:
    roles = {role: ["ward"]} if role == "insensitive" else {"workload": {"targets": ["ward"]}}
    content = {"version": 1, "input": {"path": str(folder / "people.csv")}, "privacy": {"k": 5}, **roles}
    age = {"age": {"type": "numeric"}}
    return make(
        {**content, "quasi_identifiers": age, "sensitive": {"ill": {}}, "output": {"row_order": "keep"}}, PARAMETERS
    )


@pytest.mark.parametrize("role", ["insensitive", "target"])
def test_kept_columns_are_read_from_the_files(tmp_path: Path, role: str) -> None:
    results = {each["attacker"]: each for each in attack(asked(tmp_path, role)).report["attacks"]["results"]}
    assert results["prosecutor-retained"]["figures"]["max"] == 1
    assert results["prosecutor"]["figures"]["max"] == pytest.approx(1 / 40)


@pytest.mark.parametrize(("named", "satisfied"), [((), True), (("prosecutor", "prosecutor-retained"), False)])
def test_a_limit_is_about_him_only_where_he_is_named(tmp_path: Path, named: tuple[str, ...], satisfied: bool) -> None:
    others = ("prosecutor",) if named else ()
    assert attack(asked(tmp_path, max_excess=0.5, attackers=others)).satisfied is not False
    result = attack(asked(tmp_path, max_excess=0.5, attackers=named))
    own = [each for each in result.report["attacks"]["results"] if each["attacker"] == "prosecutor-retained"]
    assert [each["satisfied"] for each in own] == [False if named else None]
    assert (result.satisfied is not False) is satisfied


# --- smallest region --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_class_of_fewest_combinations(seed: int) -> None:
    scene = random_scene(seed)
    (success,) = linking.SmallestRegion.attack(scene)
    release, pairs = scene.release, scene.candidates.toarray()
    volume = np.prod(release.last - release.first + 1, axis=1)
    assert scene.targets.row_of is not None
    by_regions, by_method = [], []
    for person, (hit, baseline) in enumerate(zip(success.hits, success.baseline, strict=True)):
        classes = np.flatnonzero(pairs[person])
        best = classes[volume[classes] == volume[classes].min()]
        own = release.class_of[scene.targets.row_of[person]]
        by_regions.append(release.sizes[classes].sum())
        by_method.append(release.sizes[best].sum())
        assert hit == pytest.approx(release.sizes[own] / by_method[-1] if own in best else 0)
        assert baseline == pytest.approx(release.sizes[own] / by_regions[-1])
    assert success.figures == {"by_regions": np.median(by_regions), "by_method": np.median(by_method)}


def test_where_no_regions_overlap_there_is_nothing_to_find() -> None:
    codes = np.array([[0], [1], [2], [3]])
    spans = np.array([[[0, 1]], [[0, 1]], [[2, 3]], [[2, 3]]])
    (success,) = linking.SmallestRegion.attack(of_rows(codes, spans, np.zeros(4, int), (4,)))
    assert success.excess is not None and (success.excess.value, success.excess.high) == (0, 0)
    assert success.hits.tolist() == [1, 1, 1, 1] == success.baseline.tolist()


def test_a_region_inside_another_gives_its_people_away() -> None:
    # Two people are shown as what they are, and six of all codes as anything.
    codes = np.array([[0], [0], *([each] for each in range(6))])
    spans = np.array([[[0, 0]], [[0, 0]], *([[0, 5]] for _ in range(6))])
    scene = of_rows(codes, spans, np.zeros(8, int), (6,))
    (success,) = linking.SmallestRegion.attack(scene)
    assert success.hits.tolist() == [1, 1, 0, 1, 1, 1, 1, 1]
    assert success.baseline.tolist() == [2 / 8] * 2 + [6 / 8] + [1] * 5
    unknown = replace(scene, targets=replace(scene.targets, row_of=None))
    (believed,) = linking.SmallestRegion.attack(unknown)
    assert believed.hits[0] == pytest.approx(2 / (2 + 6 / 6)) and believed.baseline[0] == 2 / 8


OUTPUTS: list[dict[str, Any]] = [
    {},
    {"edges": "tight", "categorical": "set"},
    {"categorical": "bounds", "numeric": "bounds"},
    {"edges": "tight", "numeric": "mean"},
]


def _report(output: dict[str, Any]) -> dict[str, Any]:
    draw = np.random.default_rng(1)
    ages = [None if each < 3 else int(each) for each in draw.integers(0, 50, 200)]
    frame = pl.DataFrame({"age": ages, "town": draw.choice(list("abcdefgh"), 200), "pay": draw.integers(0, 30, 200)})
    content = {
        "version": 1,
        "quasi_identifiers": {"age": {"type": "numeric"}, "town": {}, "pay": {"type": "numeric"}},
        "privacy": {"k": 5},
        "output": output,
        "risk": {"attacks": ["smallest-region"]},
    }
    return dict(api.release(frame, content, "top-down", refine=False).report)


@pytest.mark.parametrize("output", OUTPUTS)
def test_the_report_of_a_release_has_what_the_attacker_reads_in_the_file(output: dict[str, Any]) -> None:
    report = _report(output)
    (result,) = report["attacks"]["results"]
    block = report["risk"]["candidates"]
    assert result["figures"] == {name: block[name] for name in ("by_regions", "by_method")}
    assert (result["rate"]["value"], result["baseline"]["value"]) == pytest.approx(
        (block["right"], block["right_by_rows"])
    )
    assert block["people"] == 200 and block["by_regions"] >= block["by_method"] >= 5
