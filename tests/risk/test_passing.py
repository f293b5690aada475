"""The smallest sets of columns that single rows out, and what the budget leaves out."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from anonymize.risk.passing import BUDGET, singling_out


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
    rows = BUDGET // 200
    columns: dict[str, list[str | None]] = {f"c{n}": [str(row % 7) for row in range(rows)] for n in range(40)}
    columns["c31"] = [str(row) for row in range(rows)]
    found = singling_out(table(**columns), list(columns))
    assert "c31" not in found["left_out"]
    assert found["left_out"]
    assert found["smallest"][0] == {"columns": ["c31"], "uniques": rows}
    looked_at = 40 - len(found["left_out"])
    assert looked_at > found["max_size"] > 1


def test_a_table_beyond_the_budget_has_its_columns_looked_at_one_by_one() -> None:
    rows = BUDGET // 3 + 1
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
