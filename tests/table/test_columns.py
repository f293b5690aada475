"""Columns of texts as they are compared."""

from __future__ import annotations

import polars as pl

from anonymize.table.columns import PROBE, tidy


def test_a_column_of_few_texts_is_looked_at_to_its_end() -> None:
    texts = pl.Series("x", ["a", "b", None] * PROBE + ["a ", "b"])
    assert tidy(texts).to_list() == ["a", "b", None] * PROBE + ["a", "b"]
    assert tidy(texts[:-2]).to_list() == texts[:-2].to_list()
