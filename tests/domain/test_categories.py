"""What a distortion is over: leaves, nodes of a level, bins."""

from __future__ import annotations

import numpy as np
import pytest

from anonymize.domain.build import intervals
from anonymize.domain.categories import Categories, of_bins, of_domain, of_level
from anonymize.domain.generalization import Generalization
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.domain.tree import Tree
from anonymize.errors import SpecError

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
