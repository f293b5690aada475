"""The second opinion of a bucketized table: by hand, and for files that do not belong together."""

from __future__ import annotations

import polars as pl
import pytest

from anonymize.errors import DataError
from anonymize.verify import Check
from anonymize.verify.bucketized import Reading, measure_bucketized

QIT = pl.LazyFrame({"age": ["1", "2", "2", "3", "3"], "g": ["1", "1", "2", "2", "2"]})
ST = pl.LazyFrame({"g": ["1", "1", "2", "2"], "ill": ["a", "b", "a", "c"], "count": ["1", "1", "2", "1"]})
CHECKS = [Check("distinct-l-diversity", "ill", {"l": 2}), Check("frequency-l-diversity", "ill", {"l": 2})]


def test_groups_are_measured_and_people_are_at_the_risk_of_their_quasi_identifiers() -> None:
    verdict = measure_bucketized(QIT, ST, ["age"], CHECKS, Reading("g"))
    assert [result.achieved["l"] for result in verdict.results] == [2, 1.5]
    assert [result.satisfied for result in verdict.results] == [True, False]
    assert [result.failing_rows for result in verdict.results] == [0, 3]
    assert verdict.classes == {"count": 2, "min_size": 2, "mean_size": 2.5, "max_size": 3}
    assert verdict.risk["prosecutor_max"] == 1
    assert verdict.rows == 5


def test_one_file_is_the_same() -> None:
    joined = QIT.with_columns(ill=pl.Series(["b", "a", "a", "c", "a"]))
    assert measure_bucketized(joined, None, ["age"], CHECKS, Reading("g")) == measure_bucketized(
        QIT, ST, ["age"], CHECKS, Reading("g")
    )


def test_a_missing_value_does_not_count() -> None:
    verdict = measure_bucketized(QIT, ST.with_columns(pl.col("ill").replace("c", "")), ["age"], CHECKS, Reading("g"))
    assert [result.achieved["l"] for result in verdict.results] == [1, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": ["1", "1", "1", "1"]}, "1 groups have other numbers of rows"),
        ({"g": ["1", "1", "2", "3"]}, "2 groups have other numbers of rows"),
        ({"count": ["1", "1", "3", "0"]}, "1 counts of the sensitive table are not whole numbers"),
        ({"count": ["1", "x", None, "1"]}, "2 counts"),
    ],
    ids=["fewer", "another group", "none", "no number"],
)
def test_files_that_do_not_belong_together(change: dict[str, list[str]], message: str) -> None:
    other = ST.with_columns(**{name: pl.Series(values) for name, values in change.items()})
    with pytest.raises(DataError, match=message):
        measure_bucketized(QIT, other, ["age"], CHECKS, Reading("g"))
