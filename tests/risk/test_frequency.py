"""The frequency set: every combination once, in order of its first row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.privacy import PARAMETERS
from anonymize.risk import TextFrequencySet, risk_before, sizes_before
from anonymize.risk.frequency import refined
from anonymize.spec import make
from anonymize.table import Source, read

CELLS = st.sampled_from(["a", "b", "", None])


def test_combinations_in_order_with_rows_and_weights() -> None:
    frame = pl.DataFrame({"x": ["1", "01", "1", "2"], "y": ["a", "a", "a", "a"], "w": ["1.5", "2", " 3 ", "4"]})
    found = TextFrequencySet.of(frame, [["x"], ["y"]], weight=pl.col("w"))
    assert found.counts.tolist() == [2, 1, 1]
    assert found.weights is not None and found.weights.tolist() == [4.5, 2.0, 4.0]
    assert found.rows == 4 and found.codes.shape == (2, 3)
    assert len(set(found.codes[0].tolist())) == 3 and len(set(found.codes[1].tolist())) == 1


def test_a_null_is_a_value_of_its_own_unless_it_is_filled() -> None:
    frame = pl.DataFrame({"x": ["", None, "", "1"]})
    assert TextFrequencySet.of(frame, [["x"]]).counts.tolist() == [2, 1, 1]
    assert TextFrequencySet.of(frame, [["x"]], fill="").counts.tolist() == [3, 1]


def test_two_columns_are_one_attribute() -> None:
    frame = pl.DataFrame({"low": ["1", "1", "2"], "high": ["5", "6", "6"]})
    found = TextFrequencySet.of(frame, [["low", "high"]])
    assert found.codes.shape == (1, 3) and found.counts.tolist() == [1, 1, 1]


def test_texts_that_match_anything_are_one_code() -> None:
    frame = pl.DataFrame({"x": ["?", "1", "*", None], "y": ["a"] * 4})
    found = TextFrequencySet.of(frame, [["x"], ["y"]], wild=["?", "*"])
    assert found.counts.tolist() == [3, 1] and found.codes[0].tolist()[0] == 0 and found.codes[1].min() > 0


def test_a_unit_counts_once_for_a_combination() -> None:
    frame = pl.DataFrame({"x": ["a", "a", "b", "a", "b"], "w": ["1", "9", "3", "2", "4"]})
    units = pl.Series(["one", "one", "one", "two", "one"])
    found = TextFrequencySet.of(frame, [["x"]], weight=pl.col("w"), units=units)
    assert found.weights is not None
    assert (found.counts.tolist(), found.weights.tolist()) == ([2, 1], [3.0, 3.0])


def test_no_rows() -> None:
    found = TextFrequencySet.of(pl.DataFrame({"x": []}, schema={"x": pl.String}), [["x"]])
    assert found.rows == 0 and found.codes.shape == (1, 0)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=30))
def test_the_same_as_counting_tuples(rows: list[tuple[str | None, ...]]) -> None:
    frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row").cast(pl.String)
    found = TextFrequencySet.of(frame, [["a"], ["b"], ["c"]])
    distinct = list(dict.fromkeys(rows))
    assert found.counts.tolist() == [rows.count(row) for row in distinct]
    for at in range(3):
        pairs = zip(found.codes[at].tolist(), (row[at] for row in distinct), strict=True)
        assert len(set(pairs)) == len({row[at] for row in distinct}) == len(set(found.codes[at].tolist()))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1), st.sampled_from([10, 10**6]))
def test_groups_parted_by_a_table_and_by_a_sort(rows: list[tuple[int, int]], span: int) -> None:
    labels, codes = np.array(rows).T
    numbers, count = refined(labels, 4, codes, span)
    assert count == len(set(rows)) and sorted(set(numbers.tolist())) == list(range(count))
    assert len(set(zip(numbers.tolist(), rows, strict=True))) == count


# --- before -----------------------------------------------------------------------------------------------------------

TABLE = "who,age,job\n1,30,cook\n2,30,cook\n2,30,cook\n3,40,cook\n4,,clerk\n4,,clerk\n"


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        (None, {"classes": 3, "prosecutor_max": 1.0, "prosecutor_mean": 0.5, "records_at_risk": 0.5, "uniques": 1}),
        ("who", {"classes": 3, "prosecutor_max": 1.0, "prosecutor_mean": 0.75, "records_at_risk": 0.5, "uniques": 2}),
    ],
)
def test_classes_are_of_equal_values_and_individuals_count_once(
    tmp_path: Path, unit: str | None, expected: dict[str, float]
) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    quasi = {"age": {"type": "numeric"}, "job": {}}
    content = {"version": 1, "input": {"path": str(tmp_path / "table.csv")}, "quasi_identifiers": quasi}
    content |= {"privacy": {"k": 2}, **({"identifiers": ["who"]} if unit is None else {"unit": unit})}
    spec = make(content, PARAMETERS)
    with Source.open(spec, None) as source:
        table = read(spec, source)
        threshold = 0.4 if unit is None else 0.5
        for together in (1, 2, 1 << 20):
            assert risk_before(sizes_before(table, together), threshold) == pytest.approx(expected)
