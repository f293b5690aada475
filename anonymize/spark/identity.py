"""Whether a release has every row of its input, and once: engines make rows again where a worker is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from anonymize.spark.engine import WHOLE, DataFrame, collected, hash_of, read_otherwise

OF_ONE_TEXT = WHOLE | {"boolean", "date"}
"""Types of which no two values have the same text, nor one value two."""
COUNT, HASH = "count", "hash"
"""The columns of different rows: how many there are of each, and the hash of one."""
LOW_BITS = (1 << 28) - 1
"""The bits of a hash that are added up: sums of 2 ** 35 hashes fit into 64 bits."""


@dataclass(frozen=True)
class RowSum:
    """What rows come to in any order: how many there are, and their hashes put together in two ways: by exclusive or
    (`mixed`), which does not see a row that comes twice more, and added (`total`), of which most bits are left out."""

    rows: int
    mixed: int | None = None
    total: int | None = None

    @classmethod
    def of(cls, df: DataFrame, columns: Sequence[str]) -> RowSum:
        """That of the rows of a frame, by some of its columns; without any, their number."""
        if not columns:
            return cls(int(df.count()))
        sums = "count(1) as rows", "bit_xor(hash) as mixed", f"sum(hash & {LOW_BITS}) as total"
        (row,) = collected(df.selectExpr(f"{hash_of(columns)} as hash").selectExpr(*sums)).to_dicts()
        return cls(**row)

    @classmethod
    def counted(cls, rows: pl.DataFrame) -> RowSum:
        """That of different rows, of each of which there are as many as its `COUNT` says, by their `HASH`."""
        counts, hashes = (rows[name].to_numpy() for name in (COUNT, HASH))
        mixed = int(np.bitwise_xor.reduce(hashes[counts % 2 == 1]))
        return cls(int(counts.sum()), mixed, int(((hashes & LOW_BITS) * counts).sum()))


def check_rows(df: DataFrame, written: DataFrame, passing: Sequence[str], apart: pl.DataFrame | None = None) -> None:
    """Raises DataError where the rows that were written are not those of the input, but for a collision of hashes.
    `passing`: the columns that both have as they are; of them those are compared that read alike in any file. `apart`:
    the different rows that were written, by these columns, with `COUNT` and `HASH`, where they are known."""
    before, after = dict(df.dtypes), dict(written.dtypes)
    alike = [name for name in passing if before[name] == after[name] and before[name] in {"string", *OF_ONE_TEXT}]
    known = None if apart is None or apart.columns != [*alike, COUNT, HASH] else apart
    own = RowSum.of(written, alike) if known is None else RowSum.counted(known)
    if RowSum.of(df, alike) != own:
        raise read_otherwise()
