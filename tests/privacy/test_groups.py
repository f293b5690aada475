"""Histograms: dense, sorted and weighted counting are one."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize import classes
from anonymize.privacy import Histogram

pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=60)


def arrays(rows: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return table[:, 0].astype(np.uint32), table[:, 1].astype(np.uint8)


def as_dict(histogram: Histogram) -> dict[tuple[int, int], int]:
    keys = zip(histogram.classes.tolist(), histogram.codes.tolist(), strict=True)
    return dict(zip(keys, histogram.counts.tolist(), strict=True))


@pytest.mark.parametrize("how", ["dense", "sorted", "weighted"])
@given(rows=pairs, missing=st.one_of(st.none(), st.integers(0, 9)))
def test_counts_are_those_of_a_counter(how: str, rows: list[tuple[int, int]], missing: int | None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if how == "sorted":
            patch.setattr(classes, "DENSE", 0)
            patch.setattr(classes, "DENSE_PER_ROW", 0)
        counts = np.ones(len(rows), dtype=np.int64) if how == "weighted" else None
        found = Histogram.from_rows(*arrays(rows), 7, 10, missing=missing, counts=counts)
    expected = Counter(pair for pair in rows if pair[1] != missing)
    assert as_dict(found) == expected
    assert list(as_dict(found)) == sorted(expected)
    assert found.starts.tolist() == [sum(c < label for c, _ in expected) for label in range(8)]
    assert found.present().tolist() == [sum(c == label and s != missing for c, s in rows) for label in range(7)]
    assert found.distinct().tolist() == [len({s for c, s in rows if c == label and s != missing}) for label in range(7)]


def test_weights_stand_for_rows() -> None:
    found = Histogram.from_rows(np.array([1, 0, 1]), np.array([2, 2, 2]), 2, 3, counts=np.array([5, 1, 7]))
    assert as_dict(found) == {(0, 2): 1, (1, 2): 12}


def test_empty_classes_take_nothing_from_their_neighbours() -> None:
    found = Histogram.from_rows(np.array([1, 1, 3]), np.array([0, 1, 0]), 6, 2)
    assert found.sum(found.counts).tolist() == [0, 2, 0, 1, 0, 0]
    assert found.max(found.counts).tolist() == [0, 1, 0, 1, 0, 0]
    assert found.sum(found.counts * np.float64(0.5)).tolist() == [0.0, 1.0, 0.0, 0.5, 0.0, 0.0]


def test_values_follow_the_codes() -> None:
    found = Histogram.from_rows(
        np.array([0, 0, 0]), np.array([2, 0, 1]), 1, 3, missing=1, values=np.array([1.5, np.nan, 9])
    )
    assert found.values is not None and found.values.tolist() == [1.5, 9.0]
