"""From text to a verdict: figures worked out by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from anonymize.claims import State
from anonymize.errors import DataError
from anonymize.verify import Check, Verdict, measure
from anonymize.verify.measuring import of_sizes
from anonymize.verify.verdict import THRESHOLD

K2 = Check("k-anonymity", None, {"k": 2})
L2 = Check("distinct-l-diversity", "ill", {"l": 2})


def verdict(zips: str, ill: str = "", checks: tuple[Check, ...] = (K2,), **more: Any) -> Verdict:
    """Of rows of one letter each: `*` is a suppressed cell, `?` a missing one."""
    frame = pl.DataFrame({"zip": list(zips), "ill": list(ill or "x" * len(zips))})
    return measure(frame, ["zip"], checks, ("?",), **more)


def test_a_class_below_k_is_unmet_with_its_rows() -> None:
    (result,) = verdict("aabbbc").results
    assert (result.state, result.achieved, result.failing_classes, result.failing_rows) == (State.UNMET, {"k": 1}, 1, 1)
    (result,) = verdict("aabbb").results
    assert (result.state, result.achieved, result.failing_rows) == (State.MET, {"k": 2}, 0)


def test_suppressed_rows_are_a_class_that_is_counted_apart() -> None:
    found = verdict("aab**")
    assert (found.rows, found.suppressed_rows, found.blank) == (5, 2, False)
    assert found.classes == {"count": 2, "min_size": 1, "mean_size": 1.5, "max_size": 2}
    assert found.results[0].achieved == {"k": 1} and verdict("aa*").results[0].state is State.UNMET


def test_where_every_row_is_suppressed_none_is() -> None:
    found = verdict("***")
    assert (found.suppressed_rows, found.blank, found.classes["count"]) == (0, True, 1)


def test_a_missing_value_is_a_class_of_its_own_and_no_sensitive_value() -> None:
    assert verdict("aa??").classes["count"] == 2
    (result,) = verdict("aaaa", "x???", (L2,)).results
    assert (result.state, result.achieved, result.failing_rows) == (State.UNMET, {"l": 1}, 4)
    (result,) = verdict("aabb", "xy??", (L2,)).results
    assert (result.achieved, result.failing_classes, result.failing_rows) == ({"l": 0}, 1, 2)


def test_rows_about_one_unit_count_once() -> None:
    units = pl.Series(["p", "p", "q", "r"])
    found = verdict("aaab", units=units)
    assert found.rows == 4 and found.classes["min_size"] == 1 and found.classes["max_size"] == 2
    assert (found.results[0].failing_classes, found.results[0].failing_rows) == (1, 1)


def test_risks_are_those_of_the_classes() -> None:
    risk = verdict("aabbbbbc").risk
    assert risk["prosecutor_max"] == 1 and risk["uniques"] == 1 and risk["threshold"] == THRESHOLD
    assert risk["marketer"] == pytest.approx(3 / 8)
    assert risk["records_at_risk"] == pytest.approx(3 / 8)  # of five rows that are alike each has a risk of 0.2
    assert verdict("aabb", threshold=0.5).risk["records_at_risk"] == 0


def test_nothing_required_is_measured_and_no_claim() -> None:
    (result,) = verdict("aab", checks=(Check("k-anonymity", None, {}),)).results
    assert result.state is State.NOTHING_REQUIRED and result.achieved == {"k": 1}


def test_spaces_at_the_ends_are_no_other_value_where_texts_are_normalized() -> None:
    frame = pl.DataFrame({"zip": ["a", "a ", "b", "b"]})
    assert measure(frame, ["zip"], [K2]).state is State.UNMET
    assert measure(frame, ["zip"], [K2], normalize=True).state is State.MET


def test_a_null_means_missing_or_the_empty_text() -> None:
    frame = pl.DataFrame({"zip": ["a", "a", None, ""]})
    assert measure(frame, ["zip"], [K2], ("?",)).classes["count"] == 3
    assert measure(frame, ["zip"], [K2], ("?",), null_missing=False).classes["count"] == 2


def test_a_text_among_numbers_is_refused() -> None:
    with pytest.raises(DataError):
        verdict("aa", "1x", (Check("k-e-anonymity", "ill", {"k": 1, "e": 0}, numeric=True),))


def test_the_largest_numbers_are_measured_and_larger_ones_refused() -> None:
    """Squares of larger ones could not be added up."""
    check = Check("squared-error-diversity", "ill", {"error": 2.0}, numeric=True)
    frame = pl.DataFrame({"zip": ["a", "a", "b", "b"], "ill": ["1e150", "-1e150", "0", "9"]})
    assert measure(frame, ["zip"], [check]).state is State.MET
    with pytest.raises(DataError, match="1 of its values are not numbers"):
        measure(frame.with_columns(pl.Series("ill", ["1e151", "-1", "0", "9"])), ["zip"], [check])


def test_classes_that_are_alike_are_judged_each() -> None:
    """Three classes of one row and one value are one kind, and three failures."""
    (result,) = verdict("abcdd", "xxxxy", (L2,)).results
    assert (result.failing_classes, result.failing_rows, result.achieved) == (3, 3, {"l": 1})


def test_sizes_alone_are_enough_for_models_of_no_attribute() -> None:
    classes = pl.DataFrame({"class": [0, 1], "size": [3, 1], "rows": [3, 1], "suppressed": [False, False]})
    (result,) = of_sizes(classes, [K2])
    assert (result.state, result.failing_classes, result.failing_rows) == (State.UNMET, 1, 1)


def test_protected_values_that_do_not_occur_are_named() -> None:
    check = Check("frequency-l-diversity", "ill", {"l": 2, "values": ["x", "flu"]})
    assert verdict("aabb", "xyxy", (check,)).absent == (("ill", "flu"),)


def test_a_null_is_a_suppressed_cell_in_columns_of_numbers_alone() -> None:
    """A null among texts is the empty text here, whatever the columns of numbers are said to be."""
    frame = pl.DataFrame({"n": [1, 1, None, None], "t": ["a", "a", None, None]})
    found = measure(frame, ["n", "t"], [K2], ("?",), null_missing=False, numbers=["n", "t", "absent"])
    assert found.suppressed_rows == 0 and found.classes["count"] == 2
    stars = frame.with_columns(t=pl.col("t").fill_null("*"))
    assert measure(stars, ["n", "t"], [K2], ("?",), null_missing=False, numbers=["n"]).suppressed_rows == 2


def test_the_order_and_the_other_meaning_of_missing_are_measured_where_they_are_asked_for() -> None:
    found = verdict("aab?")
    assert found.order is None and found.wildcard is None
    wildcard = verdict("aa?", missing_as="wildcard").wildcard
    assert wildcard is not None and wildcard.results[0].achieved == {"k": 3}


def test_only_what_is_required_is_achieved() -> None:
    check = Check("k-e-anonymity", "ill", {"k": 2}, numeric=True)
    (result,) = verdict("aabb", "1213", (check,)).results
    assert (result.achieved, result.required) == ({"k": 2}, {"k": 2})


def test_values_are_absent_from_the_attribute_that_they_are_protected_in() -> None:
    frame = pl.DataFrame({"zip": list("aabb"), "ill": list("xyxy"), "job": list("uvuv")})
    checks = [Check("frequency-l-diversity", name, {"l": 2, "values": ["x"]}) for name in ("ill", "job")]
    found = measure(frame, ["zip"], checks)
    assert found.absent == (("job", "x"),)
    assert [result.state for result in found.results] == [State.MET, State.MET]


def test_a_distance_goes_by_the_hierarchy_of_the_check_that_has_it() -> None:
    """Half of everybody has either value of A, and half those of B: a class of A alone is half of them away."""
    tree = {value: (value, node, "*") for value, node in zip("stuv", "AABB", strict=True)}
    checks = [
        Check("t-closeness", "ill", {"t": 0.6, "distance": "equal"}),
        Check("t-closeness", "ill", {"t": 0.6, "distance": "hierarchical"}, tree=tree),
    ]
    equal, hierarchical = verdict("aaaabbbb", "ssttuuvv", tuple(checks)).results
    assert equal.achieved["t"] == pytest.approx(0.5) and hierarchical.achieved["t"] == pytest.approx(0.5)
    _, mixed = verdict("aaaabbbb", "ssuuttvv", tuple(checks)).results
    assert mixed.achieved["t"] == pytest.approx(0.25)
