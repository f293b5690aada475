"""m-invariance of series made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from anonymize.verify.invariance import Invariance, invariance
from anonymize.verify.series import ReleasedAt


def measured(*nights: dict[str, str]) -> Invariance:
    """Of each person two letters: the class shown, and the value."""
    releases = []
    for number, night in enumerate(nights):
        frame = pl.DataFrame(
            {"zip": [each[0] for each in night.values()], "ill": [each[1:] for each in night.values()]}
        )
        releases.append(ReleasedAt.of_text(str(number), frame, pl.Series(list(night)), ["zip"], ["ill"]))
    return invariance(releases, "ill")


def test_the_example_of_the_definition_is_two_invariant() -> None:
    # Two classes of two values each; b leaves and e, of the same value, takes the place.
    first = {"a": "Ax", "b": "Ay", "c": "Bx", "d": "Bz"}
    second = {"a": "Ax", "e": "Ay", "c": "Bx", "d": "Bz"}
    assert measured(first, second) == Invariance("ill", 2, 1.0, 1.0, 2)


def test_a_set_of_values_that_changes_is_seen() -> None:
    # a is with y on the first night and with z on the second: only x is in both.
    first = {"a": "Ax", "b": "Ay", "c": "Bx", "d": "Bz"}
    second = {"a": "Ax", "d": "Az", "b": "By", "c": "Bx"}
    assert measured(first, second) == Invariance("ill", 0, 1.0, 0.5, 1)


def test_nothing_in_common_is_nothing() -> None:
    first = {"a": "Ax", "b": "Ay"}
    second = {"a": "Az", "b": "Aw"}
    assert measured(first, second) == Invariance("ill", 0, 1.0, 0.0, 0)


def test_a_value_twice_in_a_class_is_not_m_unique() -> None:
    night = {"a": "Ax", "b": "Ax", "c": "Ay"}
    assert measured(night, night) == Invariance("ill", 0, 0.0, 1.0, 2)


def test_missing_values_are_none() -> None:
    night = {"a": "Ax", "b": "A", "c": "Ay"}
    assert measured(night).m == 0
    assert measured(night).common == 2


def test_of_one_release_nobody_is_in_several() -> None:
    assert measured({"a": "Ax", "b": "Ay"}) == Invariance("ill", 2, 1.0, None, 2)


@pytest.mark.parametrize("values", [("Ax", "Ay", "Az"), ("A1", "A2", "A03")])
def test_m_is_the_smallest_class(values: tuple[str, str, str]) -> None:
    night = dict(zip("abc", values, strict=True)) | {"d": "Bq", "e": "Br"}
    assert measured(night, night).m == 2
