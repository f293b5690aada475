"""A release on an engine beside the same on one machine:

    engine.py WHERE TABLE.parquet [local|sail|spark] ... [--algorithm mondrian|incognito]
    engine.py WHERE TABLE.parquet sail|spark --job copy|empty|ordered

`make_scale.py` makes the table, as a CSV; polars writes it as Parquet. Each way of release is a process of its own, and
they run one after the other: wall seconds and processor seconds (all processes of it, the JVM among them) of the
release alone, from a session that has been started to a report, and the peak of the process. `spark` is classic Spark
with two threads, `local[2]`, which needs Java. Temporary folders are made in WHERE.

What an engine takes for less than a release: `copy` reads, counts and writes the table; `empty` sends its rows through
a worker that does nothing with them; `ordered` puts them in order, as those of a release are.

At the end, whether the rows of all ways are the same: the number of rows, and a sum over a hash of each.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import polars as pl

QUASI_IDENTIFIERS: dict[str, dict[str, str]] = {
    **{name: {"type": "numeric"} for name in ("age", "zipcode", "income")},
    **{name: {} for name in ("sex", "race", "marital-status")},
}
LEVELLED: dict[str, dict[str, Any]] = {
    "age": {"type": "numeric", "hierarchy": {"intervals": [5, 10, 20, 40]}},
    **{name: {} for name in ("sex", "race", "marital-status", "education", "workclass")},
}
COMMON = {"version": 1, "others": "insensitive", "privacy": {"k": 10}}
SPECS = {
    "mondrian": COMMON | {"quasi_identifiers": QUASI_IDENTIFIERS},
    "incognito": COMMON | {"quasi_identifiers": LEVELLED},
}


WRITTEN = "release-job"
"""Where a job that is no release writes."""


def written(df: Any, folder: str, job: str) -> None:
    """A job that is no release."""
    from anonymize.spark.engine import held, in_order, named_by_place

    rows, places = df.count(), [f"c{df.columns.index(name)}" for name in QUASI_IDENTIFIERS]
    df = named_by_place(df)
    if job == "empty":
        df = df.mapInArrow(lambda batches: batches, df.schema)
    if job == "ordered":
        df = in_order(df, "sorted", [places, [name for name in df.columns if name not in places]], rows, together=True)
    held(df, folder, WRITTEN)


class Processes:
    """The processor seconds of this process and of all that it has started, looked at twice a second: workers that
    Spark ends while it has nothing for them are counted nowhere else."""

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}
        Thread(target=self._watch, daemon=True).start()

    def seconds(self) -> float:
        """Those of processes that have ended, too."""
        own = resource.getrusage(resource.RUSAGE_SELF)
        self._look()
        return own.ru_utime + own.ru_stime + sum(self._seconds.values())

    def _watch(self) -> None:
        while True:
            self._look()
            time.sleep(0.5)

    def _look(self) -> None:
        for process in _below(os.getpid()):
            with suppress(OSError):
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                self._seconds[process] = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _below(process: int) -> Iterator[int]:
    """The processes that a process has started, and those that these have."""
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, path.read_text().split()):
                yield child
                yield from _below(child)


@contextmanager
def session_of(way: str) -> Iterator[Any]:
    """A session of an engine."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    if way == "spark":
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        spark = builder.config("spark.driver.memory", "4g").config("spark.sql.shuffle.partitions", "16").getOrCreate()
        yield spark
        spark.stop()
        return
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    spark = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").getOrCreate()
    yield spark
    spark.stop()
    server.stop()


def on_engine(way: str, table: str, folder: str, algorithm: str, job: str) -> dict[str, Any]:
    """The release by an engine, or a job; its rows stay in the folder, as Parquet."""
    from anonymize import spark

    processes = Processes()
    with session_of(way) as session:
        session.range(10).count()
        start, before = time.perf_counter(), processes.seconds()
        df, spec = session.read.parquet(table), SPECS[algorithm]
        if job == "release":
            _, report = spark.release(df, spec, checkpoint=folder, algorithm=algorithm)
            made = {"timing": report["timing"], "classes": report["classes"]["count"]}
        else:
            written(df, folder, job)
            made = {"job": job}
        wall, used = time.perf_counter() - start, processes.seconds() - before
    return {"wall": wall, "cpu": used, **made}


def on_one_machine(table: str, folder: str, algorithm: str) -> dict[str, Any]:
    """The release by the command."""
    Path(folder, "spec.json").write_text(json.dumps(SPECS[algorithm]))
    command = [sys.executable, "-m", "anonymize", algorithm, f"{folder}/spec.json", "-i", table]
    start = time.perf_counter()
    subprocess.run([*command, "-o", f"{folder}/released.parquet"], check=True, stderr=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"wall": time.perf_counter() - start, "cpu": used.ru_utime + used.ru_stime}


def fingerprint(folder: str) -> tuple[int, int]:
    """The rows of the release in a folder, and the sum of their hashes, which does not depend on their order."""
    files = [str(path) for path in Path(folder).rglob("*.parquet") if "release" in str(path.relative_to(folder))]
    frame = pl.scan_parquet(files, hive_partitioning=False)
    names = [f"c{place}" for place in range(len(frame.collect_schema()))]
    batches = frame.select(pl.nth(place).alias(name) for place, name in enumerate(names)).collect_batches()
    hashes = [batch.hash_rows() for batch in batches]
    return sum(map(len, hashes)), sum(int(each.cast(pl.UInt64).sum() or 0) for each in hashes) % 2**64


def one(way: str, where: str, table: str, algorithm: str, job: str) -> None:
    """One way, in this process; prints its figures."""
    folder = tempfile.mkdtemp(prefix=f"{way}-", dir=where)
    local = way == "local"
    made = on_one_machine(table, folder, algorithm) if local else on_engine(way, table, folder, algorithm, job)
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1e3
    rows = fingerprint(folder)
    print(json.dumps({"way": way, **made, "peak_mb": round(peak), "rows": rows}), flush=True)


def main() -> None:
    """All ways, each in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("where")
    parser.add_argument("table")
    parser.add_argument("ways", nargs="*", default=["local", "sail"])
    parser.add_argument("--algorithm", choices=list(SPECS), default="mondrian")
    parser.add_argument("--job", choices=["release", "copy", "empty", "ordered"], default="release")
    given = parser.parse_args()
    if len(given.ways) == 1:
        one(given.ways[0], given.where, given.table, given.algorithm, given.job)
        return
    for way in given.ways:
        command = [sys.executable, __file__, given.where, given.table, way, "--algorithm", given.algorithm]
        subprocess.run([*command, "--job", given.job], check=True)


if __name__ == "__main__":
    main()
