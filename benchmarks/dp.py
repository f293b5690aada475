"""What tables in place of the Adult census keep of it, and what that takes: `python benchmarks/dp.py --data FOLDER`.

FOLDER has `adult.csv` (9 columns, `;`) and `adult_hierarchy_COLUMN.csv`. Tables are made of 80 % of the rows, by the
command as a user runs it, in a process of its own. Figures: the total variation between the marginals of 1, 2 and 3
columns of the table and of those rows, means over all marginals; the area under the curve (AUC) of gradient boosting
that has learned the salary class from the table, on the other 20 % of the rows; CPU seconds and peak memory of the
process. A generalized cell is read as one of its leaves, drawn at random. Means and standard deviations of several
draws go to benchmarks/dp.json, from which docs/figures.py makes a table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import polars as pl
import yaml

DELTA = 1e-9
STORED = Path(__file__).with_suffix(".json")
TARGET, ORIGINAL = "salary-class", "original"
AGES = range(17, 91)
K = 5
BOUNDS = ("epsilon", "k")
Leaves = dict[str, dict[str, list[str]]]
"""Of each column the leaves under each text that a cell may have."""


def spec_of(data: Path, columns: Sequence[str], method: str, epsilon: float | None) -> dict[str, Any]:
    """Domains are the leaves of the hierarchy files, and ages from 17 to 90. Without an epsilon: for classes of k."""
    quasi: dict[str, Any] = {
        name: {"hierarchy": str(data / f"adult_hierarchy_{name}.csv")} for name in columns if name != "age"
    }
    quasi["age"] = {"type": "numeric", "domain": [AGES[0], AGES[-1]]}
    spec = {
        "version": 1,
        "input": {"path": "table.csv"},
        "quasi_identifiers": {name: quasi[name] for name in columns},
    }
    if epsilon is None:
        return spec | {"privacy": {"k": K}}
    return spec | {
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


def leaves_of(data: Path, columns: Sequence[str]) -> Leaves:
    """Those of the hierarchy files, and of ages, whose cells may be intervals as well."""
    leaves: Leaves = {"age": {str(age): [str(age)] for age in AGES}}
    for name in columns:
        if name == "age":
            continue
        lines = (data / f"adult_hierarchy_{name}.csv").read_text(encoding="utf8").splitlines()
        under = leaves.setdefault(name, {})
        for path in (line.split(";") for line in lines):
            for text in dict.fromkeys(path):
                under.setdefault(text, []).append(path[0])
    return leaves


def specific(released: pl.DataFrame, leaves: Leaves, seed: int) -> pl.DataFrame:
    """The table with one of its leaves in place of each cell, drawn at random."""
    rng = np.random.default_rng(seed)
    return released.with_columns(
        pl.Series(name, _drawn(released[name], leaves[name], rng)) for name in released.columns
    )


def _drawn(cells: pl.Series, leaves: dict[str, list[str]], rng: np.random.Generator) -> list[str]:
    under = dict(leaves)
    for text in cells.unique():
        if (ends := re.fullmatch(r"\[(\d+)-(\d+)\]", text)) is not None:
            under[text] = [str(age) for age in AGES if int(ends[1]) <= age <= int(ends[2])]
        elif text == "*":
            under[text] = [leaf for leaf, own in leaves.items() if own == [leaf]]
    return [under[text][rng.integers(len(under[text]))] for text in cells]


def auc(table: pl.DataFrame, tested: pl.DataFrame, leaves: Leaves) -> float:
    """The area under the curve of a classifier that has learned from a table, on other rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    features = [name for name in table.columns if name != TARGET]
    categories = [name != "age" for name in features]
    codes = {name: {leaf: code for code, leaf in enumerate(sorted(leaves[name]))} for name in table.columns}

    def coded(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.select(pl.col(name).replace_strict(own, return_dtype=pl.Int64) for name, own in codes.items())

    train, test = coded(table), coded(tested)
    learner = HistGradientBoostingClassifier(categorical_features=categories, random_state=0)
    learner.fit(train.select(features).to_numpy(), train[TARGET].to_numpy())
    score = learner.predict_proba(test.select(features).to_numpy())[:, 1]
    return float(roc_auc_score(test[TARGET].to_numpy(), score))


def draw(folder: Path, words: Sequence[str]) -> tuple[pl.DataFrame, dict[str, float]]:
    """A table, and what it took."""
    command = [sys.executable, "-m", "anonymize", *words, "spec.yaml", "-o", "out.csv", "--force", "-q"]
    start, root = time.perf_counter(), str(Path(__file__).parents[1])
    process = subprocess.Popen(command, cwd=folder, env=os.environ | {"PYTHONPATH": root})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    cpu, wall = usage.ru_utime + usage.ru_stime, time.perf_counter() - start
    taken = {"CPU s": cpu, "wall s": wall, "peak MB": usage.ru_maxrss / 1024}
    return pl.read_csv(folder / "out.csv", infer_schema=False), taken


@dataclass(frozen=True)
class Census:
    """The rows of which tables are made, those on which classifiers are tested, and the leaves of each column."""

    kept: pl.DataFrame
    tested: pl.DataFrame
    leaves: Leaves

    @classmethod
    def read(cls, data: Path) -> Census:
        adult = pl.read_csv(data / "adult.csv", separator=";", infer_schema=False)
        kept = pl.Series(np.random.default_rng(0).random(adult.height) < 0.8)
        return cls(adult.filter(kept), adult.filter(~kept), leaves_of(data, adult.columns))

    def judged(self, made: Sequence[pl.DataFrame]) -> dict[str, list[float]]:
        """The figures of each table."""
        tables = [specific(table, self.leaves, seed) for seed, table in enumerate(made)]
        figures = {f"TV{order}": [variation(self.kept, table, order) for table in tables] for order in (1, 2, 3)}
        return figures | {"AUC": [auc(table, self.tested, self.leaves) for table in tables]}


def rows(data: Path, methods: Sequence[str], epsilons: Sequence[float], draws: int) -> Iterator[dict[str, Any]]:
    """A row for each method and epsilon, and one for `mondrian`: means of several draws, and their standard deviations,
    with the most CPU, wall time and memory that one took. The rows themselves are a row as well."""
    census = Census.read(data)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        census.kept.write_csv(folder / "table.csv")
        for method in methods:
            if method == ORIGINAL:
                yield {"method": method, "AUC": auc(census.kept, census.tested, census.leaves)}
                continue
            classes = method.startswith("mondrian")
            for epsilon in [None] if classes else epsilons:
                spec = spec_of(data, census.kept.columns, method, epsilon)
                (folder / "spec.yaml").write_text(yaml.safe_dump(spec))
                made = [
                    draw(folder, method.split() if classes else ["synthesize"]) for _ in range(1 if classes else draws)
                ]
                figures = summary(census.judged([table for table, _ in made]), [taken for _, taken in made])
                bound = {"k": K} if epsilon is None else {"epsilon": epsilon}
                yield {"method": method, **bound, "draws": len(made), **figures}


def summary(figures: Mapping[str, list[float]], taken: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Means, standard deviations where there are several draws, and the most that one took."""
    means = {name: mean(own) for name, own in figures.items()}
    spread = {f"{name} sd": stdev(own) for name, own in figures.items() if len(own) > 1}
    return means | spread | {key: max(each[key] for each in taken) for key in taken[0]}


def keep(row: Mapping[str, Any]) -> None:
    """Puts a row among the stored ones, in place of another of the same method and bound."""
    stored = json.loads(STORED.read_text(encoding="utf8")) if STORED.exists() else []
    same = ("method", *BOUNDS)
    others = [each for each in stored if any(each.get(key) != row.get(key) for key in same)]
    rounded = {key: round(value, 5) if isinstance(value, float) else value for key, value in row.items()}
    made = sorted([*others, rounded], key=lambda each: [str(each.get(key, "")) for key in same])
    STORED.write_text(json.dumps(made, indent=1) + "\n", encoding="utf8")


def main() -> None:
    """Prints a line for each method and epsilon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--methods", default="original,mondrian --refine,independent,mst,aim")
    parser.add_argument("--epsilon", default="1,3")
    parser.add_argument("--draws", type=int, default=5)
    given = parser.parse_args()
    epsilons = [float(each) for each in given.epsilon.split(",")]
    for row in rows(given.data.resolve(), given.methods.split(","), epsilons, given.draws):
        keep(row)
        cells = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in row.items()}
        print("  ".join(f"{key} {value}" for key, value in cells.items()), flush=True)


if __name__ == "__main__":
    main()
