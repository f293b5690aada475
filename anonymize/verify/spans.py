"""Between which ends the value of each cell of a quasi-identifier lies, as its text says, in whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from anonymize.verify.cells import LEFT_OUT, CellTemplates, ends_of
from anonymize.verify.columns import NumberedColumn
from anonymize.verify.numbering import pair
from anonymize.verify.table import TextRows, TextTable

_LAST = "\U0010ffff"
"""Behind every character of a text."""


@dataclass(frozen=True)
class Cells:
    """A quasi-identifier: of each row the number of what it shows, and of each of these numbers what it can be.

    `keys`: `low` and `high` in whole numbers from 0 to `top`, null for what is missing; `or_missing`; `derived`: the
    ends are those of the values that were there, and the text says more or less.
    """

    name: str
    codes: pl.Series
    keys: pl.DataFrame
    top: int


def shown_texts(table: TextTable, rows: TextRows, columns: Sequence[str]) -> tuple[pl.Series, pl.DataFrame]:
    """For each row the number of what it shows in the columns of a quasi-identifier, and for each number its texts:
    `low` and `high` (the same text where there is one column), and `missing` where a column says whether it is."""
    places = [table.quasi_identifiers.index(name) for name in columns]
    released = [rows.columns[place] for place in places]
    if len(columns) == 1:
        texts = with_null(released[0])
        return released[0].numbers.of_row, pl.DataFrame(
            {"low": texts, "high": texts, "missing": pl.Series([None] * len(texts), dtype=pl.String)}
        )
    numbers = released[0].numbers
    for column in released[1:]:
        numbers = pair(numbers, column.numbers)[0]
    codes = numbers.dense.of_row
    firsts = codes.to_frame("code").with_row_index("first").group_by("code").agg(pl.col("first").min()).sort("code")
    by_end = {"low": released[0], "high": released[min(1, len(released) - 1)], "missing": None}
    for name, column in zip(columns, released, strict=True):
        by_end |= {end: column for end in by_end if name.endswith(f"_{end}")}
    texts_of = {
        end: pl.Series([None] * len(firsts), dtype=pl.String)
        if column is None
        else with_null(column).gather(column.numbers.of_row.gather(firsts["first"]))
        for end, column in by_end.items()
    }
    return codes, pl.DataFrame(texts_of)


def with_null(column: NumberedColumn) -> pl.Series:
    """The texts, behind that of missing."""
    return pl.Series("text", [None], dtype=pl.String).append(column.texts)


def stated_ends(texts: pl.DataFrame, templates: CellTemplates) -> pl.DataFrame:
    """What each number of a quasi-identifier says by its text: `suppressed`, `absent` (missing), and as a number
    `low`, `high`, `without_low`, `without_high`, `or_missing`; as text `first` and `last`, between which it lies."""
    missing, hidden = list(templates.missing), templates.suppressed
    differ = texts["low"].ne_missing(texts["high"]).any()
    pairs = differ or texts["missing"].null_count() < texts.height
    low = ends_of(texts["low"], templates)
    high = ends_of(texts["high"], templates) if differ else low
    ends = low.select("low", *LEFT_OUT, "or_missing").with_columns(high=high["high"])
    both = texts.with_columns(
        suppressed=((pl.col("low") == hidden) & (pl.col("high") == hidden)).fill_null(False),
        absent=(pl.col("low").is_null() | pl.col("low").is_in(missing))
        & (pl.col("high").is_null() | pl.col("high").is_in(missing)),
    )
    marked = both.select("suppressed", "absent", says=pl.col("missing"), text=pl.col("low"), other=pl.col("high"))
    stated = pl.concat([marked, ends], how="horizontal").with_columns(
        or_missing=pl.col("or_missing") | (pl.col("says") == "maybe").fill_null(False)
    )
    if pairs:  # an open end is empty
        known = pl.col("low").is_not_null() | pl.col("high").is_not_null()
        stated = stated.with_columns(
            low=pl.when(known).then(pl.col("low").fill_null(float("-inf"))),
            high=pl.when(known).then(pl.col("high").fill_null(float("inf"))),
        )
    if differ and templates.leaves_out_high(texts["low"], texts["high"]):
        between = (pl.col("low") < pl.col("high")) & pl.col("high").is_finite() & pl.col("low").is_finite()
        stated = stated.with_columns(without_high=between.fill_null(False))
    prefix = pl.col("text").str.strip_chars_end(hidden) if len(hidden) == 1 else pl.col("text")
    masked = (prefix != pl.col("text")) | pl.col("text").str.contains(r"^[0-9]{4}(-[0-9]{2})?$")
    return stated.with_columns(
        first=prefix, last=pl.when(masked).then(pl.concat_str(prefix, pl.lit(_LAST))).otherwise(pl.col("other"))
    )


def keys_of(stated: pl.DataFrame, low: str, high: str) -> tuple[pl.DataFrame, int]:
    """The ends (columns `low` and `high` of what is stated) as whole numbers in their order, from 0; and the highest.

    Two for each end that occurs, so that there is one between: an interval that leaves out an end stops there.
    """
    ends = pl.concat([stated[low].alias("end"), stated[high].alias("end")]).drop_nulls().unique().sort()
    place = ends.to_frame().with_row_index("place").with_columns(pl.col("place").cast(pl.Int64) * 2 + 1)
    top = 2 * len(ends) + 1
    frame = stated.with_row_index("code")
    for end, into in ((low, "low_key"), (high, "high_key")):
        frame = frame.join(place.rename({"place": into}), left_on=end, right_on="end", how="left", nulls_equal=False)
    anything = pl.col("suppressed") | (pl.col("low_key").is_null() | pl.col("high_key").is_null())
    keys = frame.sort("code").select(
        low=pl.when(~pl.col("absent")).then(
            pl.when(anything).then(0).otherwise(pl.col("low_key") + pl.col("without_low").cast(pl.Int64))
        ),
        high=pl.when(~pl.col("absent")).then(
            pl.when(anything).then(top).otherwise(pl.col("high_key") - pl.col("without_high").cast(pl.Int64))
        ),
        or_missing=pl.col("or_missing"),
        derived=anything | pl.col("derived"),
    )
    return keys, top
