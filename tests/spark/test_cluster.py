"""A worker of a cluster that is killed changes no row of a release, whatever was being done. Needs Java and Spark with
its JVM part (SPARK_HOME, or pyspark in place of pyspark-client)."""

from pathlib import Path

import pytest

from tests.test_sample_data import load_script

ROOT = Path(__file__).resolve().parents[2]
cluster = load_script(ROOT / "benchmarks" / "cluster" / "cluster.py")


@pytest.mark.skipif(cluster.spark_home() is None, reason="needs Java, and Spark with its JVM part")
@pytest.mark.parametrize(
    ("algorithm", "stage"),
    [
        ("mondrian", "read"),
        ("mondrian", "cuts"),
        ("mondrian", "write"),
        ("mondrian", "check"),
        ("incognito", "write"),
        ("bottom-up", "write"),
        ("randomize", "write"),
    ],
)
def test_a_killed_worker(tmp_path: Path, algorithm: str, stage: str) -> None:
    """Local recoding is compared with another engine, as it works by parts there."""
    by_parts = algorithm == "bottom-up"
    cluster.write_table(tmp_path, 8_000 if by_parts else 30_000)
    elsewhere = ["--engine", "spark", "--master", "sail"] if by_parts else []
    cluster.ended(cluster.release(tmp_path, algorithm, "own.parquet", *elsewhere))
    with cluster.cluster(cluster.spark_home(), tmp_path) as running:
        cluster.killed_in_the_middle(tmp_path, algorithm, "one.parquet", running, stage)
        assert len(running.workers) == 1
    assert cluster.rows_of(tmp_path, "one.parquet").equals(cluster.rows_of(tmp_path, "own.parquet"))
