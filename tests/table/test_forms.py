"""Lines of a CSV are the bytes that the writer makes of the same cells."""

import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.table.forms import quoted, side_by_side

CELLS = st.lists(st.none() | st.text(alphabet='a",;|\t\n\r é', max_size=4), min_size=1, max_size=8)


def by_polars(frame: pl.DataFrame, separator: str) -> str:
    return frame.write_csv(include_header=False, separator=separator)


def as_they_are(frame: pl.DataFrame, separator: str) -> str:
    return frame.write_csv(include_header=False, separator=separator, quote_style="never")


@given(first=CELLS, second=CELLS, separator=st.sampled_from(",;|\t"))
def test_quoted_cells_are_what_the_writer_makes_of_them(
    first: list[str | None], second: list[str | None], separator: str
) -> None:
    rows = min(len(first), len(second))
    frame = pl.DataFrame({"*": first[:rows], "^b$": second[:rows]}, schema={"*": pl.String, "^b$": pl.String})
    cells = [quoted(column, separator) for column in frame.iter_columns()]
    assert [column.name for column in cells] == frame.columns
    assert as_they_are(pl.DataFrame(cells), separator) == by_polars(frame, separator)
    whole = pl.DataFrame([side_by_side(cells, separator).alias("line")])
    assert as_they_are(whole, separator) == by_polars(frame, separator)


@pytest.mark.parametrize("character", [chr(code) for code in range(128)])
def test_no_other_character_is_quoted(character: str) -> None:
    frame = pl.DataFrame({"a": [character, f"a{character}", f"{character}b"], "b": ["", None, "x"]})
    lines = io.StringIO(as_they_are(pl.DataFrame([quoted(each, ",") for each in frame.iter_columns()]), ","))
    assert lines.getvalue() == by_polars(frame, ",")


def test_where_nothing_is_quoted_nothing_is_copied() -> None:
    plain = pl.Series("a", ["x", None, "[1-2]"])
    assert quoted(plain, ",") is plain
    assert quoted(plain, "-").to_list() == ["x", None, '"[1-2]"']
