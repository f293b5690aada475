"""What synthetic tables keep of the Adult census, and what that takes: `python benchmarks/dp.py --data FOLDER`.

FOLDER has `adult.csv` (9 columns, `;`) and `adult_hierarchy_COLUMN.csv`. Tables are made of 80 % of the rows, by the
command as a user runs it, in a process of its own. Figures: the total variation between the marginals of 1, 2 and 3
columns of the table and of those rows, means over all marginals; CPU seconds and peak memory of the process.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import polars as pl
import yaml

DELTA = 1e-9


def spec_of(data: Path, columns: Sequence[str], method: str, epsilon: float) -> dict[str, Any]:
    """Domains are the leaves of the hierarchy files, and ages from 17 to 90."""
    quasi: dict[str, Any] = {
        name: {"hierarchy": str(data / f"adult_hierarchy_{name}.csv")} for name in columns if name != "age"
    }
    quasi["age"] = {"type": "numeric", "domain": [17, 90]}
    return {
        "version": 1,
        "input": {"path": "table.csv"},
        "quasi_identifiers": {name: quasi[name] for name in columns},
        "domains": {name: {"missing": False} for name in columns},
        "privacy": {"differential": {"epsilon": epsilon, "delta": DELTA}},
        "synthesize": {"method": method},
    }


def variation(table: pl.DataFrame, other: pl.DataFrame, order: int) -> float:
    """The mean total variation of all marginals of so many columns."""
    return mean(_variation(table, other, list(columns)) for columns in combinations(table.columns, order))


def _variation(table: pl.DataFrame, other: pl.DataFrame, columns: list[str]) -> float:
    shares = [each.group_by(columns).agg(pl.len() / each.height) for each in (table, other)]
    both = shares[0].join(shares[1], on=columns, how="full", suffix=" of other").fill_null(0)
    return float((both["len"] - both["len of other"]).abs().sum()) / 2


def draw(folder: Path) -> tuple[pl.DataFrame, dict[str, float]]:
    """A table, and what it took."""
    command = [sys.executable, "-m", "anonymize", "synthesize", "spec.yaml", "-o", "out.csv", "--force", "-q"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    root = str(Path(__file__).parents[1])
    subprocess.run(command, cwd=folder, check=True, env=os.environ | {"PYTHONPATH": root})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    taken = {"CPU s": cpu, "wall s": time.perf_counter() - start, "peak MB": after.ru_maxrss / 1024}
    return pl.read_csv(folder / "out.csv", infer_schema=False), taken


def rows(data: Path, methods: Sequence[str], epsilons: Sequence[float], draws: int) -> Iterator[dict[str, Any]]:
    """A row for each method and epsilon: means of several draws, and the spread of the variation of pairs."""
    adult = pl.read_csv(data / "adult.csv", separator=";", infer_schema=False)
    kept = adult.filter(pl.Series(np.random.default_rng(0).random(adult.height) < 0.8))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kept.write_csv(folder / "table.csv")
        for method in methods:
            for epsilon in epsilons:
                (folder / "spec.yaml").write_text(yaml.safe_dump(spec_of(data, adult.columns, method, epsilon)))
                made = [draw(folder) for _ in range(draws)]
                figures = {f"TV{order}": [variation(kept, table, order) for table, _ in made] for order in (1, 2, 3)}
                spread = stdev(figures["TV2"]) if draws > 1 else 0.0
                taken = {key: max(each[key] for _, each in made) for key in made[0][1]}
                means = {key: mean(values) for key, values in figures.items()}
                yield {"method": method, "epsilon": epsilon, "draws": draws, **means, "spread": spread, **taken}


def main() -> None:
    """Prints a line for each method and epsilon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--methods", default="independent,mst,aim")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--draws", type=int, default=1)
    given = parser.parse_args()
    epsilons = [float(each) for each in given.epsilon.split(",")]
    for row in rows(given.data.resolve(), given.methods.split(","), epsilons, given.draws):
        cells = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in row.items()}
        print("  ".join(f"{key} {value}" for key, value in cells.items()), flush=True)


if __name__ == "__main__":
    main()
