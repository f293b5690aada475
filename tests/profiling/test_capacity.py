"""What columns give away together, against counting by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.profiling.capacity import growing, together
from anonymize.profiling.measure import Hashes, Pieces


def pieces(hashes: Hashes) -> Pieces:
    """The hashes of a column in batches, one of which may be empty."""
    return np.array_split(hashes, 3)


ROWS = st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=30)


@given(ROWS)
def test_together(rows: list[tuple[int, int, int]]) -> None:
    columns = {
        name: pieces(pl.Series([row[place] for row in rows]).hash().to_numpy()) for place, name in enumerate("abc")
    }

    def alone(names: str) -> object:
        seen = Counter(tuple(row["abc".index(name)] for name in names) for row in rows)
        return pytest.approx(sum(count == 1 for count in seen.values()) / len(rows))

    for names, more in (("a", ""), ("a", "b"), ("cb", "a"), ("abc", "")):
        assert together(columns, names, more) == (alone(names), alone(names + more))


def test_equal_columns_do_not_cancel() -> None:
    same = pieces(pl.Series(range(10)).hash().to_numpy())
    assert together({"a": same, "b": same}, ["a", "b"], []) == (1.0, 1.0)


def test_sets_grow_by_the_column_with_which_most_rows_are_alone() -> None:
    columns = {"few": np.repeat(np.arange(2, dtype=np.uint64), 50), "many": np.arange(100, dtype=np.uint64) // 2}
    columns["half"] = np.arange(100, dtype=np.uint64) % 2
    sets = growing({name: pieces(hashes) for name, hashes in columns.items()}, ["few", "half", "many"])
    assert sets[-1].share == 1.0 and set(sets[-1].columns) >= {"half", "many"}
