"""A release in parts so small that a small table has upper cuts: in_parts.py SPEC TABLE OUTPUT ADDRESS CHECKPOINT SIGN

The engine's rows are collected into one Parquet file, OUTPUT. SIGN is a file that is made as soon as rows are to be
counted for cuts that follow the first: of all rows as one class the counts are known, and nothing is counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

PART_ROWS = 4_000


def main(spec: str, table: str, output: str, address: str, checkpoint: str, sign: str) -> None:
    """Makes the release."""
    from pyspark.sql import SparkSession

    from anonymize import spark
    from anonymize.spark.cutting import EngineRows

    counting: Callable[..., Any] = EngineRows._counted

    def told(rows: EngineRows, *about: Any) -> Any:
        Path(sign).touch()
        return counting(rows, *about)

    EngineRows._counted = told  # type: ignore[method-assign,assignment]
    session = SparkSession.builder.remote(address).getOrCreate()
    df = session.read.parquet(table)
    released, _ = spark.release(df, spec, algorithm="mondrian", checkpoint=checkpoint, part_rows=PART_ROWS)
    frame = pl.from_arrow(released.toArrow())
    assert isinstance(frame, pl.DataFrame)
    frame.write_parquet(output)
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
