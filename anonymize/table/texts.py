"""Columns of texts as they are compared, and what among their values looks like a mistake."""

from __future__ import annotations

import polars as pl

from anonymize.spec.missing import ODD, UNKNOWN, Missing, normalized, remarks
from anonymize.table.named import unnamed

PROBE = 10_000
"""The distinct texts of so many first rows say whether a column has few, which are looked at in place of all rows."""


def compared(texts: pl.Series, missing: Missing) -> pl.Series:
    """(n,) what texts are compared as; null where they mean missing. Pass distinct texts where there are many rows."""
    texts = tidy(texts) if missing.normalize else texts
    present = pl.when(~pl.col("text").is_in(list(missing.texts))).then("text")
    return texts.to_frame("text").select(present).to_series().alias(texts.name)


def tidy(texts: pl.Series) -> pl.Series:
    """(n,) texts, normalized; a null stays one. Few need work in most columns, and only these are touched."""
    plain = unnamed(texts)
    few = len(plain) > PROBE and plain.head(PROBE).n_unique() < PROBE // 10
    if few and not plain.unique().str.contains(ODD).any():
        return texts
    odd = plain.str.contains(ODD).fill_null(False)
    if not odd.any():
        return texts
    mended = pl.Series([normalized(text) for text in plain.filter(odd)], dtype=pl.String)
    return plain.clone().scatter(odd.arg_true(), mended).alias(texts.name)


def warnings_of(name: str, texts: list[str]) -> list[str]:
    """What draws attention among the distinct values of a column, as they are compared; no value is quoted."""
    lower = pl.Series(texts, dtype=pl.String).str.to_lowercase()
    alike = int(lower.is_duplicated().sum()) if len(lower) else 0
    return remarks(name, alike, int(lower.is_in(list(UNKNOWN)).sum()))
