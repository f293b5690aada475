"""Columns that pass through and have few different texts: kept as codes from the first reading, so that nothing of them
has to be read again.

Which ones these are, the first rows say. A column whose texts turn out to be more than that is kept all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from anonymize.table.columns import Codes
from anonymize.table.encode import Field, joined
from anonymize.table.named import column
from anonymize.table.scratch import Arrays
from anonymize.table.source import Source

SAMPLE = 50_000
"""First rows by which columns are chosen;"""
FEW = 1000
"""in them, a column that is kept has at most so many different texts."""


@dataclass(frozen=True)
class KeptColumn:
    """A column that passes through: its distinct `cells`, under no name, the first of which is null, and `codes`
    (rows,): which of them each row has."""

    cells: pl.Series
    codes: Codes


class KeptTexts:
    """What takes the batches of a column that is kept; an encoder like those of `encode`."""

    def __init__(self, field: Field, key: str, arrays: Arrays = np.empty) -> None:
        self.name, self._key, self._missing, self._arrays = field.name, key, field.missing, arrays
        self._categories = pl.Categories.random()
        self._pieces: list[Codes] = []
        kind = pl.Categorical(self._categories)
        self.expressions = [(column(field.name).cast(kind).to_physical() + 1).fill_null(0).alias(key)]

    def add(self, batch: pl.DataFrame) -> None:
        """Takes the next rows."""
        codes = batch[self._key].to_numpy()
        self._pieces.append(codes.astype(np.min_scalar_type(codes.max(initial=0))))

    def exceeds(self, share: float, rows: int) -> bool:
        """Whether more than `share` of the values that are not missing differ, there being at least `rows` of them."""
        present = np.append(False, ~self._texts().is_in(list(self._missing.texts)).to_numpy())
        counts = sum((np.bincount(piece, minlength=len(present)) for piece in self._pieces), np.zeros(len(present)))
        filled = int(counts[present].sum())
        return filled >= rows and int(present.sum()) > share * filled

    def column(self) -> KeptColumn:
        """The column, once all rows have been taken."""
        cells = pl.Series([None], dtype=pl.String).append(self._texts())
        widest = np.min_scalar_type(len(cells))
        codes = joined(self._pieces, widest, self._arrays)
        return KeptColumn(cells, codes)

    def _texts(self) -> pl.Series:
        """The different texts so far, in the order of their codes, from 1."""
        return self._categories.to_series().cast(pl.String).drop_nulls()


def with_few_texts(source: Source, names: Sequence[str]) -> frozenset[str]:
    """The columns of texts that have few different ones in the first rows; none of an input that cannot be read, which
    its reading will explain."""
    texts = [name for name in names if source.schema[name] == pl.String]
    if not texts:
        return frozenset()
    try:
        counted = source.scan().head(SAMPLE).select(column(name).n_unique() for name in texts)
        first = counted.collect(engine="in-memory")  # streaming has more to set up, and has to hold these texts as well
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return frozenset()
    return frozenset(name for name, count in zip(texts, first.row(0), strict=True) if count <= FEW)
