"""An engine for the tests: Sail, which needs no Java; or Spark, where ENGINE=spark (classic) or ENGINE=connect (Spark
Connect) asks for it."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest


@pytest.fixture(scope="session")
def session() -> Iterator[Any]:
    """A session, the same for all tests; they are skipped where there is none."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if os.environ.get("ENGINE") in ("spark", "connect"):
        yield from _with_java(connect=os.environ["ENGINE"] == "connect")
        return
    pytest.importorskip("pyspark.sql", reason="needs the extra `sail`", exc_type=ImportError)
    server_of = pytest.importorskip("pysail.spark", reason="needs the extra `sail`", exc_type=ImportError)
    from pyspark.sql import SparkSession

    main = sys.modules["__main__"]
    if not hasattr(main, "__file__"):  # a worker of pytest-xdist, which pyspark would take for doctests of its own
        main.__file__ = __file__
    server = server_of.SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    spark = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").getOrCreate()
    yield spark
    spark.stop()
    server.stop()


def _with_java(*, connect: bool) -> Iterator[Any]:
    """Spark on this machine, which needs Java and the package `pyspark` with its JVM part."""
    pytest.importorskip("py4j", reason="needs pyspark with its JVM part")
    from pyspark.sql import SparkSession

    if connect:
        spark = SparkSession.builder.remote("local[2]").getOrCreate()
    else:
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        spark = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    yield spark
    spark.stop()


@pytest.fixture
def frame_of(session: Any, tmp_path: Path) -> Any:
    """Makes a DataFrame of a table, of so many partitions."""

    def make(table: pl.DataFrame, partitions: int = 3) -> Any:
        path = tmp_path / "table.parquet"
        table.rename({name: f"_{place}" for place, name in enumerate(table.columns)}).write_parquet(path)
        return session.read.parquet(str(path)).toDF(*table.columns).repartition(partitions)

    return make
