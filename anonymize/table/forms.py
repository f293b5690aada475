"""The form in which a table is written: rows of a CSV as parts of their lines, and tables rebuilt from their values,
so that a file is a function of what it shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import polars as pl
from polars.datatypes import DataTypeClass

from anonymize.records import dataclass
from anonymize.table.named import unnamed

# --- parts of lines ---------------------------------------------------------------------------------------------------
# In a release many rows show the same. What they show is quoted once, and put together once where it stands in columns
# side by side; the writer then has a few texts to copy for each row, and looks for nothing in them.

CSV = ("csv", "csv.gz")
"""The formats that are made of lines."""
QUOTE = '"'


@dataclass(frozen=True)
class Lines:
    """Some rows of a CSV with these `columns`, at least two. `parts`: texts that make the line of a row when separators
    are put between them; null is nothing."""

    columns: tuple[str, ...]
    parts: pl.DataFrame


def quoted(texts: pl.Series, separator: str) -> pl.Series:
    """Texts as the writer of CSV would quote them where it has to; the empty one, which else would read as a null, is a
    pair of quotes. Where nothing has to be quoted it is the same series."""
    text, special = pl.col("text"), f"{QUOTE}{separator}\n\r"
    is_special = (text == "") | text.str.contains_any(list(special))
    cells = unnamed(texts).alias("text").to_frame()
    if not cells.select(is_special.any()).item():
        return texts
    doubled = pl.lit(QUOTE) + text.str.replace_all(QUOTE, QUOTE * 2, literal=True) + pl.lit(QUOTE)
    return cells.select(pl.when(is_special).then(doubled).otherwise(text)).to_series().alias(texts.name)


def side_by_side(cells: Sequence[pl.Series], separator: str) -> pl.Series:
    """(n,) quoted cells (n,) of at least one column as one text of each row."""
    if len(cells) == 1:
        return cells[0]
    frame = pl.DataFrame([column.alias(str(place)) for place, column in enumerate(cells)])
    return frame.select(pl.concat_str(pl.all().fill_null(""), separator=separator)).to_series()


# --- rebuilt tables ---------------------------------------------------------------------------------------------------
# In memory a column may hold far more than its values: a text of more than 12 bytes is a place in a buffer that is
# shared with every row of the input, a null lies over a number that is still there, an `Enum` brings categories of
# which no row has any. A typed file stores what is in memory. So each column is written anew: texts into a buffer of
# their own, zeros under nulls, one bit pattern for all NaN, categories as texts, without flags of what is known about
# the order. Pieces have one fixed number of rows, however they came.

_EMPTY = pl.lit("")


def rebuilt(frames: Iterable[pl.DataFrame], size: int) -> Iterator[pl.DataFrame]:
    """A table that comes in pieces of one schema, at least one, in pieces of `size` rows that hold their values alone.

    The first piece may have no rows; it shows the schema.
    """
    for frame in _pieces(frames, size):
        columns = [rebuilt_column(column).alias(column.name) for column in frame.iter_columns()]
        yield pl.DataFrame(columns, height=frame.height)


def _pieces(frames: Iterable[pl.DataFrame], size: int) -> Iterator[pl.DataFrame]:
    """All rows of some tables, `size` at a time; at least one piece."""
    waiting: list[pl.DataFrame] = []
    yielded, rows = False, 0
    for frame in frames:
        waiting.append(frame)
        rows += frame.height
        if rows < size:
            continue
        whole = pl.concat(waiting)
        full = rows - rows % size
        yield from (whole[start : start + size] for start in range(0, full, size))
        yielded, waiting, rows = True, [whole[full:]], rows - full
    if rows or not yielded:
        yield pl.concat(waiting)


def rebuilt_column(column: pl.Series) -> pl.Series:
    """The same values, without the name, in buffers that hold nothing else; Categorical and Enum as String."""
    column, dtype = unnamed(column), column.dtype
    if isinstance(dtype, pl.Categorical | pl.Enum):
        column, dtype = column.cast(pl.String), pl.String()
    column = column.rechunk()
    if isinstance(dtype, pl.String):
        return _texts(column)
    if isinstance(dtype, pl.Binary):
        return _texts(column.bin.encode("hex")).str.decode("hex")
    if dtype.is_temporal() or dtype in _PLAIN:
        return _numbers(column)
    if dtype.is_numeric():  # of more digits than NumPy has types for, decimals above all
        return _texts(column.cast(pl.String)).cast(dtype)
    return pl.Series(column.to_list(), dtype=plain_type(dtype))


_PLAIN = {
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64),
    *(pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
    *(pl.Float32, pl.Float64, pl.Boolean),
}
"""Types of which NumPy has the same."""


def plain_type(dtype: pl.DataType | DataTypeClass) -> pl.DataType | DataTypeClass:
    """The type in which a column is written: no categories, at any depth."""
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return pl.String()
    if isinstance(dtype, pl.List):
        return pl.List(plain_type(dtype.inner))
    if isinstance(dtype, pl.Array):
        return pl.Array(plain_type(dtype.inner), dtype.size)
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: plain_type(field.dtype) for field in dtype.fields})
    return dtype


def _texts(column: pl.Series) -> pl.Series:
    """A concatenation writes each text to a new buffer, in the order of the rows; a null stays null."""
    return column.to_frame("text").select(pl.concat_str("text", _EMPTY)).to_series()


def _numbers(column: pl.Series) -> pl.Series:
    """Through arrays of NumPy, which have no nulls; these are put back from a mask of their own."""
    present = column.is_not_null().to_numpy(writable=True)
    zero = False if column.dtype == pl.Boolean else 0
    values = column.to_physical().fill_null(zero).to_numpy(writable=True)
    if values.dtype.kind == "f":
        values[np.isnan(values)] = np.nan
    series = pl.Series(values)
    if not present.all():
        series = pl.select(pl.when(pl.Series(present)).then(series)).to_series()
    return series.cast(column.dtype)
