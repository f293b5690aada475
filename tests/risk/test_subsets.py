"""Subsets of the quasi-identifiers: distinction, separation and minimal sample uniques, against counting by hand."""

from __future__ import annotations

from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.risk import Analysis, TextFrequencySet, analyse, feasible_size
from anonymize.risk import subsets as room
from anonymize.risk.subsets import score

Rows = list[tuple[str, ...]]
GUIDELINE: Rows = [
    ("urban", "f", "secondary incomplete", "employed"),
    ("urban", "f", "secondary incomplete", "employed"),
    ("urban", "f", "primary incomplete", "not in labour force"),
    ("urban", "m", "secondary complete", "employed"),
    ("rural", "f", "secondary complete", "unemployed"),
    ("urban", "m", "secondary complete", "employed"),
    ("urban", "f", "primary complete", "not in labour force"),
    ("urban", "m", "post-secondary", "unemployed"),
    ("urban", "f", "secondary incomplete", "not in labour force"),
    ("urban", "f", "secondary incomplete", "not in labour force"),
]


def analysed(rows: Rows, max_size: int | None = None) -> Analysis:
    names = [f"q{at}" for at in range(len(rows[0]))]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return analyse(TextFrequencySet.of(frame, [[name] for name in names]), names, max_size)


def brute(rows: Rows, max_size: int) -> tuple[dict[tuple[int, ...], tuple[int, int, int, int]], list[int]]:
    """Of each subset: distinct combinations, pairs told apart, uniques, minimal uniques; and the rows' scores."""
    count = len(rows[0])
    unique: dict[tuple[int, ...], set[int]] = {}
    found, scores = {}, [0] * len(rows)
    for size in range(1, max_size + 1):
        for members in combinations(range(count), size):
            cells = [tuple(row[at] for at in members) for row in rows]
            alone = {at for at, cell in enumerate(cells) if cells.count(cell) == 1}
            unique[members] = alone
            smaller = [set(part) for n in range(1, size) for part in combinations(members, n)]
            minimal = alone - {at for part in smaller for at in unique[tuple(sorted(part))]}
            apart = sum(a != b for a, b in combinations(cells, 2))
            found[members] = (len(set(cells)), apart, len(alone), len(minimal))
            for at in minimal:
                scores[at] += score(size, count, max_size)
    return found, scores


def test_the_scores_of_a_published_example() -> None:
    found = analysed(GUIDELINE)
    assert brute(GUIDELINE, 4)[1] == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    assert (found.uniques, found.score_max, found.score_mean) == (4, 12, 3.4)


def test_contributions_of_attributes_overlap() -> None:
    found = analysed([("2", "0", "0"), ("1", "3", "6"), ("1", "0", "0")])
    assert found.contributions == {"q0": 0.5, "q1": 0.375, "q2": 0.375}


def test_the_score_counts_the_ways_to_grow_a_subset() -> None:
    assert [score(size, 4, 3) for size in (1, 2, 3)] == [6, 2, 1]
    assert [score(size, 4, 4) for size in (1, 2, 3, 4)] == [6, 2, 1, 1]
    assert [score(size, 5, 2) for size in (1, 2)] == [12, 3]


def test_quasi_identifiers_of_a_published_example() -> None:
    rows: Rows = [("20", "f", "CA"), ("30", "f", "CA"), ("40", "f", "TX"), ("20", "m", "NY"), ("40", "m", "CA")]
    found = {subset.attributes: subset for subset in analysed(rows).subsets}
    assert list(found) == [("q0",), ("q1",), ("q2",), ("q0", "q1"), ("q0", "q2"), ("q1", "q2"), ("q0", "q1", "q2")]
    assert [found[name].separation for name in found] == [0.8, 0.6, 0.7, 1.0, 1.0, 0.9, 1.0]
    assert [found[name].distinct for name in found] == [0.6, 0.4, 0.6, 1.0, 1.0, 0.8, 1.0]
    assert [found[name].uniques for name in found] == [1, 0, 2, 5, 5, 3, 5]
    assert [found[name].minimal_uniques for name in found] == [1, 0, 2, 4, 2, 1, 0]


@given(st.data())
def test_the_same_as_counting(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 5))
    row = st.tuples(*[st.sampled_from("abc")] * count)
    rows = data.draw(st.lists(row, min_size=1, max_size=14))
    max_size = data.draw(st.integers(1, count))
    found = analysed(rows, max_size)
    expected, scores = brute(rows, max_size)
    pairs = len(rows) * (len(rows) - 1) // 2
    assert [subset.attributes for subset in found.subsets] == [tuple(f"q{at}" for at in m) for m in expected]
    for subset, (distinct, apart, alone, minimal) in zip(found.subsets, expected.values(), strict=True):
        assert subset.distinct == distinct / len(rows)
        assert subset.separation == (apart / pairs if pairs else None)
        assert (subset.uniques, subset.minimal_uniques) == (alone, minimal)
    assert found.score_max == max(scores) and found.score_mean == sum(scores) / len(rows)
    assert found.uniques == sum(each > 0 for each in scores)


def test_the_size_of_subsets() -> None:
    assert feasible_size(10) == 10 and feasible_size(11) == 3
    assert analysed(GUIDELINE, 99).max_size == 4
    assert len(analysed(GUIDELINE, 1).subsets) == 4
    with pytest.raises(ValueError, match="at least one"):
        analysed(GUIDELINE, 0)


def test_too_many_subsets_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST", 10)
    assert len(analysed(GUIDELINE, 2).subsets) == 10
    with pytest.raises(ValueError, match="4 attributes have more than 10 subsets of at most 3"):
        analysed(GUIDELINE, 3)


def test_one_row_and_none() -> None:
    found = analysed([("a", "b")])
    assert [subset.minimal_uniques for subset in found.subsets] == [1, 1, 0]
    assert found.subsets[0].separation is None
    frame = pl.DataFrame({"x": []}, schema={"x": pl.String})
    nothing = analyse(TextFrequencySet.of(frame, [["x"]]), ["x"])
    assert nothing.rows == 0 and nothing.subsets[0].distinct == 0.0 and nothing.score_max == 0
