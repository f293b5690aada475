"""The smallest region that covers somebody: by brute force, where nothing overlaps, and in the report of a release."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize import python as api
from anonymize.attacks import smallest_region
from tests.attacks.scenes import of_rows, random_scene


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_class_of_fewest_combinations(seed: int) -> None:
    scene = random_scene(seed)
    (success,) = smallest_region.attack(scene)
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
    (success,) = smallest_region.attack(of_rows(codes, spans, np.zeros(4, int), (4,)))
    assert success.excess is not None and (success.excess.value, success.excess.high) == (0, 0)
    assert success.hits.tolist() == [1, 1, 1, 1] == success.baseline.tolist()


def test_a_region_inside_another_gives_its_people_away() -> None:
    # Two people are shown as what they are, and six of all codes as anything.
    codes = np.array([[0], [0], *([each] for each in range(6))])
    spans = np.array([[[0, 0]], [[0, 0]], *([[0, 5]] for _ in range(6))])
    scene = of_rows(codes, spans, np.zeros(8, int), (6,))
    (success,) = smallest_region.attack(scene)
    assert success.hits.tolist() == [1, 1, 0, 1, 1, 1, 1, 1]
    assert success.baseline.tolist() == [2 / 8] * 2 + [6 / 8] + [1] * 5
    unknown = replace(scene, targets=replace(scene.targets, row_of=None))
    (believed,) = smallest_region.attack(unknown)
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
