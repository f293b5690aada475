"""What a distortion is over: leaves, nodes of a level, bins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from anonymize.domain.build import build, intervals, numeric_hierarchy
from anonymize.domain.generalization import Generalization
from anonymize.domain.levels import Categories, check_level, coded, of_bins, of_domain, of_level
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.domain.tree import Tree
from anonymize.errors import SpecError, UsageError
from anonymize.spec import Output, QuasiIdentifier

AGES = Numeric("age", np.array([3, 18, 29, 30, 64]), "?")
JOBS = Taxonomy.of("job", Tree.from_paths([("a", "A", "*"), ("b", "A", "*"), ("c", "C", "*")]), "?")
INTERVAL = "[{low}-{high}]"


def test_leaves_stand_for_themselves() -> None:
    found = of_domain(AGES)
    assert found.texts == ("3", "18", "29", "30", "64", "?")
    assert found.bounds == ((3.0, 3.0), (18.0, 18.0), (29.0, 29.0), (30.0, 30.0), (64.0, 64.0), None)
    assert of_domain(JOBS).texts == ("a", "b", "c", "?")
    assert of_domain(JOBS).bounds is None


def test_bins_of_whole_numbers() -> None:
    found = of_bins(AGES, (18, 30, 31), INTERVAL)
    assert found.texts == ("<18", "[18-29]", "30", ">=31", "?")
    assert found.of_code.tolist() == [0, 1, 1, 2, 3, 4]
    assert found.bounds == ((None, 17.0), (18.0, 29.0), (30.0, 30.0), (31.0, None), None)
    assert not found.half_open


def test_bins_of_fractions_are_half_open() -> None:
    found = of_bins(Numeric("x", np.array([0.5, 1.0, 2.25])), (1, 2.5), INTERVAL)
    assert found.texts == ("<1", "[1-2.5)", ">=2.5")
    assert found.of_code.tolist() == [0, 1, 1]
    assert found.bounds == ((None, 1.0), (1.0, 2.5), (2.5, None))
    assert found.half_open


def test_a_level_of_a_taxonomy() -> None:
    found = of_level(Generalization.plain(JOBS), 1, INTERVAL)
    assert [found.texts[code] for code in found.of_code] == ["A", "A", "C", "?"]
    with pytest.raises(SpecError, match=r"quasi_identifiers.job.level: 3, and the root of its hierarchy is 2"):
        of_level(Generalization.plain(JOBS), 3, INTERVAL)


@pytest.mark.parametrize(
    ("values", "texts", "bounds", "half_open"),
    [
        ([3, 18, 29], ["[0-9]", "[10-19]", "[20-29]"], [(0, 9), (10, 19), (20, 29)], False),
        ([0.5, 18], ["[0-10)", "[10-20)"], [(0, 10), (10, 20)], True),
    ],
)
def test_bounds_of_a_level_of_numbers_are_read_from_its_labels(
    values: list[float], texts: list[str], bounds: list[tuple[float, float]], half_open: bool
) -> None:
    domain = Numeric("x", np.array(values))
    made = Generalization.over(domain, intervals(domain, (10,), INTERVAL, "*"))
    found = of_level(made, 1, INTERVAL)
    assert (list(found.texts), list(found.bounds or ()), found.half_open) == (texts, bounds, half_open)
    assert of_level(made, 2, INTERVAL).bounds == (None,)


def test_labels_that_repeat_are_one_category_and_what_does_not_occur_is_none() -> None:
    found = Categories.of(["x", "y", "x", "z"])
    assert found.of_code.tolist() == [0, 1, 0, 2]
    kept = found.occurring(np.array([True, False, False, True]))
    assert (kept.texts, kept.of_code.tolist()) == (("x", "z"), [0, -1, 0, 1])


# --- coded ------------------------------------------------------------------------------------------------------------

ZIPS = ["02138", "02139", "02141", "10001"]


def zips(level: int) -> tuple[Taxonomy, Taxonomy, list[int]]:
    definition = QuasiIdentifier.model_validate({"hierarchy": {"mask": "right"}, "levels": {"min": level}})
    whole = build("zip", definition, ZIPS, "?", "*")
    made = coded(Generalization.plain(whole), definition, Output())
    assert made is not None
    return whole, made[0].hierarchy, made[1].tolist()


def test_nothing_below_the_level_is_left_and_levels_keep_their_numbers() -> None:
    whole, left, place = zips(1)
    assert left.leaf_text() == ["0213*", "0214*", "1000*", "?"]
    assert place == [0, 0, 1, 2, 3]
    assert left.height == whole.height and left.missing == 3
    assert [left.labels[node] for node in left.levels[2]] == [
        whole.labels[whole.levels[2][leaf]] for leaf in (0, 2, 3, 4)
    ]


@pytest.mark.parametrize("level", [1, 2, 3])
def test_every_interval_costs_what_its_node_did(level: int) -> None:
    whole, left, place = zips(level)
    for low in range(whole.size):
        for high in range(low, whole.size):
            node = whole.lca(np.array([low]), np.array([high]))[0]
            above = whole.levels[level][low] if whole.levels[level][low] == whole.levels[level][high] else node
            ends = np.array([place[low]]), np.array([place[high]])
            assert left.cost(*ends)[0] == whole.node_cost[above]
            assert left.node_text(*ends) == [whole.labels[above]]


def test_at_the_root_there_is_one_node_that_costs_everything() -> None:
    _, left, place = zips(5)
    assert left.leaf_text() == ["*"] and set(place) == {0}
    assert left.cost(np.array([0]), np.array([0])).tolist() == [1.0]


def ages(level: int, values: list[float], widths: tuple[float, ...] = (5, 10)) -> Numeric:
    definition = QuasiIdentifier.model_validate(
        {"type": "numeric", "hierarchy": {"intervals": widths}, "levels": {"min": level}}
    )
    numbers = Numeric("age", np.array(values))
    made = coded(numeric_hierarchy(definition, numbers, "[{low}-{high}]", "*"), definition, Output())
    assert made is not None and isinstance(made[0].domain, Numeric)
    return made[0].domain


def test_numbers_end_where_the_intervals_do_and_cost_their_width() -> None:
    left = ages(1, [21, 22, 28, 41])
    assert left.leaf_text() == ["[20-24]", "[25-29]", "[40-44]"]
    low, high = left.ends(np.array([0, 0]), np.array([0, 2]))
    assert (low.to_list(), high.to_list()) == (["20", "20"], ["24", "44"])
    assert left.cost(np.array([0, 0]), np.array([0, 2])).tolist() == [4 / 20, 1.0]


def test_decimals_are_half_open() -> None:
    left = ages(1, [0.1, 0.25, 0.9], (0.2, 0.4))
    assert left.leaf_text() == ["[0-0.2)", "[0.2-0.4)", "[0.8-1)"]
    assert left.ends(np.array([1]), np.array([2]))[1].to_list() == ["1"]


@pytest.mark.parametrize("levels", [{"min": 4}, {"max": 7}])
def test_a_level_that_a_hierarchy_lacks(levels: dict[str, int]) -> None:
    definition = QuasiIdentifier.model_validate({"hierarchy": {"prefix": [3, 1]}, "levels": levels})
    over = Generalization.plain(build("zip", definition, ZIPS, None, "*"))
    with pytest.raises(UsageError, match="levels 0 to 3"):
        check_level(over, definition)


def test_a_label_whose_numbers_lie_apart_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("1;odd;*\n2;even;*\n3;odd;*\n4;even;*\n")
    definition = QuasiIdentifier.model_validate({"type": "numeric", "hierarchy": path, "levels": {"min": 1}})
    over = numeric_hierarchy(definition, Numeric("n", np.array([1, 2, 3])), "[{low}-{high}]", "*")
    with pytest.raises(SpecError, match="lie between those of another"):
        coded(over, definition, Output())
