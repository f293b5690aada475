"""Which combinations mu-Argus tests, and that a spec with too many of them is refused."""

from __future__ import annotations

import pytest

from anonymize.algorithms import tested
from anonymize.errors import UsageError


def test_which_combinations_are_tested() -> None:
    assert tested.tested(["yes", "more"]) == [(0, 1)]
    assert tested.tested(["more", "more", "yes"]) == [(0, 2), (1, 2)]
    assert tested.tested(["most", "more", "more", "yes"]) == [
        *[(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)],
        *[(0, 1, 3), (0, 2, 3)],
    ]
    assert (0, 1, 2) in tested.tested(["most", "most", "more"])
    assert (0, 1, 2) in tested.tested(["most", "yes", "most"])


@pytest.mark.parametrize("one", ["most", "more", "yes"])
def test_attributes_of_one_class_are_tested_in_all_pairs_and_triples(one: str) -> None:
    assert len(tested.tested([one] * 4)) == 6 + 4
    assert tested.tested([one]) == []


@pytest.mark.parametrize(
    "classes", [["yes"] * 7, ["most"], ["more", "yes", "yes"], ["most", "most", "more", "yes", "yes", "more", "most"]]
)
def test_they_are_counted_as_they_are_made(classes: list[str]) -> None:
    assert tested.tested_count(classes) == len(tested.tested(classes))


def test_more_tests_than_can_be_made_are_refused_before_they_begin() -> None:
    with pytest.raises(UsageError, match=r"200 quasi-identifiers have 1333300 pairs and triples.*say which"):
        tested.check_tests(["yes"] * 200, 400, 2_000)
    tested.check_tests(["most"] + ["yes"] * 199, 400, 2_000)
    tested.check_tests(["yes"] * 8, 30, 1_000_000)
    with pytest.raises(UsageError):
        tested.check_tests(["yes"] * 8, 30, 1_000_000, most=10**9)
