"""The codes of values: by a table where there is one, texts where they are, others by a join, and never of a value that
is not known."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from anonymize.errors import DataError
from anonymize.spark.learned import CodeBook

OLDEST = pl.CompatLevel.oldest()
COLUMNS = {
    "small integers": pl.Series([-100, 3, 100], dtype=pl.Int8),
    "far apart": pl.Series([-(2**62), 0, 2**62]),
    "large": pl.Series([2**63 + 1, 2**63 + 5], dtype=pl.UInt64),
    "texts": pl.Series(["", "a", "b"]),
    "many texts": pl.Series([f"{number:04}" for number in range(1001)]),
    "fractions": pl.Series([0.5, 1.0, float("nan")]),
    "with a null": pl.Series(["a", "b", None]),
    "truths": pl.Series([False, True]),
}


def book_of(known: pl.Series) -> CodeBook:
    """Codes against the order of the values."""
    codes = np.arange(len(known), dtype=np.uint16)[::-1]
    return CodeBook("c0", pl.DataFrame({"value": known, "code": codes}), len(known))


def rows_of(known: pl.Series, other: object) -> pa.Table:
    """A value that is known, and another."""
    return pa.table({"c0": pl.Series([known[0], other], dtype=known.dtype).to_arrow(compat_level=OLDEST)})


@pytest.mark.parametrize("name", COLUMNS)
def test_codes_of_values(name: str) -> None:
    known = COLUMNS[name]
    rows = pl.concat([known.reverse(), known, known[:1]]).alias("c0").to_frame()
    last = len(known) - 1
    expected = [*range(last + 1), *range(last, -1, -1), last]
    assert book_of(known).codes(rows.to_arrow(compat_level=OLDEST)).tolist() == expected


@pytest.mark.parametrize(
    ("name", "other"), [("small integers", 4), ("small integers", 127), ("texts", "c"), ("fractions", 2.0)]
)
def test_a_value_that_is_not_known(name: str, other: object) -> None:
    known = COLUMNS[name]
    with pytest.raises(DataError, match="others when they were read again"):
        book_of(known).codes(rows_of(known, other))
    with pytest.raises(DataError, match="others when they were read again"):
        book_of(known).codes(rows_of(known, None))
