"""Rows that are counted once, and kept, have the counts of all rows."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize.classes import summed_by_key
from anonymize.spark.engine import collected
from anonymize.spark.measured import COUNT, HASH, NAME, VALUE, CountedRows, few_rows

ROWS = pl.DataFrame(
    {
        "c0": ["a", "b", None, "a", "", "a", None, "b"],
        "c1": ["x", "x", "x", "x", "y", "x", "x", "y"],
        "c2": [1, 2, 3, 4, 5, 6, 7, 8],
        "c3": [1, 1, 1, 1, 2, 2, 2, 2],
        "c4": ["1", "1", "1", "1", "2", "2", "2", "3"],
    }
)
KEPT = ["c0", "c1", "c3"]


@pytest.fixture
def counts(frame_of: Any, tmp_path: Path) -> CountedRows:
    """Of which all columns but one are kept."""
    return CountedRows.held(frame_of(ROWS, 2), KEPT, str(tmp_path / "kept"))


@pytest.mark.parametrize("names", [KEPT, ["c0"], ["c3", "c1"], ["c2"], ["c0", "c2"]])
def test_kept_or_not_the_counts_are_the_same(counts: CountedRows, names: list[str]) -> None:
    expected = ROWS.group_by(names).len(COUNT).sort(names).cast({COUNT: pl.Int64})
    for each in (counts, CountedRows(counts.rows)):
        assert collected(each.of(names)).select(*names, COUNT).sort(names).equals(expected)


def test_values_of_several_columns_below_each_other(counts: CountedRows) -> None:
    expected = [("c0", None, 2), ("c0", "", 1), ("c0", "a", 3), ("c0", "b", 2), ("c1", "x", 6), ("c1", "y", 2)]
    for each in (counts, CountedRows(counts.rows)):
        assert collected(each.below(["c0", "c1"])).sort(NAME, VALUE).rows() == expected


MARGINALS = {
    "c0": [("", 1), ("a", 3), ("b", 2), (None, 2)],
    "c1": [("x", 6), ("y", 2)],
    "c4": [("1", 4), ("2", 3), ("3", 1)],
}


def test_marginals_of_texts_that_are_kept_and_of_few_others(
    counts: CountedRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {name: own.rows() for name, own in counts.marginals.items()} == MARGINALS
    assert CountedRows(counts.rows).marginals == {}
    monkeypatch.setattr("anonymize.spark.measured.MOST_TEXTS", 2)
    assert CountedRows(counts.rows, counts.kept).marginals.keys() == {"c0", "c1"}


def test_few_rows_apart(counts: CountedRows, frame_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They answer for the columns that pass through, as the engine would."""
    apart = few_rows(counts.rows, ["c2", "c4"])
    assert apart is not None and apart.columns == ["c2", "c4", COUNT, HASH]
    assert apart.drop(HASH).sort("c2").rows() == [(*row, 1) for row in ROWS.select("c2", "c4").rows()]
    asked: list[str] = []
    monkeypatch.setattr(CountedRows, "of", _noted(asked))
    known = replace(counts, apart=apart)
    assert {name: own.rows() for name, own in known.marginals.items()} == MARGINALS
    assert set(asked) == {"c0", "c1"}


def _noted(asked: list[str]) -> Any:
    """`CountedRows.of`, with a note of what it is asked for."""
    of = CountedRows.of

    def noting(self: CountedRows, names: list[str]) -> Any:
        asked.extend(names)
        return of(self, names)

    return noting


def test_many_rows_are_not_kept_apart(counts: CountedRows, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where half of some rows differ, and where there are too many in the end; of fractions neither."""
    assert few_rows(counts.rows, []) is None
    assert few_rows(counts.rows.selectExpr("c0", "cast(c2 as double) as c2"), ["c0", "c2"]) is None
    monkeypatch.setattr("anonymize.spark.measured.MOST_APART", 6)
    assert few_rows(counts.rows, ["c2"]) is None
    monkeypatch.setattr("anonymize.spark.measured.MOST_APART", 2)
    assert few_rows(counts.rows.orderBy("c3").coalesce(1), ["c3", "c4"]) is None


def test_rows_are_counted(counts: CountedRows) -> None:
    assert counts.number == len(ROWS)


def test_counts_of_equal_cells_are_summed() -> None:
    cells, counts = summed_by_key(np.array([3, 5, 9, 1, 3, 9, 3]), np.array([1, 2, 3, 4, 5, 6, 7]))
    assert (cells.tolist(), counts.tolist()) == ([1, 3, 5, 9], [4, 13, 2, 9])
    none = np.zeros(0, np.int64)
    assert [each.tolist() for each in summed_by_key(none, none)] == [[], []]
