"""The user CPU of `init` on 1,000,000 rows of 20 columns against that of reading the same file with polars.

python benchmarks/first_hour/large.py
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

ROWS = 1_000_000
READ = "import sys, polars; polars.read_csv(sys.argv[1], infer_schema_length=10000)"


def main() -> None:
    """Makes the table, and runs both three times in turn."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        table().write_csv(path)
        print(f"{path.stat().st_size / 1e6:.0f} MB")
        commands = {
            "nothing": ["-c", "import polars"],
            "polars read": ["-c", READ, str(path)],
            "init": ["-m", "anonymize", "init", str(path), "-o", f"{folder}/spec.yaml", "--force"],
            "its imports": ["-c", "import anonymize._init"],
        }
        for _ in range(3):
            print(", ".join(f"{name} {seconds(command):.2f} s" for name, command in commands.items()))


def table() -> pl.DataFrame:
    """Twenty columns: numbers of rows, people, places, dates, codes, amounts, flags."""
    random = np.random.default_rng(1)
    days = pl.Series(random.integers(10_000, 19_000, ROWS)).cast(pl.Date).cast(pl.String)
    words = [f"{a} {b}" for a in ("north", "south", "east", "west") for b in ("ward", "wing", "hall")]
    columns: dict[str, object] = {
        "id": np.arange(ROWS),
        "name": pl.Series(random.integers(0, 400_000, ROWS)).cast(pl.String).str.pad_start(8, "n"),
        "age": random.integers(0, 100, ROWS),
        "sex": random.choice(["F", "M"], ROWS),
        "zip": pl.Series(random.integers(1000, 9999, ROWS)).cast(pl.String).str.zfill(5),
        "born": days,
        "seen": pl.Series(random.integers(17_000, 19_000, ROWS)).cast(pl.Date).cast(pl.String) + " 12:30:00",
        "ward": random.choice(words, ROWS),
        "diagnosis": random.choice([f"J{n:02}.{m}" for n in range(40) for m in range(9)], ROWS),
        "charges": (random.lognormal(8, 1, ROWS) * 100).round() / 100,
        "income": random.integers(10, 200, ROWS) * 1000,
    }
    columns |= {f"lab_{number}": random.normal(10, 2, ROWS).round(1) for number in range(5)}
    columns |= {f"flag_{number}": random.integers(0, 2, ROWS) for number in range(4)}
    return pl.DataFrame(columns)


def seconds(arguments: list[str]) -> float:
    """User CPU of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([sys.executable, *arguments], check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


if __name__ == "__main__":
    main()
