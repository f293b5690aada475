"""Where values lie among the segments of a saved recoding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anonymize.recoding.saved import Builder, CategoricalAttribute, NumericAttribute, OutputBlock, Range
from anonymize.recoding.saved.attributes import MISSING, UNKNOWN, Places, places
from anonymize.table.encode import DistinctValues

OUTPUT = OutputBlock(suppressed="*", suppressed_rows="keep", row_order="sorted")


def column(values: list[Any], missing: bool = False) -> DistinctValues:
    numbers = isinstance(values[0], int | float) if values else True
    size = len(values) + missing
    codes = np.arange(size).astype(np.uint8)
    return DistinctValues(np.array(values) if numbers else values, codes, len(values) if missing else None)


def placed(attribute: Any, values: list[Any], missing: bool = False) -> Places:
    return places(attribute, column(values, missing), OUTPUT)


def numeric(**more: Any) -> NumericAttribute:
    return NumericAttribute(name="age", low=10, high=50, **more)


def test_numbers_between_cuts_and_beyond_the_range() -> None:
    where = placed(numeric(cuts=(20, 30)), [5, 10, 19, 20, 29, 30, 50, 51])
    assert where.segment.tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
    assert where.beyond.tolist() == [True, *[False] * 6, True]
    assert where.low.tolist() == where.high.tolist() == [5, 10, 19, 20, 29, 30, 50, 51]
    assert not where.near.any()


def test_whole_numbers_beyond_2_to_the_53_are_parted_exactly() -> None:
    where = placed(NumericAttribute(name="id", low=2**60, high=2**60 + 2, cuts=(2**60 + 1,)), [2**60, 2**60 + 1])
    assert where.segment.tolist() == [0, 1]


@pytest.mark.parametrize(("own", "segment"), [(2, 2), (0, 0), (None, UNKNOWN)])
def test_missing_numbers_have_a_segment_or_are_unknown(own: int | None, segment: int) -> None:
    where = placed(numeric(cuts=(20,), missing=own), [12], missing=True)
    assert where.segment.tolist() == [0, segment]
    assert where.low.tolist() == [12, MISSING]
    assert not where.beyond.any()


def test_only_numbers_in_a_range_have_a_segment() -> None:
    ranges = (Range(low=0, high=4, segment=0), Range(low=10, high=14, segment=1), Range(low=20, high=20, segment=0))
    where = placed(numeric(ranges=ranges), [-1, 0, 4, 4.5, 10, 15, 20, 21])
    assert where.segment.tolist() == [-1, 0, 0, -1, 1, -1, 0, -1]
    assert not where.beyond.any()
    assert numeric(ranges=ranges).segments == 2
    assert placed(numeric(ranges=()), [3]).segment.tolist() == [UNKNOWN]


def test_one_segment_for_whatever_there_may_be() -> None:
    where = placed(numeric(any=True), [-1000, 12], missing=True)
    assert where.segment.tolist() == [0, 0, 0]
    assert not where.beyond.any()


def test_without_any_number_to_go_by_all_are_unknown() -> None:
    assert placed(NumericAttribute(name="age", low=None, high=None, missing=0), [1], missing=True).segment.tolist() == [
        UNKNOWN,
        0,
    ]


ZIP = CategoricalAttribute(
    name="zip",
    labels=("111", "112", "121", "211", "11*", "12*", "21*", "1**", "2**", "*"),
    parents=(4, 4, 5, 6, 7, 7, 8, 9, 9, -1),
    leaves=4,
    cuts=(2, 3),
)


def test_leaves_lie_between_cuts_and_others_are_unknown() -> None:
    where = placed(ZIP, ["111", "121", "211", "999"], missing=True)
    assert where.segment.tolist() == [0, 1, 2, UNKNOWN, UNKNOWN]
    assert where.low.tolist()[:3] == where.high.tolist()[:3] == [0, 2, 3]
    known = ZIP.model_copy(update={"missing": 3})
    assert placed(known, ["111"], missing=True).segment.tolist() == [0, 2]


def test_a_value_that_a_builder_would_place_is_near_its_lowest_ancestor() -> None:
    masked = ZIP.model_copy(update={"builder": Builder(mask="right", width=3)})
    where = placed(masked, ["113", "131", "219", "311", "1111", "111"])
    assert where.near.tolist() == [True, True, True, False, False, False]
    assert where.low.tolist() == [0, 0, 3, -1, -1, 0]
    assert where.high.tolist() == [1, 2, 3, -1, -1, 0]
    assert where.segment.tolist() == [0, 0, 2, -1, -1, 0]
    assert where.node.tolist() == [4, 7, 6, -1, -1, -1]


@pytest.mark.parametrize(
    ("builder", "labels", "value", "fits"),
    [
        (Builder(prefix=(2, 1)), ("abc", "ab*", "a*", "*"), "abz", True),
        (Builder(prefix=(2, 1)), ("abc", "ab*", "a*", "*"), "b", False),
        (Builder(dates=("month", "year")), ("2024-05-03", "2024-05", "2024", "*"), "2024-09-09", True),
        (Builder(dates=("month", "year")), ("2024-05-03", "2024-05", "2024", "*"), "2024-05", False),
        (Builder(mask="left", width=3), ("abc", "*bc", "**c", "*"), "xyc", True),
    ],
    ids=["prefix", "no prefix", "date", "no date", "mask"],
)
def test_builders(builder: Builder, labels: tuple[str, ...], value: str, fits: bool) -> None:
    attribute = CategoricalAttribute(name="x", labels=labels, parents=(1, 2, 3, -1), leaves=1, builder=builder)
    where = placed(attribute, [value])
    assert where.near.tolist() == [fits]
    assert where.segment.tolist() == [0 if fits else UNKNOWN]


def test_any_category_where_everything_is_one_segment() -> None:
    where = placed(ZIP.model_copy(update={"cuts": (), "any": True}), ["111", "999"], missing=True)
    assert where.segment.tolist() == [0, 0, 0]


def test_rows_have_the_places_of_their_values() -> None:
    rows = placed(ZIP, ["111", "211"]).of_rows(np.array([1, 0, 1], np.uint8))
    assert rows.segment.tolist() == [2, 0, 2]
