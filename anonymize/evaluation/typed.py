"""Releases that store numbers as numbers: a null there is a missing value, or a cell that shows nothing."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from anonymize.recoding.appearance import MISSING
from anonymize.recoding.typed import NumberColumns
from anonymize.spec import Spec
from anonymize.table.named import unnamed


def with_suppressed(
    spec: Spec, texts: pl.DataFrame, columns: Mapping[str, tuple[str, str]], numbers: NumberColumns
) -> pl.DataFrame:
    """The cells of a release as text, with the suppressed text for nulls of `numbers` that show nothing.

    A null is a missing value where the column beside says so. Otherwise it may be one or the other, and is taken for
    what has lost more.
    """
    texts_of = {column.name: unnamed(column) for column in texts.iter_columns()}
    for name, ends in columns.items():
        if not numbers.names.issuperset(ends):
            continue
        blank = texts_of[ends[0]].is_null() & texts_of[ends[1]].is_null()
        if name + MISSING in texts_of:
            blank &= texts_of[name + MISSING].ne_missing(pl.Series(["yes"]))
        for end in dict.fromkeys(ends):
            text = pl.when(pl.lit(blank)).then(pl.lit(spec.output.suppressed)).otherwise(pl.lit(texts_of[end]))
            texts_of[end] = pl.select(text).to_series()
    return pl.DataFrame(texts_of)
