"""What released texts say, by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymize.domain.build import build, numeric_hierarchy
from anonymize.domain.numeric import Numeric
from anonymize.errors import DataError
from anonymize.reading.regions import DistinctTexts, TextRegions
from anonymize.spec import Output, QuasiIdentifier
from anonymize.spec.hierarchy import Intervals
from anonymize.table import Attribute

AGES = [5, 9, 10, 14, 25]
TREE = "clerk;Office;*\nchief;Office;*\ncook;Kitchen;*\nOffice;Kitchen;*\n"


def number(low: str | None, high: str | None = "same", missing: bool = True, **output: Any) -> TextRegions:
    """The reading of one cell of ages from 5 to 25, with the hierarchy of fives and twenties."""
    domain = Numeric("age", np.array(AGES, np.int64), "?" if missing else None)
    definition = QuasiIdentifier(type="numeric", hierarchy=Intervals(intervals=(5, 20)))
    codes = np.zeros(1, np.uint8)
    attribute = Attribute("age", codes, domain, 1, lambda: numeric_hierarchy(definition, domain, "[{low}-{high}]", "*"))
    return DistinctTexts(
        attribute, [low], [low if high == "same" else high], Output(**output), frozenset({"?"})
    ).regions()


@pytest.fixture
def jobs(tmp_path: Path) -> Attribute:
    (tmp_path / "tree.csv").write_text(TREE, encoding="utf-8")
    definition = QuasiIdentifier(hierarchy=tmp_path / "tree.csv")
    domain = build("job", definition, ["clerk", "chief", "cook", "Office"], None, "*")
    return Attribute("job", np.zeros(1, np.uint8), domain, 1)


def category(attribute: Attribute, low: str, high: str | None = None, **output: Any) -> TextRegions:
    return DistinctTexts(attribute, [low], [high or low], Output(**output), frozenset({"?"})).regions()


@pytest.mark.parametrize(
    ("text", "codes", "ends", "ncp"),
    [
        ("9", (1, 1), (9, 9), 0),
        (" +09 ", (1, 1), (9, 9), 0),
        ("[5-10]", (0, 2), (5, 10), 5 / 20),
        ("[6-13]", (1, 2), (6, 13), 7 / 20),  # ends that are no values: of another tool
        ("[-3-40]", (0, 4), (-3, 40), 1),
        ("[10-14]", (2, 3), (10, 14), 4 / 20),  # an interval and a label, which say the same
        ("[0-19]", (0, 3), (0, 19), 19 / 20),  # a label: what it shows
        ("*", (0, 5), (5, 25), 1),
        (None, (5, 5), (math.nan, math.nan), 0),
        ("?", (5, 5), (math.nan, math.nan), 0),
    ],
    ids=["value", "spaces", "tight", "foreign", "wide", "both", "label", "suppressed", "null", "missing"],
)
def test_numbers(text: str | None, codes: tuple[int, int], ends: tuple[float, float], ncp: float) -> None:
    found = number(text)
    assert (found.first[0], found.last[0]) == codes
    assert (found.start[0], found.stop[0]) == pytest.approx(ends, nan_ok=True)
    assert found.ncp[0] == found.loss[0] == pytest.approx(ncp)
    assert found.suppressed[0] == (text == "*")


def test_an_interval_that_is_a_label_costs_the_same_either_way() -> None:
    assert number("[0-19]").ambiguous == number("[10-14]").ambiguous == number("[6-13]").ambiguous == 0


def test_levels_of_numbers() -> None:
    assert number("9").levels[0].tolist() == [True, False, False, False]
    assert number("[10-14]").levels[0].tolist() == [False, True, False, False]
    assert number("[6-13]").levels.any() == number("*").levels.any() == np.False_


def test_bounds_are_an_interval() -> None:
    found = number("5", "10", numeric="bounds")
    assert (found.first[0], found.last[0], found.ncp[0]) == (0, 2, 0.25)


def test_a_mean_does_not_tell_its_width() -> None:
    found = number("9.5", numeric="mean")
    assert found.summary[0] and math.isnan(found.ncp[0]) and (found.start[0], found.stop[0]) == (9.5, 9.5)
    assert not number("*", numeric="mean").summary[0]


def test_half_open_intervals_of_another_tool() -> None:
    found = number("[5-10)")
    assert (found.start[0], found.stop[0]) == (5, 10)
    assert (found.first[0], found.last[0], found.ncp[0]) == (0, 1, 0.25)
    below = number("(9, 14]", interval="({low}, {high}]")
    assert (below.first[0], below.last[0], below.ncp[0]) == (2, 3, 0.25)


@pytest.mark.parametrize("text", ["old", "[5-", "[5-x]", "1e", "(5-10)", ""])
def test_what_says_nothing_is_refused_without_being_told(text: str) -> None:
    with pytest.raises(DataError, match="1 distinct text is neither a value") as caught:
        number(text)
    assert repr(text) not in str(caught.value)


def test_missing_where_the_original_has_none_is_refused() -> None:
    with pytest.raises(DataError):
        number("?", missing=False)


def test_categories(jobs: Attribute) -> None:
    leaf, node, hidden = (category(jobs, text) for text in ("cook", "Kitchen", "*"))
    assert (leaf.first[0], leaf.last[0], leaf.ncp[0]) == (2, 2, 0)
    assert (node.first[0], node.last[0], node.ncp[0], node.loss[0]) == (2, 3, 0.5, pytest.approx(1 / 3))
    assert (hidden.first[0], hidden.last[0], hidden.ncp[0]) == (0, 3, 1)


def test_of_a_leaf_and_a_node_with_one_label_the_node_is_taken(jobs: Attribute) -> None:
    found = category(jobs, "Office")
    assert (found.first[0], found.last[0], found.ambiguous) == (0, 1, 1)


def test_sets_cost_what_covers_them(jobs: Attribute) -> None:
    within, across = (category(jobs, text, categorical="set") for text in ("{clerk|chief}", "{chief|cook}"))
    assert (within.first[0], within.last[0], within.ncp[0]) == (0, 1, 0.5)
    assert (across.first[0], across.last[0], across.ncp[0]) == (1, 2, 1)


def test_escaped_values_of_a_set(tmp_path: Path) -> None:
    domain = build("x", QuasiIdentifier(), ["a|b", "{", "\\"], None, "*")
    attribute = Attribute("x", np.zeros(1, np.uint8), domain, 1)
    whole, one = (category(attribute, text, categorical="set") for text in (r"{\\|a\|b|\{}", r"a\|b"))
    assert (whole.first[0], whole.last[0]) == (0, 2)
    assert one.ncp[0] == 0 and one.first[0] == one.last[0]


def test_positions_of_leaves(jobs: Attribute) -> None:
    found = category(jobs, "2", "3", categorical="bounds")
    assert (found.first[0], found.last[0], found.ncp[0]) == (2, 3, 0.5)
    with pytest.raises(DataError):
        category(jobs, "2", "9", categorical="bounds")


def test_positions_of_a_root_over_one_leaf_have_two_meanings() -> None:
    domain = build("x", QuasiIdentifier(), ["a"], None, "*")
    attribute = Attribute("x", np.zeros(1, np.uint8), domain, 1)
    assert category(attribute, "0", "0", categorical="bounds").ambiguous == 1
