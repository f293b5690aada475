"""The risk of every record, against counting by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.domain import Gapped, LeafSets
from anonymize.privacy import PARAMETERS
from anonymize.risk import Text, TextFrequencySet, before_and_after, households, record_risks, records
from anonymize.risk.records import covering
from anonymize.spec import Spec, make

EXAMPLE = """\
town f mid job
town f mid job
town f low none
town m high job
land f high seek
town m high job
town f none none
town m uni seek
town f mid none
town f mid none
land m mid job
town m low seek
"""


def risks_of(frame: pl.DataFrame, names: list[str], units: pl.Series | None = None, **spec: object) -> pl.DataFrame:
    made: Spec = make({"version": 1, "quasi_identifiers": {name: {} for name in names}, **spec}, PARAMETERS)
    return record_risks(Text(frame.lazy(), [[name] for name in names], made, made.missing("csv"), units), names)


def example() -> pl.DataFrame:
    rows = [tuple(line.split()) for line in EXAMPLE.splitlines()]
    return pl.DataFrame(rows, schema=["place", "sex", "school", "work"], orient="row")


def test_scores_and_classes_of_each_row() -> None:
    risks = risks_of(example(), ["place", "sex", "school", "work"])
    assert risks["row"].to_list() == [*range(1, 13)]
    assert risks["suda"].to_list() == [0, 0, 4, 0, 12, 0, 6, 6, 0, 0, 8, 4]
    assert risks["fk"].to_list() == [2, 2, 1, 2, 1, 2, 1, 1, 2, 2, 1, 1] == risks["Fk"].to_list()
    assert risks["rk"].to_list() == [1 / size for size in risks["fk"].to_list()]
    assert [name for name in risks.columns if name.startswith("suda_")] == [
        f"suda_{each}" for each in example().columns
    ]
    assert "household" not in risks.columns and not any(kind == pl.String for kind in risks.dtypes)


def test_what_a_value_contributes_follows_from_its_cells() -> None:
    rows = [("2", "0", "0"), ("1", "3", "6"), ("1", "0", "0")]
    frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row")
    risks = risks_of(frame, ["a", "b", "c"])
    assert risks["suda_a"].to_list() == [2, 0, 2]
    by_value = frame.with_columns(risks["suda_b"]).group_by("b").agg(pl.col("suda_b").sum()).sort("b")
    assert by_value.rows() == [("0", 1), ("3", 2)]


def test_individual_risk_by_sampling_weights() -> None:
    """f = 2 of F = 360 is a published figure, and the fraction of DIS is that of the weights."""
    frame = pl.DataFrame({"q": ["a", "a", "b"], "w": ["150", "210", "40"]})
    risks = risks_of(frame, ["q"], sampling_weight="w")
    assert risks["Fk"].to_list() == [360, 360, 40] and risks["fk"].to_list() == [2, 2, 1]
    assert risks["rk"][0] == pytest.approx(0.005424, abs=1e-6)
    assert risks["dis"].to_list() == pytest.approx([0, 0, 1 / (1 + 2 * (1 - 3 / 400) / (3 / 400))])


def test_the_household_and_individuals_in_a_class() -> None:
    frame = pl.DataFrame({"q": ["a", "b", "a", "a", "c"]})
    risks = risks_of(frame, ["q"], pl.Series([7, 7, 8, 8, 9]))
    assert risks["fk"].to_list() == [2, 1, 2, 2, 1]
    assert risks["household"].to_list() == [1.0, 1.0, 0.75, 0.75, 1.0]


def test_a_missing_cell_matches_anything_beside_what_is_shown() -> None:
    """Key counts and risks of the test table of the mu-Argus manual, as sdcMicro has them with alpha = 1."""
    lines = """\
1 2 5 1 18
1 2 1 1 45.5
1 2 1 1 39
3 3 1 5 17
4 3 1 4 541
4 3 1 1 8
6 2 1 5 5
1 2 5 1 92"""
    frame = pl.DataFrame([each.split() for each in lines.splitlines()], schema=["a", "b", "c", "d", "w"], orient="row")
    frame = frame.with_columns(pl.when(pl.int_range(8) != 2).then("c").alias("c"))
    risks = risks_of(frame, ["a", "b", "c", "d"], sampling_weight="w", privacy={"missing": "wildcard"})
    assert risks["fk"].to_list() == [2, 1, 1, 1, 1, 1, 1, 2]
    assert risks["fk_wildcard"].to_list() == [3, 2, 4, 1, 1, 1, 1, 3]
    assert risks["Fk_wildcard"].to_list() == [149, 84.5, 194.5, 17, 541, 8, 5, 149]
    expected = [0.00988563610924024, 0.0220423261832562, 0.0067871827385938, 0.177075834003514, 0.011654480146012]
    assert risks["rk_wildcard"].to_list()[:5] == pytest.approx(expected, abs=1e-12)


def test_rows_before_and_after() -> None:
    before = risks_of(pl.DataFrame({"q": ["a", "b", "c"]}), ["q"])
    after = risks_of(pl.DataFrame({"q": ["*", "*", "x"]}), ["q"])
    both = before_and_after(before, after, pl.Series([2, 0, 9]).to_numpy())
    assert both["released"].to_list() == [2, None, 1] and both["fk_after"].to_list() == [2, None, 2]
    assert both["fk"].to_list() == [1, 1, 1] and "suda_q_after" not in both.columns


def test_the_household_of_a_report() -> None:
    frame = pl.DataFrame({"q": ["a", "b", "a", "a", "c"]})
    units = pl.Series([7, 7, 8, 8, 9])
    counted = TextFrequencySet.of(frame, [["q"]], units=units, by_row=True)
    expected = {"units": 3, "max": 1.0, "mean": 2.75 / 3, "expected": 2.75, "at_risk": pytest.approx(2 / 3)}
    assert households(counted, units, 0.75) == expected


# --- covering --------------------------------------------------------------------------------------------------------


CODES = st.integers(-1, 4)
CELL = st.sets(st.integers(0, 4), min_size=1)


@given(st.lists(st.tuples(CODES, CODES), min_size=1, max_size=20), st.lists(st.tuples(CELL, CELL), max_size=8))
def test_a_class_covers_whoever_its_cells_may_be_about(people: list[tuple[int, int]], classes: Any) -> None:
    columns = [cells_of([each[column] for each in classes]) for column in (0, 1)]
    who, which = covering(np.array(people, np.int64), columns)
    expected = [
        (person, place)
        for person, codes in enumerate(people)
        for place, own in enumerate(classes)
        if all(code < 0 or code in cell for code, cell in zip(codes, own, strict=True))
    ]
    assert list(zip(who.tolist(), which.tolist(), strict=True)) == expected


def cells_of(leaves: list[set[int]]) -> LeafSets:
    first, last = (np.array([end(each) for each in leaves], np.int64) for end in (min, max))
    gapped = [sorted(each) if len(each) <= max(each) - min(each) else None for each in leaves]
    return LeafSets(first, last, Gapped.of(gapped, 5))


def test_people_are_covered_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(3)
    people, ends = draws.integers(-1, 9, (40, 3)), np.sort(draws.integers(0, 9, (30, 3, 2)), axis=2)
    columns = [LeafSets(ends[:, column, 0], ends[:, column, 1]) for column in range(3)]
    at_once = covering(people, columns)
    monkeypatch.setattr(records, "PAIRS", 7)
    assert [each.tolist() for each in covering(people, columns)] == [each.tolist() for each in at_once]


@pytest.mark.parametrize("piece", [3, 1 << 22])
def test_rows_are_drawn_and_counted_piece_by_piece(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "PIECE", piece)
    class_of = np.random.default_rng(2).integers(-1, 5, 4000).astype(np.int32)
    present = np.flatnonzero(class_of >= 0)
    drawn = records._drawn(class_of)
    assert drawn.tolist() == np.sort(np.random.default_rng(0).permutation(present)[:1000]).tolist()
    assert records._sizes_of(class_of, 6).tolist() == np.bincount(class_of[present], minlength=6).tolist()
    assert records._drawn(np.full(4, -1)).tolist() == []
