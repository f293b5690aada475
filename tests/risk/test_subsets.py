"""Subsets of the quasi-identifiers: distinction, separation and minimal sample uniques, against counting by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.classes import Ints
from anonymize.risk import Analysis, TextFrequencySet, analyse
from anonymize.risk import subsets as room
from anonymize.risk.subsets import MOST_WORK, dis, feasible_size, score, singling_out

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


def analysed(rows: Rows, max_size: int | None = None, *, cells: bool = False) -> Analysis:
    names = [f"q{at}" for at in range(len(rows[0]))]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return analyse(TextFrequencySet.of(frame, [[name] for name in names]), names, max_size, cells=cells)


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
    monkeypatch.setattr(room, "SUBSETS_WALKED", 10)
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


# --- rows ------------------------------------------------------------------------------------------------------------


def test_cells_have_their_part_of_the_score() -> None:
    rows: Rows = [("2", "0", "0"), ("1", "3", "6"), ("1", "0", "0")]
    found = analysed(rows, cells=True)
    assert found.scores.tolist() == [2, 4, 2] and found.cells is not None
    assert found.cells.tolist() == [[2, 0, 2], [0, 2, 1], [0, 2, 1]]
    assert [sum(cells) / 8 for cells in found.cells.tolist()] == [*found.contributions.values()]
    assert analysed(rows).cells is None


def scores_of_adult() -> tuple[dict[str, Any], Ints, Ints]:
    """What sdcMicro says of Adult; the scores of its rows, and how many rows have the combination of each."""
    theirs = json.loads(Path(__file__).with_name("suda_adult.json").read_text())
    rows = theirs["score_counts"]
    scores = np.repeat([int(each) for each in rows if each != "0"], [rows[each] for each in rows if each != "0"])
    pairs = theirs["paired"] // 2
    return theirs, np.append(scores, np.zeros(pairs, np.int64)), np.repeat([1, 2], [theirs["unique"], pairs])


def test_dis_is_its_definition() -> None:
    theirs, scores, counts = scores_of_adult()
    chance = theirs["unique"] * 0.01 / (theirs["unique"] * 0.01 + theirs["paired"] * 0.99)
    risks = dis(scores, counts, 8)
    scored = scores[scores > 0].tolist()
    worth = math.fsum(1 / each for each in scored)
    odds = theirs["unique"] / chance - theirs["unique"]
    assert risks[scores > 0] == pytest.approx([1 / (1 + odds / (each * worth)) for each in scored], abs=1e-12)
    assert (risks[scores == 0] == 0).all()
    assert (1 / risks[scores > 0]).mean() == pytest.approx(1 / chance, rel=1e-9)
    assert dis(scores, counts, 8, 1.0).max() == 1.0 and dis(scores[:0], counts[:0], 8).tolist() == []


def test_dis_is_that_of_sdcmicro_but_for_single_precision() -> None:
    """sdcMicro divides in single precision: it has 401148.03125 where the definition gives 401148. With that the
    highest DIS agrees to the last digits, and without to 1e-8."""
    theirs, scores, counts = scores_of_adult()
    unique, paired, fraction = np.float32(theirs["unique"]), np.float32(theirs["paired"]), np.float32(0.01)
    chance = unique * fraction / (unique * fraction + paired * (1 - fraction))
    odds = float(np.float32(unique / chance)) - theirs["unique"]
    assert odds == 401148.03125
    worth = math.fsum(1 / scores[scores > 0])
    assert 1 / (1 + odds / (int(scores.max()) * worth)) == pytest.approx(theirs["max_dis"], abs=1e-14)
    assert dis(scores, counts, 8).max() == pytest.approx(theirs["max_dis"], abs=1e-8)


def test_dis_takes_a_power_of_the_score_by_the_number_of_attributes() -> None:
    scores, counts = np.array([1, 4, 0]), np.array([1, 1, 2])
    scaled = [1.0, 4**1.2]
    assert dis(scores, counts, 4, 0.5)[:2] == pytest.approx([1 / (1 + 2 / (each * (1 + 4**-1.2))) for each in scaled])


def test_many_attributes_are_looked_at_in_subsets_that_are_feasible() -> None:
    assert [feasible_size(count) for count in (92, 93, 511, 512)] == [3, 2, 2, 1]


@pytest.mark.parametrize("thresholds", [[1], [2], [3, 1], [4, 3, 2]])
def test_risky_cells_against_counting(thresholds: list[int]) -> None:
    frame = pl.DataFrame(GUIDELINE, schema=["q0", "q1", "q2", "q3"], orient="row")
    counted = TextFrequencySet.of(frame, [[name] for name in frame.columns])
    for subset in analyse(counted, frame.columns, thresholds=thresholds).subsets:
        sizes = frame.group_by(subset.attributes).len()["len"]
        assert subset.risky_cells == (sizes <= thresholds[min(len(subset.attributes), len(thresholds)) - 1]).sum()
    assert "risky_cells" not in analyse(counted, frame.columns).subsets[0].as_dict()


# --- passing ----------------------------------------------------------------------------------------------------------


def table(**columns: Sequence[str | None]) -> pl.LazyFrame:
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)).lazy()


def test_a_row_counts_for_the_smallest_set_on_which_it_is_unique() -> None:
    """The first row is unique on `a`, all others on two columns; nothing is left for three."""
    frame = table(a=["9", "1", "1", "2", "2"], b=["1", "1", "2", "1", "2"], c=["x"] * 5)
    found = singling_out(frame, ["c", "b", "a"])
    assert found == {
        "smallest": [{"columns": ["a"], "uniques": 1}, {"columns": ["a", "b"], "uniques": 4}],
        "max_size": 3,
        "left_out": [],
    }


def test_smaller_sets_come_first_then_those_with_more_rows() -> None:
    frame = table(a=["1", "1", "1", "2"], b=["1", "1", "2", "3"], c=["1", "1", "1", "1"])
    sizes = [(len(each["columns"]), -each["uniques"]) for each in singling_out(frame, ["a", "b", "c"])["smallest"]]
    assert sizes == sorted(sizes)
    assert sizes[0] == (1, -2)


def test_a_budget_leaves_out_the_columns_that_tell_least() -> None:
    """Of forty columns in a long table, those that are unique in most rows are looked at together."""
    rows = MOST_WORK // 200
    columns: dict[str, list[str | None]] = {f"c{n}": [str(row % 7) for row in range(rows)] for n in range(40)}
    columns["c31"] = [str(row) for row in range(rows)]
    found = singling_out(table(**columns), list(columns))
    assert "c31" not in found["left_out"]
    assert found["left_out"]
    assert found["smallest"][0] == {"columns": ["c31"], "uniques": rows}
    looked_at = 40 - len(found["left_out"])
    assert looked_at > found["max_size"] > 1


def test_a_table_beyond_the_budget_has_its_columns_looked_at_one_by_one() -> None:
    rows = MOST_WORK // 3 + 1
    frame = pl.LazyFrame({"a": pl.int_range(rows, eager=True), "b": pl.int_range(rows, eager=True) // 2})
    found = singling_out(frame, ["b", "a"])
    assert found == {
        "smallest": [{"columns": ["a"], "uniques": rows}, {"columns": ["b"], "uniques": 1}],
        "max_size": 1,
        "left_out": ["a", "b"],
    }


def test_rows_about_one_individual_count_as_one() -> None:
    frame = table(a=["1", "1", "2", "2"], b=["1", "1", "1", "1"])
    units = pl.Series([7, 7, 7, 8], dtype=pl.UInt32)
    assert singling_out(frame, ["a", "b"], units=units)["smallest"] == [{"columns": ["a"], "uniques": 1}]


def test_names_are_no_patterns() -> None:
    frame = table(**{"*": ["1", "1"], "^a$": ["1", "2"], "a": ["1", "1"]})
    assert singling_out(frame, ["*", "^a$"])["smallest"] == [{"columns": ["^a$"], "uniques": 2}]
