"""Rows of a CSV as parts of their lines: cells that have been quoted already, several of them in one text.

In a release many rows show the same. What they show is quoted once, and put together once where it stands in columns
side by side; the writer then has a few texts to copy for each row, and looks for nothing in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from anonymize.table.named import unnamed

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
