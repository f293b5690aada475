"""Whether suppressed rows can be published, as a class that must be safe like any other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from anonymize.classes import Partition
from anonymize.families.classes import must_drop
from anonymize.privacy import PARAMETERS, Requirement
from anonymize.recoding import Regions
from anonymize.spec import Spec, make
from tests.algorithms.tables import k_anonymity, numeric, requirement, sensitive, table_of

K2 = k_anonymity(2)


def spec(**output: Any) -> Spec:
    quasi = {"x": {"type": "numeric"}}
    return make({"version": 1, "quasi_identifiers": quasi, "privacy": {"k": 1}, "output": output}, PARAMETERS)


def dropped(classes: list[int], values: str, *requirements: Requirement, **output: Any) -> bool:
    """Rows by the class of each, -1 for a suppressed one, and their sensitive values."""
    table = table_of(numeric(list(range(len(classes)))), sensitive=[sensitive(list(values))])
    return must_drop(spec(**output), table, recoding(classes), requirements)


def recoding(classes: list[int]) -> Regions:
    labels = np.array(classes)
    blocks = [np.flatnonzero(labels == each).astype(np.uint32) for each in range(labels.max() + 1)]
    partition = Partition.of_blocks(blocks, [np.array([len(block)]) for block in blocks])
    return Regions(partition, np.flatnonzero(labels < 0).astype(np.uint32))


@pytest.mark.parametrize(
    ("classes", "drops"), [([0, 0, 1, 1, -1], True), ([0, 0, 1, 1, -1, -1], False), ([0, 0, 1, 1], False)]
)
def test_fewer_suppressed_rows_than_a_class_needs_are_left_out(classes: list[int], drops: bool) -> None:
    assert dropped(classes, "a" * len(classes), K2) is drops


@pytest.mark.parametrize("classes", [[0, 0, 1, 1], [0, 0, -1, -1, -1]])
def test_the_spec_may_leave_them_out(classes: list[int]) -> None:
    assert dropped(classes, "a" * len(classes), K2, suppressed_rows="drop")


def test_suppressed_rows_must_be_diverse_as_any_class() -> None:
    wanted = (K2, requirement("distinct-l-diversity", "s", l=2))
    assert dropped([0, 0, 1, 1, -1, -1], "ababaa", *wanted)
    assert not dropped([0, 0, 1, 1, -1, -1], "ababab", *wanted)


def test_they_are_left_out_where_classes_fail_by_what_they_add_to_the_whole() -> None:
    """By themselves the classes are the table, and 0 away from it. With four rows of b beside, the table is half of
    each, and every class a third away."""
    near = requirement("t-closeness", "s", t=0.1)
    assert dropped([0, 0, 0, 1, 1, 1, -1, -1, -1, -1], "aabaab" + "bbbb", near)
    assert not dropped([0, 0, 0, 1, 1, 1, -1, -1, -1], "aabaab" + "aab", near)


def test_they_stay_where_a_class_fails_with_them_and_without() -> None:
    """Nothing is won by leaving them out: the check says what is not met."""
    assert not dropped([0, 1, 1, -1, -1], "aaaaa", K2)


def test_everybody_of_a_population_is_under_suppressed_rows() -> None:
    classes = [0, 0, 1, 1, -1, -1]
    table = table_of(numeric(list(range(6))), sensitive=[sensitive(list("aaaaaa"))])
    table = replace(table, populations=cast(Any, {"people.csv": None}))
    assert must_drop(spec(), table, recoding(classes), (K2,))
    assert not must_drop(spec(), table, recoding([0, 0, 1, 1, 2, 2]), (K2,))


def test_rows_that_a_search_withholds_stay_out() -> None:
    class Withheld(Regions):
        withheld = True

    regions = recoding([0, 0, 1, 1, -1, -1])
    table = table_of(numeric(list(range(6))), sensitive=[sensitive(list("aaaaaa"))])
    assert must_drop(spec(), table, Withheld(regions.partition, regions.suppressed), (K2,))
