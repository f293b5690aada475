"""A release on a small standalone cluster of Spark, on this machine, with a worker killed in the middle.

    cluster.py WHERE [--spark HOME] [--rows N] [--algorithm NAME] [--stage read|cuts|write|check]

Needs Java, and pyspark with its JVM part: SPARK_HOME, `--spark`, or the `pyspark` that is installed. Started are a
master, two workers of one core each, and a Spark Connect server. The release is made by the command, three times: on
one machine, on the cluster, and on the cluster while one of its workers is killed (SIGKILL for the worker and its
executor) as soon as a stage has begun: values are counted (`read`), rows are counted for upper cuts (`cuts`; of
Mondrian, in small parts), rows are made and written (`write`), or what was written is measured (`check`). Printed are
the wall seconds of each, and whether the rows are the same. Those of `randomize` are drawn anew in every run: of them,
the columns that pass through, and the parameters.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

SPEC: dict[str, Any] = {
    "version": 1,
    "quasi_identifiers": {
        "age": {"type": "numeric", "hierarchy": {"intervals": [5, 10, 20]}},
        "zipcode": {"type": "numeric", "hierarchy": {"intervals": [10, 100]}},
        "sex": {},
    },
    "sensitive": {"ill": {}},
    "insensitive": ["id"],
    "privacy": {"k": 10, "l": 2},
}
LEVELS = {"age": {"level": 2}, "zipcode": {"level": 2}, "sex": {}}
BY_CHANCE = SPEC | {
    "quasi_identifiers": {name: SPEC["quasi_identifiers"][name] | own for name, own in LEVELS.items()},
    "privacy": {"models": [{"model": "disclosure", "attribute": "ill", "l": 1.5}]},
}
"""The same for `randomize`."""
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
WAIT = 120
"""Seconds that a part of the cluster has to be there within."""


def spark_home(given: str | None = None) -> Path | None:
    """Where Spark is; None where there is none with a JVM part, or no Java."""
    named = given or os.environ.get("SPARK_HOME")
    home = Path(named) if named else _installed()
    there = home is not None and (home / "bin" / "spark-class").exists() and shutil.which("java") is not None
    return home if there else None


def _installed() -> Path | None:
    from importlib.util import find_spec

    package = find_spec("pyspark")
    return None if package is None or package.origin is None else Path(package.origin).parent


@dataclass
class Cluster:
    """A cluster that runs. `address`: of Spark Connect. `workers`: each with the processes that it has started."""

    address: str
    workers: list[subprocess.Popen[bytes]]

    def kill_worker(self) -> None:
        """Kills a worker and its executor."""
        _kill(self.workers.pop())


@contextmanager
def cluster(home: Path, logs: Path, workers: int = 2) -> Iterator[Cluster]:
    """Starts a master, workers of one core and a Spark Connect server, which end with the block. `logs`: a folder."""
    with ExitStack() as stack:

        def start(name: str, *command: str) -> subprocess.Popen[bytes]:
            log = stack.enter_context((logs / f"{name}.log").open("wb"))
            process = subprocess.Popen(
                [str(home / "bin" / command[0]), *command[1:]],
                env=_environment(home, logs),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            stack.callback(_kill, process)
            return process

        port, connect = _free_port(), _free_port()
        master = f"spark://127.0.0.1:{port}"
        own = ["--host", "127.0.0.1", "--webui-port", "0"]
        _wait_for(port, start("master", "spark-class", MASTER, "--port", str(port), *own))
        own += ["--cores", "1", "--memory", "1g", "--work-dir", str(logs / "work")]
        started = [start(f"worker{number}", "spark-class", WORKER, *own, master) for number in range(workers)]
        settings = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(connect),
            "spark.driver.host": "127.0.0.1",
            "spark.executor.memory": "700m",
            "spark.sql.shuffle.partitions": "4",
            "spark.ui.enabled": "false",
        }
        given = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        server = ["--class", SERVER, "--master", master, *given, "spark-internal"]
        _wait_for(connect, start("connect", "spark-submit", *server))
        yield Cluster(f"sc://127.0.0.1:{connect}", started)


def _environment(home: Path, logs: Path) -> dict[str, str]:
    """Of the cluster: workers run this interpreter, with this package."""
    root = str(Path(__file__).resolve().parents[2])
    return os.environ | {
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([root, str(home.parent)]),
        "SPARK_DAEMON_MEMORY": "768m",
        "SPARK_LOCAL_DIRS": str(logs / "local"),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Raises RuntimeError where a process does not listen in time."""
    until = time.monotonic() + WAIT
    while time.monotonic() < until and process.poll() is None:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        time.sleep(0.2)
    raise RuntimeError(f"nobody listens at port {port}: see the logs")


def write_table(folder: Path, rows: int) -> None:
    """A table of people, and a spec."""
    rng = np.random.default_rng(11)
    table = pl.DataFrame(
        {
            "id": np.arange(rows),
            "age": rng.normal(45, 17, rows).astype(int).clip(0, 99),
            "zipcode": rng.integers(100, 600, rows),
            "sex": rng.choice(["f", "m"], rows),
            "ill": rng.choice(["flu", "gout", "cold", "mumps"], rows, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )
    pieces = folder / "people.parquet"
    pieces.mkdir()
    for number, start in enumerate(range(0, rows, -(-rows // 4))):
        table.slice(start, -(-rows // 4)).write_parquet(pieces / f"{number}.parquet")
    table.write_parquet(folder / "people-whole.parquet")
    (folder / "by_chance.yaml").write_text(json.dumps(BY_CHANCE))
    (folder / "spec.yaml").write_text(json.dumps(SPEC))


def release(folder: Path, algorithm: str, output: str, *engine: str) -> subprocess.Popen[str]:
    """The command, started; on one machine without an `engine`."""
    table = "people.parquet" if engine else "people-whole.parquet"
    spec = "by_chance.yaml" if algorithm == "randomize" else "spec.yaml"
    command = [algorithm, spec, "-i", table, "-o", output, "-r", f"{output}.json", "-q", *engine]
    root = str(Path(__file__).resolve().parents[2])
    return subprocess.Popen(
        [sys.executable, "-m", "anonymize", *command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": root},
        stderr=subprocess.PIPE,
        text=True,
    )


STAGES = {
    "read": "work/*/*/stderr",
    "cuts": "cuts-began",
    "write": "checkpoint-*/*/*-*/_temporary/0/*",
    "check": "checkpoint-*/*/release-*/_SUCCESS",
}
"""The stages of a release, and what there is more of once one has begun: tasks that executors name, or files."""


def _signs(folder: Path, stage: str) -> int:
    """How much there is of it."""
    files = folder.glob(STAGES[stage])
    return sum(each.read_text().count("Running task") if stage == "read" else 1 for each in files)


def killed_in_the_middle(folder: Path, algorithm: str, output: str, running: Cluster, stage: str = "write") -> str:
    """A release on a cluster that loses a worker as soon as a stage has begun; what it said. Raises RuntimeError where
    it was over before that, or failed."""
    before = _signs(folder, stage)
    checkpoint = folder / f"checkpoint-{output}"
    checkpoint.mkdir()
    engine = ["--engine", "spark", "--master", running.address, "--checkpoint", str(checkpoint)]
    process = (
        _in_parts(folder, output, running.address, checkpoint)
        if stage == "cuts"
        else release(folder, algorithm, output, *engine)
    )
    while process.poll() is None and _signs(folder, stage) == before:
        time.sleep(0.05)
    if process.poll() is None:
        running.kill_worker()
    elif process.returncode == 0:
        raise RuntimeError("the release was over before a worker could be killed")
    return ended(process)


def _in_parts(folder: Path, output: str, address: str, checkpoint: Path) -> subprocess.Popen[str]:
    """A release by Mondrian that has upper cuts, started; see `in_parts.py`."""
    here = Path(__file__).resolve()
    words = ["spec.yaml", str(folder / "people.parquet"), output, address, str(checkpoint), STAGES["cuts"]]
    return subprocess.Popen(
        [sys.executable, str(here.with_name("in_parts.py")), *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(here.parents[2])},
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> str:
    """What a command said. Raises RuntimeError where it failed."""
    said = process.communicate()[1]
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}: {said[-2000:]}")
    return said


def rows_of(folder: Path, name: str) -> pl.DataFrame:
    """A release, in an order that all share; of one that was drawn, what was not, and the parameters as a row."""
    table, parameters = pl.read_parquet(folder / name), (folder / name).with_suffix(".params.json")
    if parameters.exists():
        table = pl.DataFrame({"id": table["id"].cast(pl.String)})
        table = pl.concat([table, pl.DataFrame({"id": [parameters.read_text()]})])
    return table.sort(table.columns)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("where", type=Path, help="folder for tables and logs")
    parser.add_argument("--spark", help="where Spark is")
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--algorithm", default="mondrian")
    parser.add_argument("--stage", choices=list(STAGES), default="write")
    given = parser.parse_args(arguments)
    home = spark_home(given.spark)
    if home is None:
        parser.exit(2, "there is no Spark with a JVM part here, or no Java\n")
    folder = Path(tempfile.mkdtemp(prefix="cluster-", dir=given.where))
    write_table(folder, given.rows)
    with cluster(home, folder) as running:
        engine = ["--engine", "spark", "--master", running.address]
        runs: dict[str, Callable[[], str]] = {
            "one machine": lambda: ended(release(folder, given.algorithm, "own.parquet")),
            "cluster": lambda: ended(release(folder, given.algorithm, "two.parquet", *engine)),
            "cluster, a worker killed": lambda: killed_in_the_middle(
                folder, given.algorithm, "one.parquet", running, given.stage
            ),
        }
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
    own = rows_of(folder, "own.parquet")
    same = {name: rows_of(folder, f"{name}.parquet").equals(own) for name in ("two", "one")}
    print(f"rows: {len(own)}; the same: on the cluster {same['two']}, after a worker was killed {same['one']}")
    if not all(same.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
