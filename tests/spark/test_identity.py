"""Every row of the input is released, and once; a random order is drawn from nothing that a lost worker draws anew."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize import spark
from anonymize.errors import DataError
from anonymize.spark.engine import in_order
from anonymize.spark.measured import RowSum, check_rows, few_rows

SPEC: dict[str, Any] = {
    "version": 1,
    "quasi_identifiers": {"age": {"type": "numeric"}},
    "insensitive": ["id", "note"],
    "output": {"row_order": "shuffle"},
    "privacy": {"k": 5},
}
TABLE = pl.DataFrame(
    {
        "id": np.arange(60),
        "age": [20 + row % 7 for row in range(60)],
        "note": [("a", "b", None, "a", "")[row % 5] for row in range(60)],
    }
)
COLUMNS = ["id", "note"]


def here(df: Any) -> pl.DataFrame:
    """A DataFrame, in its order."""
    return pl.DataFrame(df.toArrow())


def changed(row: int, **cells: object) -> pl.DataFrame:
    """The table with other cells in a row."""
    rows = TABLE.to_dicts()
    rows[row] |= cells
    return pl.DataFrame(rows, schema=TABLE.schema)


OTHERS = {
    "a row twice": pl.concat([TABLE, TABLE[:1]]),
    "a row twice, another lost": pl.concat([TABLE[1:], TABLE[1:2]]),
    "a row three times, two lost": pl.concat([TABLE[2:], TABLE[2:3], TABLE[2:3]]),
    "a row lost": TABLE[1:],
    "another cell": changed(3, note="c"),
    "a null for an empty text": changed(4, note=None),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_rows(frame_of: Any, tmp_path: Path, name: str) -> None:
    """`frame_of` writes one table at a time."""
    before = RowSum.of(frame_of(TABLE), COLUMNS)
    assert before == RowSum.of(frame_of(TABLE.sample(fraction=1, shuffle=True, seed=2), 2), COLUMNS)
    other = frame_of(OTHERS[name])
    assert RowSum.of(other, COLUMNS) != before
    same = changed(0, id=0)
    (tmp_path / "own").mkdir()
    same.write_parquet(tmp_path / "own" / "0.parquet")
    own = other.sparkSession.read.parquet(str(tmp_path / "own"))
    check_rows(own, own, COLUMNS)
    with pytest.raises(DataError, match="changed when they were read again"):
        check_rows(own, other, COLUMNS)


@pytest.mark.parametrize("name", OTHERS)
def test_other_rows_by_their_different_rows(frame_of: Any, name: str) -> None:
    """Rows are told from others by counts of the different ones, too: those of the input are summed row by row."""
    table = frame_of(TABLE)
    before = RowSum.of(table, COLUMNS)
    apart = few_rows(table, COLUMNS)
    assert apart is not None and RowSum.counted(apart) == before
    other = few_rows(frame_of(OTHERS[name]), COLUMNS)
    assert other is not None and RowSum.counted(other) != before
    with pytest.raises(DataError, match="changed when they were read again"):
        check_rows(frame_of(TABLE), table, COLUMNS, other)


def test_different_rows_of_other_columns_are_not_compared(frame_of: Any) -> None:
    table = frame_of(TABLE)
    check_rows(table, table, COLUMNS, few_rows(table, COLUMNS[:1]))


def test_without_columns_that_pass_rows_are_counted(frame_of: Any) -> None:
    assert RowSum.of(frame_of(TABLE), []) == RowSum(60)


@pytest.mark.parametrize("change", ["twice", "lost", "other"])
def test_a_release_of_other_rows_is_refused(
    frame_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """As where a worker in the place of one that was lost had made others."""

    def broken(df: Any, *arguments: Any) -> Any:
        rows = in_order(df, *arguments)
        kept = rows if change == "twice" else rows.filter("c0 != 7")
        return kept if change == "lost" else kept.unionAll(rows.filter("c0 = 8"))

    monkeypatch.setattr("anonymize.spark.searches.in_order", broken)
    with pytest.raises(DataError, match="changed when they were read again"):
        spark.release(frame_of(TABLE), SPEC, checkpoint=str(tmp_path))


def test_a_random_order(frame_of: Any, tmp_path: Path) -> None:
    """Another in every run, of the same rows; not that of what they show."""
    drawn = [here(spark.release(frame_of(TABLE), SPEC, checkpoint=str(tmp_path))[0]) for _ in range(2)]
    assert not drawn[0].equals(drawn[1]) and drawn[0].sort("id").equals(drawn[1].sort("id"))
    assert drawn[0].drop("age").sort("id").equals(TABLE.drop("age"))


def test_a_random_order_is_the_same_when_it_is_made_again(frame_of: Any) -> None:
    """From the same rows in another order and other partitions: also of rows that show the same, which do not lie side
    by side, and of which others are told by columns that are not shown."""
    shown = TABLE.select("age", pl.lit("x").alias("note"), "id")
    orders = []
    token = "0123456789abcdef" * 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("anonymize.spark.engine.token_hex", lambda size: token)
        for table, partitions in ((shown, 3), (shown.sample(fraction=1, shuffle=True, seed=4), 2)):
            orders.append(here(in_order(frame_of(table, partitions), "shuffle", (["age"], ["note"]), 60)))
    assert orders[0].equals(orders[1])
    ages = orders[0]["age"].to_numpy()
    assert np.count_nonzero(ages[1:] == ages[:-1]) < 30, "rows that show the same lie side by side"


def test_order_by_what_is_shown_keeps_classes_together(frame_of: Any) -> None:
    """A null in one column is not taken for one in another."""
    rows = pl.DataFrame({"a": ["x", None] * 20, "b": [None, "x"] * 20, "c": range(40)})
    made = here(in_order(frame_of(rows), "sorted", (["a", "b"], ["c"]), 40))
    assert made.columns == ["a", "b", "c"] and made.sort("c").equals(rows)
    assert len(made.select(pl.col("a").rle_id()).unique()) == 2
    again = here(in_order(frame_of(rows.reverse(), 2), "sorted", (["a", "b"], ["c"]), 40))
    assert made.equals(again)


def test_rows_of_a_class_in_one_piece_or_in_several(frame_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are the same, and in the order of hashes in every piece."""
    monkeypatch.setattr("anonymize.spark.engine.PIECE_ROWS", 10)
    rows = pl.DataFrame({"a": [row % 5 for row in range(60)], "b": range(60)})
    pieces: dict[bool, list[int]] = {}
    for together in (True, False):
        made = in_order(frame_of(rows), "sorted", (["a"], ["b"]), 60, together)
        frame = here(made.selectExpr("*", "spark_partition_id() as piece"))
        assert frame.select("a", "b").sort("b").equals(rows)
        pieces[together] = frame.group_by("a").agg(pl.col("piece").n_unique())["piece"].to_list()
    assert max(pieces[True]) == 1 < max(pieces[False])
