"""The order of a table's rows: between which ends the value of each cell lies, and whether rows are sorted by that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

import polars as pl

from anonymize.records import dataclass
from anonymize.verify.cells import LEFT_OUT, NULL, NUMBERS, TEXT, CellTemplates, ends_of, number_of
from anonymize.verify.columns import NumberedColumn
from anonymize.verify.numbering import Numbering, paired
from anonymize.verify.table import TextRows, TextTable, numbered

# --- spans of cells ---------------------------------------------------------------------------------------------------

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
        texts = released[0].by_number
        return released[0].numbers.of_row, pl.DataFrame(
            {"low": texts, "high": texts, "missing": pl.Series([None] * len(texts), dtype=pl.String)}
        )
    dense = paired([column.numbers for column in released]).dense
    firsts = dense.firsts
    by_end = {"low": released[0], "high": released[min(1, len(released) - 1)], "missing": None}
    for name, column in zip(columns, released, strict=True):
        by_end |= {end: column for end in by_end if name.endswith(f"_{end}")}
    texts_of = {
        end: pl.Series([None] * len(firsts), dtype=pl.String)
        if column is None
        else column.by_number.gather(column.numbers.of_row.gather(firsts))
        for end, column in by_end.items()
    }
    return dense.of_row, pl.DataFrame(texts_of)


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


# --- the order of rows ------------------------------------------------------------------------------------------------
# Whether the order of a table's rows is that of `row_order: sorted`, which tells nothing but what the rows show.
#
# Rows do not decrease, compared column by column: those of the quasi-identifiers first, then all others, as they stand
# in the file. A cell is compared by its text alone: a null comes first, then numbers and, in quasi-identifiers,
# intervals (by the lower end, the upper one, the text), then every other text by its bytes.

SAMPLE = 20_000
"""Rows that are looked at first, evenly spread: rows that are not in order are mostly seen not to be in a few."""

COMPARED = 1_000_000
"""Rows whose other columns are compared. The quasi-identifiers are, of all rows; rows that are in order by what those
show, column after column, are hardly in an order that tells more of them."""

TOGETHER = 3
"""Columns that are read in one pass, where rows are alike in all before."""


def is_sorted(table: TextTable, columns: Sequence[NumberedColumn], templates: CellTemplates) -> bool:
    """Whether the rows are in that order. `columns`: those of the quasi-identifiers, in the table's order of them.

    Columns behind the quasi-identifiers are read only where there are rows that are alike before. Texts are compared as
    they stand: where they were read without what cannot be seen, they are read again.
    """
    if len(columns[0].numbers.of_row) < 2 or _compared(table, columns, templates):
        return True
    if not table.normalize:
        return False
    plain = replace(table, normalize=False)
    looks = [plain] if is_sample(columns) else [replace(plain, frame=plain.frame.head(SAMPLE)), plain]
    return all(_compared(each, numbered(each, each.quasi_identifiers), templates) for each in looks)


def _compared(table: TextTable, columns: Sequence[NumberedColumn], templates: CellTemplates) -> bool:
    names = table.frame.collect_schema().names()
    places = {name: place for place, name in enumerate(table.quasi_identifiers)}
    own = [_OrderedColumn(columns[places[name]], templates) for name in names if name in places]
    rest = [name for name in names if name not in places]
    # Nulls may have been read as the empty text, and then it is not known which of the two a cell is.
    firsts = ("", None) if table.fill == "" else (None,)
    return any(_is_sorted(table, own, rest, first) for first in firsts)


def is_sample(columns: Sequence[NumberedColumn]) -> bool:
    """Whether there are so few rows that all of them are looked at first."""
    return len(columns[0].numbers.of_row) < 2 * SAMPLE


def sample(columns: Sequence[NumberedColumn]) -> list[NumberedColumn]:
    """Some of the rows, in their order."""
    every = len(columns[0].numbers.of_row) // SAMPLE
    return list(columns) if is_sample(columns) else [_sampled(column, every) for column in columns]


def _sampled(column: NumberedColumn, every: int) -> NumberedColumn:
    codes = column.numbers.of_row.gather_every(every)
    used = codes.filter(codes > 0).unique().sort()
    frame = codes.alias("code").to_frame().with_columns(place=used.search_sorted(codes))
    places = frame.select(pl.when(pl.col("code") > 0).then(pl.col("place") + 1).otherwise(0)).to_series()
    return NumberedColumn(Numbering(places, len(used) + 1), column.texts.gather(used - 1))


def _is_sorted(table: TextTable, own: Sequence[_OrderedColumn], rest: Sequence[str], first: str | None) -> bool:
    columns = [each.column for each in own]
    if not is_sample(columns):
        looked = (replace(each, column=column) for column, each in zip(sample(columns), own, strict=True))
        if _alike(column.ranks(first) for column in looked) is None:
            return False
    alike = _alike(column.ranks(first) for column in own)
    if alike is None:
        return False
    some, alike = TextTable(table.frame.head(COMPARED), (), (), None), alike.head(COMPARED - 1)
    for start in range(0, len(rest), TOGETHER):
        if not alike.any():
            return True
        names = rest[start : start + TOGETHER]
        for texts in some.frame.select(map(some.text, names)).collect(engine="streaming").get_columns():
            following = _alike_in_text(texts, alike)
            if following is None:
                return False
            alike = following
    return True


def _alike_in_text(texts: pl.Series, alike: pl.Series) -> pl.Series | None:
    """(rows - 1,) which rows, `alike` so far, read as the one before in a column of texts without intervals too; None
    where the order is broken."""
    cells = texts.alias("text").to_frame().with_columns(number=number_of(pl.col("text")))
    kind = pl.when(pl.col("text").is_null()).then(NULL).when(pl.col("number").is_null()).then(TEXT).otherwise(NUMBERS)
    cells = cells.with_columns(kind=kind)
    before, after = cells.slice(0, len(alike)), cells.slice(1)
    falls, same = after["kind"] < before["kind"], after["kind"] == before["kind"]
    for name in ("number", "text"):
        falls |= same & (after[name] < before[name]).fill_null(False)
        same &= after[name].eq_missing(before[name])
    return None if (falls & alike).any() else same & alike


def _alike(columns: Iterable[pl.Series]) -> pl.Series | None:
    """(rows - 1,) whether each row reads as the one before it in all columns, of which there is one at least; None
    where the order is broken."""
    alike = None
    for ranks in columns:
        previous, following = ranks.slice(0, len(ranks) - 1), ranks.slice(1)
        falls = following < previous
        if (falls if alike is None else falls & alike).any():
            return None
        same = following == previous
        alike = same if alike is None else same & alike
    return alike


@dataclass(frozen=True)
class _OrderedColumn:
    """A quasi-identifier by which rows are compared."""

    column: NumberedColumn
    templates: CellTemplates

    @cached_property
    def _keys(self) -> pl.DataFrame:
        """By what cells are compared, by `code`."""
        return ends_of(self.column.by_number, self.templates).with_row_index("code")

    def ranks(self, first: str | None) -> pl.Series:
        """(rows,) numbers in the order of the cells. `first`: a text that is compared as a null is."""
        keys = self._keys
        if first is not None:
            kind = pl.when(pl.col("text") == first).then(0).otherwise(pl.col("kind")).cast(pl.UInt8)
            keys = keys.with_columns(kind=kind)
        ordered = keys.sort("kind", "low", "high", "text", nulls_last=False).with_row_index("rank").sort("code")["rank"]
        return ordered.gather(self.column.numbers.of_row)
